import { type Directory } from './directory';
import { type Fact } from './decider';
import { type DirectoryEvent } from './events';
import { KEYS } from './network-check';
import { type ListName, type Network } from './network-file';

/** What a directory holds, as a network file would say it. */
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

/** The events that make a network, but for the tokens that are still to be made up. */
export function networkFacts(network: Network, at: string): readonly Fact[] {
  return LISTS.flatMap((list) => list.made(network, at));
}

/** The events that take away what is in `present` and not in `wanted`; what hangs on something goes before it. */
export function removalsOf(present: Network, wanted: Network, at: string): readonly Fact[] {
  return [...LISTS].reverse().flatMap((list) => list.gone(present, wanted, at));
}

/** That an entry has this token. */
export function tokenFact(
  { organisationId, system, siteId }: Network['tokens'][number],
  hash: string,
  at: string,
): Fact {
  const data = { organisationId, system, ...(siteId === undefined ? {} : { siteId }), hash, at };
  return fact('organisation', organisationId, { type: 'TokenIssued', data });
}

const STATUS_EVENTS = {
  active: 'ProgramActivated',
  paused: 'ProgramPaused',
  closed: 'ProgramClosed',
} as const;

const LISTS = [
  factsIn('organisations', {
    made: ({ id, ...organisation }, at) => [
      fact('organisation', id, { type: 'OrganisationDefined', data: { id, ...organisation, at } }),
    ],
    gone: ({ id }, at) => fact('organisation', id, { type: 'OrganisationRemoved', data: { id, at } }),
  }),
  factsIn('tokens', {
    made: (token, at) => (token.hash === undefined ? [] : [tokenFact(token, token.hash, at)]),
    gone: ({ organisationId, hash = '' }, at) =>
      fact('organisation', organisationId, { type: 'TokenRevoked', data: { organisationId, hash, at } }),
  }),
  factsIn('programs', {
    made: ({ id, status, ...program }, at) => [
      fact('program', id, { type: 'ProgramDefined', data: { id, ...program, at } }),
      ...(status === undefined
        ? []
        : [fact('program', id, { type: STATUS_EVENTS[status], data: { id, at } })]),
    ],
    gone: ({ id }, at) => fact('program', id, { type: 'ProgramRemoved', data: { id, at } }),
  }),
  factsIn('sites', {
    made: ({ id, ...site }, at) => [fact('site', id, { type: 'SiteDefined', data: { id, ...site, at } })],
    gone: ({ id }, at) => fact('site', id, { type: 'SiteRemoved', data: { id, at } }),
  }),
  factsIn('connections', {
    made: ({ siteId, programId }, at) => [
      fact('site', siteId, { type: 'SiteConnected', data: { siteId, programId, at } }),
    ],
    gone: ({ siteId, programId }, at) =>
      fact('site', siteId, { type: 'SiteDisconnected', data: { siteId, programId, at } }),
  }),
  factsIn('feeds', {
    made: ({ id, ...feed }, at) => [fact('feedinfo', id, { type: 'FeedDefined', data: { id, ...feed, at } })],
    gone: ({ id }, at) => fact('feedinfo', id, { type: 'FeedRemoved', data: { id, at } }),
  }),
  factsIn('categories', {
    made: ({ id, ...category }, at) => [
      fact('category', id, { type: 'CategoryDefined', data: { id, ...category, at } }),
    ],
    gone: ({ id }, at) => fact('category', id, { type: 'CategoryRemoved', data: { id, at } }),
  }),
  factsIn('mappings', {
    made: ({ feedId, ...mapping }, at) => [
      fact('mapping', feedId, { type: 'CategoryMapped', data: { feedId, ...mapping, at } }),
    ],
    gone: ({ feedId, name }, at) =>
      fact('mapping', feedId, { type: 'CategoryUnmapped', data: { feedId, name, at } }),
  }),
];

function fact(category: Fact['category'], id: number | string, event: DirectoryEvent): Fact {
  return { category, id, event };
}

interface ListFacts {
  readonly made: (network: Network, at: string) => readonly Fact[];
  readonly gone: (present: Network, wanted: Network, at: string) => readonly Fact[];
}

function factsIn<List extends ListName>(
  list: List,
  each: {
    readonly made: (entry: Network[List][number], at: string) => readonly Fact[];
    readonly gone: (entry: Network[List][number], at: string) => Fact;
  },
): ListFacts {
  const keyOf: (entry: Network[List][number]) => string = KEYS[list];
  const entriesOf = (network: Network): readonly Network[List][number][] => network[list];
  return {
    made: (network, at) => entriesOf(network).flatMap((entry) => each.made(entry, at)),
    gone: (present, wanted, at) => {
      const kept = new Set(entriesOf(wanted).map(keyOf));
      const gone = entriesOf(present).filter((entry) => !kept.has(keyOf(entry)));
      return gone.map((entry) => each.gone(entry, at));
    },
  };
}
