import { type Directory } from './directory';
import { type Fact, factOf } from './decider';
import { type Token } from './events';
import {
  LIST_NAMES,
  type ListName,
  type Network,
  type NetworkFault,
  type ParsedNetwork,
  parseNetwork,
} from './network-file';
import { defined } from '../kernel/values';
import { NamedError } from '../kernel/fault';
import { amountOf, expectedAmount } from '../wire/record/minor-units';
import { mayHave } from './organisations';

/** An invalid network file, with all its faults. */
export class NetworkFaults extends NamedError {
  constructor(readonly faults: readonly NetworkFault[]) {
    super(faults.map(textOf).join('\n'));
  }
}

/** The key of an entry within its list. */
export const KEYS: { readonly [List in ListName]: (entry: Network[List][number]) => string } = {
  organisations: ({ id }) => `${id}`,
  tokens: ({ organisationId, system, siteId }) =>
    `organisation ${organisationId}, ${system}${siteId === undefined ? '' : `, site ${siteId}`}`,
  programs: ({ id }) => `${id}`,
  sites: ({ id }) => `${id}`,
  connections: ({ siteId, programId }) => `site ${siteId}, program ${programId}`,
  feeds: ({ id }) => `${id}`,
  categories: ({ id }) => id,
  mappings: ({ feedId, name }) => `feed ${feedId}, ${JSON.stringify(name)}`,
};

/**
 * Validates a network file (parsed JSON) by itself and together with the existing network. Raises `NetworkFaults` with
 * all faults, except those that the existing network has already: a mapping to a category that was removed since has no
 * effect.
 */
export function readNetwork(json: unknown, existing: Network): Network {
  const parsed = parseNetwork(json);
  const merged = [...parsed.faults, ...new MergedNetwork(parsed, existing).check()];
  const present = new Set(
    merged.length === 0 ? [] : new MergedNetwork(parseNetwork({}), existing).check().map(textOf),
  );
  const faults = merged.filter((fault) => !present.has(textOf(fault)));
  if (faults.length > 0) throw new NetworkFaults(faults);
  return parsed.network;
}

function textOf({ path, message }: NetworkFault): string {
  return `${path}: ${message}`;
}

type Entries<List extends ListName> = ReadonlyMap<string, Network[List][number]>;

/** The network after the import: the file's entries and the existing ones that it does not contain. */
class MergedNetwork {
  private readonly faults: NetworkFault[] = [];
  private readonly paths: Map<object, string>;
  private readonly lists: { readonly [List in ListName]: Entries<List> };

  constructor(
    private readonly parsed: ParsedNetwork,
    private readonly existing: Network,
  ) {
    this.paths = new Map(parsed.paths);
    const lists = LIST_NAMES.map((list) => [list, this.entriesOf(list)]);
    this.lists = Object.fromEntries(lists) as { readonly [List in ListName]: Entries<List> };
  }

  check(): readonly NetworkFault[] {
    const { tokens, programs, sites, connections, feeds, mappings } = this.lists;
    this.checkTokens([...tokens.values()]);
    for (const program of programs.values()) this.checkProgram(program);
    for (const site of sites.values()) this.checkOwner(site, 'publisher');
    for (const connection of connections.values()) {
      this.find('sites', connection.siteId, connection, 'siteId');
      this.find('programs', connection.programId, connection, 'programId');
    }
    for (const feed of feeds.values()) this.checkFeed(feed);
    this.checkTree();
    for (const mapping of mappings.values()) {
      this.find('feeds', mapping.feedId, mapping, 'feedId');
      this.find('categories', mapping.categoryId, mapping, 'categoryId');
    }
    return this.faults;
  }

  private entriesOf<List extends ListName>(list: List): Entries<List> {
    const keyOf: (entry: Network[List][number]) => string = KEYS[list];
    const entries = new Map<string, Network[List][number]>();
    for (const entry of this.parsed.network[list]) {
      const same = entries.get(keyOf(entry));
      if (same === undefined) entries.set(keyOf(entry), entry);
      else this.fault(entry, '', `${keyOf(entry)} is a duplicate of ${this.pathOf(same)}`);
    }
    for (const entry of this.existing[list]) {
      if (entries.has(keyOf(entry))) continue;
      entries.set(keyOf(entry), entry);
      this.paths.set(entry, `${list} ${keyOf(entry)} (imported earlier)`);
    }
    return entries;
  }

  private checkTokens(tokens: readonly Network['tokens'][number][]): void {
    const holders = new Map<string, object>();
    for (const token of tokens) {
      const { organisationId, system, siteId, hash } = token;
      const organisation = this.find('organisations', organisationId, token, 'organisationId');
      if (organisation !== undefined && !mayHave(organisation.kind, system))
        this.fault(token, '.system', `${system} is not available to ${withArticle(organisation.kind)}`);
      const site = siteId === undefined ? undefined : this.find('sites', siteId, token, 'siteId');
      if (site !== undefined && site.organisationId !== organisationId)
        this.fault(token, '.siteId', `site ${site.id} belongs to organisation ${site.organisationId}`);
      if (hash === undefined) continue;
      const other = holders.get(hash);
      if (other === undefined) holders.set(hash, token);
      else this.fault(token, '.token', `duplicate of the token at ${this.pathOf(other)}`);
    }
  }

  private checkProgram(program: Network['programs'][number]): void {
    this.checkOwner(program, 'advertiser');
    program.events.forEach(({ id, commission }, index) => {
      if (program.events.findIndex((event) => event.id === id) < index)
        this.fault(program, `.events[${index}].id`, `event ${id} is a duplicate`);
      if (commission === undefined || 'percent' in commission) return;
      const fixed = commission.fixed / 10 ** (commission.decimals ?? 2);
      if (amountOf(fixed, program.currency) === undefined)
        this.fault(
          program,
          `.events[${index}].commission.fixed`,
          `${fixed}: expected ${expectedAmount(program.currency, fixed)}`,
        );
    });
  }

  private checkOwner(
    entry: Network['programs'][number] | Network['sites'][number],
    kind: 'advertiser' | 'publisher',
  ): void {
    const owner = this.find('organisations', entry.organisationId, entry, 'organisationId');
    if (owner !== undefined && owner.kind !== kind)
      this.fault(
        entry,
        '.organisationId',
        `organisation ${owner.id} is ${withArticle(owner.kind)}, not ${withArticle(kind)}`,
      );
  }

  private checkFeed(feed: Network['feeds'][number]): void {
    const [first, ...others] = feed.programIds.map((id, index) => {
      if (feed.programIds.indexOf(id) < index)
        this.fault(feed, `.programIds[${index}]`, `program ${id} is a duplicate`);
      return { index, program: this.find('programs', id, feed, `programIds[${index}]`) };
    });
    const owner = first?.program?.organisationId;
    for (const { index, program } of others)
      if (owner !== undefined && program !== undefined && program.organisationId !== owner)
        this.fault(
          feed,
          `.programIds[${index}]`,
          `program ${program.id} belongs to organisation ${program.organisationId}: expected one of organisation ` +
            `${owner}, as the first program`,
        );
  }

  private checkTree(): void {
    const checked = new Set<string>();
    for (const start of this.lists.categories.values()) {
      const path = new Set<string>();
      let category: Network['categories'][number] | undefined = start;
      while (category !== undefined && !checked.has(category.id)) {
        if (path.has(category.id)) {
          const cycle = [...path, category.id];
          cycle.splice(0, cycle.indexOf(category.id));
          this.fault(category, '.parentId', `cycle: ${cycle.join(' below ')}`);
          break;
        }
        path.add(category.id);
        const { parentId }: { readonly parentId: string | null } = category;
        category = parentId === null ? undefined : this.find('categories', parentId, category, 'parentId');
      }
      for (const id of path) checked.add(id);
    }
  }

  /** The entry with this id. A missing one is a fault of `from`, unless it is in the file but faulty. */
  private find<List extends 'organisations' | 'programs' | 'sites' | 'feeds' | 'categories'>(
    list: List,
    id: number | string,
    from: object,
    field: string,
  ): Network[List][number] | undefined {
    const found = this.lists[list].get(`${id}`);
    if (found === undefined && !this.parsed.faulty.has(`${list} ${id}`))
      this.fault(from, `.${field}`, `${id} is not the id of an entry in ${list}`);
    return found;
  }

  private fault(entry: object, field: string, message: string): void {
    this.faults.push({ path: `${this.pathOf(entry)}${field}`, message });
  }

  private pathOf(entry: object): string {
    return this.paths.get(entry) ?? '';
  }
}

function withArticle(kind: string): string {
  return /^[ao]/.test(kind) ? `an ${kind}` : `a ${kind}`;
}

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
