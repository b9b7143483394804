import { type Directory } from './directory';
import { type Fact, factOf } from './decider';
import { type Token } from './events';
import { KEYS } from './network-check';
import { type ListName, type Network } from './network-file';
import { defined } from '../kernel/without';

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

export function tokenFact(
  { organisationId, system, siteId, expires }: Network['tokens'][number] & Pick<Token, 'expires'>,
  hash: string,
  at: string,
): Fact {
  const data = defined({ organisationId, system, siteId, hash, expires, at });
  return factOf({ type: 'TokenIssued', data });
}

const STATUS_EVENTS = {
  active: 'ProgramActivated',
  paused: 'ProgramPaused',
  closed: 'ProgramClosed',
} as const;

const LISTS = [
  factsIn('organisations', {
    define: (organisation, at) => [factOf({ type: 'OrganisationDefined', data: { ...organisation, at } })],
    remove: ({ id }, at) => factOf({ type: 'OrganisationRemoved', data: { id, at } }),
  }),
  factsIn('tokens', {
    define: (token, at) => (token.hash === undefined ? [] : [tokenFact(token, token.hash, at)]),
    remove: ({ organisationId, hash = '' }, at) =>
      factOf({ type: 'TokenRevoked', data: { organisationId, hash, at } }),
  }),
  factsIn('programs', {
    define: ({ status, ...program }, at) => [
      factOf({ type: 'ProgramDefined', data: { ...program, at } }),
      ...(status === undefined
        ? []
        : [factOf({ type: STATUS_EVENTS[status], data: { id: program.id, at } })]),
    ],
    remove: ({ id }, at) => factOf({ type: 'ProgramRemoved', data: { id, at } }),
  }),
  factsIn('sites', {
    define: (site, at) => [factOf({ type: 'SiteDefined', data: { ...site, at } })],
    remove: ({ id }, at) => factOf({ type: 'SiteRemoved', data: { id, at } }),
  }),
  factsIn('connections', {
    define: (connection, at) => [factOf({ type: 'SiteConnected', data: { ...connection, at } })],
    remove: ({ siteId, programId }, at) =>
      factOf({ type: 'SiteDisconnected', data: { siteId, programId, at } }),
  }),
  factsIn('feeds', {
    define: (feed, at) => [factOf({ type: 'FeedDefined', data: { ...feed, at } })],
    remove: ({ id }, at) => factOf({ type: 'FeedRemoved', data: { id, at } }),
  }),
  factsIn('categories', {
    define: (category, at) => [factOf({ type: 'CategoryDefined', data: { ...category, at } })],
    remove: ({ id }, at) => factOf({ type: 'CategoryRemoved', data: { id, at } }),
  }),
  factsIn('mappings', {
    define: (mapping, at) => [factOf({ type: 'CategoryMapped', data: { ...mapping, at } })],
    remove: ({ feedId, name }, at) => factOf({ type: 'CategoryUnmapped', data: { feedId, name, at } }),
  }),
];

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
