import { type Directory } from './directory';
import { type Fact } from './decider';
import { type DirectoryEvent, type Token } from './events';
import { KEYS } from './network-check';
import { type ListName, type Network } from './network-file';

/** A directory in the form of a network file. */
export function networkOf({ organisations, programs, categories }: Directory): Network {
  const allOrganisations = [...organisations.all()];
  const allSites = [...programs.allSites()];
  return {
    organisations: allOrganisations,
    tokens: allOrganisations.flatMap(({ id }) =>
      [...organisations.tokensOf(id)].map((token) => ({ organisationId: id, ...token })),
    ),
    programs: [...programs.all()].map(({ events, ...program }) => ({ ...program, events: [...events] })),
    sites: allSites,
    connections: allSites.flatMap(({ id }) =>
      [...programs.connectionsOf(id)].map((programId) => ({ siteId: id, programId })),
    ),
    feeds: [...programs.allFeeds()].map((feed) => ({ ...feed, programIds: [...feed.programIds] })),
    categories: [...categories.all()],
    mappings: [...categories.feedsWithMappings()].flatMap((feedId) =>
      [...categories.mappingsOf(feedId)].map(([name, categoryId]) => ({ feedId, name, categoryId })),
    ),
  };
}

/** The facts that make up a network, except for tokens that have yet to be generated. */
export function networkFacts(network: Network, at: string): readonly Fact[] {
  return LISTS.flatMap((list) => list.define(network, at));
}

/** The facts that remove what is in `existing` and not in `target`, dependents first. */
export function removalsOf(existing: Network, target: Network, at: string): readonly Fact[] {
  return [...LISTS].reverse().flatMap((list) => list.remove(existing, target, at));
}

/** The fact that an entry has this token. */
export function tokenFact(
  { organisationId, system, siteId, expires }: Network['tokens'][number] & Pick<Token, 'expires'>,
  hash: string,
  at: string,
): Fact {
  const data = {
    organisationId,
    system,
    ...(siteId === undefined ? {} : { siteId }),
    hash,
    ...(expires === undefined ? {} : { expires }),
    at,
  };
  return fact('organisation', organisationId, { type: 'TokenIssued', data });
}

const STATUS_EVENTS = {
  active: 'ProgramActivated',
  paused: 'ProgramPaused',
  closed: 'ProgramClosed',
} as const;

const LISTS = [
  factsIn('organisations', {
    define: ({ id, ...organisation }, at) => [
      fact('organisation', id, { type: 'OrganisationDefined', data: { id, ...organisation, at } }),
    ],
    remove: ({ id }, at) => fact('organisation', id, { type: 'OrganisationRemoved', data: { id, at } }),
  }),
  factsIn('tokens', {
    define: (token, at) => (token.hash === undefined ? [] : [tokenFact(token, token.hash, at)]),
    remove: ({ organisationId, hash = '' }, at) =>
      fact('organisation', organisationId, { type: 'TokenRevoked', data: { organisationId, hash, at } }),
  }),
  factsIn('programs', {
    define: ({ id, status, ...program }, at) => [
      fact('program', id, { type: 'ProgramDefined', data: { id, ...program, at } }),
      ...(status === undefined
        ? []
        : [fact('program', id, { type: STATUS_EVENTS[status], data: { id, at } })]),
    ],
    remove: ({ id }, at) => fact('program', id, { type: 'ProgramRemoved', data: { id, at } }),
  }),
  factsIn('sites', {
    define: ({ id, ...site }, at) => [fact('site', id, { type: 'SiteDefined', data: { id, ...site, at } })],
    remove: ({ id }, at) => fact('site', id, { type: 'SiteRemoved', data: { id, at } }),
  }),
  factsIn('connections', {
    define: ({ siteId, programId }, at) => [
      fact('site', siteId, { type: 'SiteConnected', data: { siteId, programId, at } }),
    ],
    remove: ({ siteId, programId }, at) =>
      fact('site', siteId, { type: 'SiteDisconnected', data: { siteId, programId, at } }),
  }),
  factsIn('feeds', {
    define: ({ id, ...feed }, at) => [
      fact('feedinfo', id, { type: 'FeedDefined', data: { id, ...feed, at } }),
    ],
    remove: ({ id }, at) => fact('feedinfo', id, { type: 'FeedRemoved', data: { id, at } }),
  }),
  factsIn('categories', {
    define: ({ id, ...category }, at) => [
      fact('category', id, { type: 'CategoryDefined', data: { id, ...category, at } }),
    ],
    remove: ({ id }, at) => fact('category', id, { type: 'CategoryRemoved', data: { id, at } }),
  }),
  factsIn('mappings', {
    define: ({ feedId, ...mapping }, at) => [
      fact('mapping', feedId, { type: 'CategoryMapped', data: { feedId, ...mapping, at } }),
    ],
    remove: ({ feedId, name }, at) =>
      fact('mapping', feedId, { type: 'CategoryUnmapped', data: { feedId, name, at } }),
  }),
];

function fact(category: Fact['category'], id: number | string, event: DirectoryEvent): Fact {
  return { category, id, event };
}

interface ListFacts {
  readonly define: (network: Network, at: string) => readonly Fact[];
  readonly remove: (existing: Network, target: Network, at: string) => readonly Fact[];
}

function factsIn<List extends ListName>(
  list: List,
  each: {
    readonly define: (entry: Network[List][number], at: string) => readonly Fact[];
    readonly remove: (entry: Network[List][number], at: string) => Fact;
  },
): ListFacts {
  const keyOf: (entry: Network[List][number]) => string = KEYS[list];
  const entriesOf = (network: Network): readonly Network[List][number][] => network[list];
  return {
    define: (network, at) => entriesOf(network).flatMap((entry) => each.define(entry, at)),
    remove: (existing, target, at) => {
      const retained = new Set(entriesOf(target).map(keyOf));
      const removed = entriesOf(existing).filter((entry) => !retained.has(keyOf(entry)));
      return removed.map((entry) => each.remove(entry, at));
    },
  };
}
