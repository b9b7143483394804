import { toDomainEvent } from '../kernel/decider';
import { type Position, type RecordedEvent, START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { Categories, type CategoryChange, changeKey } from './categories/categories';
import { PastValues } from './collections';
import {
  type CategoryDefinition,
  DIRECTORY_PREFIXES,
  type DirectoryEvent,
  type FeedDefinition,
} from './events';
import { type Caller, Organisations } from './organisations';
import { PastTerms, type Program, Programs } from './programs';
import { isObject, isText } from '../kernel/values';
import { type ParkedEvent } from '../runtime/parked-events';

/** An event of another program. */
export type UnusableEvent = Pick<ParkedEvent, 'event' | 'type' | 'stream' | 'revision' | 'error'>;

const MAX_UNUSABLE = 1_000;

/** What a caller may access; `programs`: its own, or those that its sites are connected to. */
interface View {
  readonly sites: readonly number[];
  readonly programs: ReadonlySet<number>;
  readonly feeds: readonly FeedDefinition[];
}

/**
 * The reference data, folded from its events and kept in memory: requests join it when they are answered. Events of
 * different streams may be applied in any order; a reference takes effect as soon as its target exists.
 */
export class Directory {
  readonly organisations = new Organisations();
  readonly programs = new Programs();
  readonly categories = new Categories();
  readonly changes = new LastChanges();
  readonly currencies = new Currencies();
  readonly pastTerms = new PastTerms();
  /** The first events that it cannot use and ignores, and the number of all (`docs/decisions.md#x103`). */
  readonly unusable: UnusableEvent[] = [];
  unusableCount = 0;
  /** A cache, cleared when anything it depends on changes. */
  private readonly views = new Map<string, View>();

  /** Position of the last applied change of the category tree. */
  get treeChanged(): Position {
    return this.changes.ofTree?.position ?? START;
  }

  program(id: number): Program | undefined {
    return this.programs.get(id);
  }

  feed(id: number): FeedDefinition | undefined {
    return this.programs.feed(id);
  }

  /** The currency of the feed's first program, ISO 4217 (`docs/decisions.md#p26`). */
  currencyOf(feed: FeedDefinition): string | undefined {
    return this.program(feed.programIds[0] ?? NaN)?.currency;
  }

  // Categories ----------------------------------------------------------------------------------------------

  category(id: string): CategoryDefinition | undefined {
    return this.categories.get(id);
  }

  /** The existing category that a feed maps an advertiser category name to. */
  mappingOf(feedId: number, name: string): string | undefined {
    const id = this.categories.mappingsOf(feedId).get(name);
    return id !== undefined && this.category(id) !== undefined ? id : undefined;
  }

  // Callers -------------------------------------------------------------------------------------------------

  /**
   * The feeds that a caller may access, by id: an advertiser's own; for a publisher the active and visible feeds of
   * the programs that its site, or any of its sites if the token names none, is connected to
   * (`docs/decisions.md#p22`, `#p26`).
   */
  feedsOf(caller: Caller): readonly FeedDefinition[] {
    return this.viewOf(caller).feeds;
  }

  /** The ids of an advertiser's own programs, or of those that a publisher's sites (`sitesOf`) are connected to. */
  programsOf(caller: Caller): ReadonlySet<number> {
    return this.viewOf(caller).programs;
  }

  /** The site that a publisher's token names, or all sites of the publisher; ids in ascending order. */
  sitesOf(caller: Caller): readonly number[] {
    return this.viewOf(caller).sites;
  }

  /** The first program of a feed that is the caller's own, or connected to it (`docs/decisions.md#p26`). */
  programOf(caller: Caller, feed: FeedDefinition): Program | undefined {
    const { programs } = this.viewOf(caller);
    const id = feed.programIds.find((programId) => programs.has(programId));
    return id === undefined ? undefined : this.program(id);
  }

  /**
   * The site in a publisher's links to a feed's products: the token's site, or else the connected site with the
   * lowest id (`docs/decisions.md#p12`).
   */
  siteFor(caller: Caller, feed: FeedDefinition): number | undefined {
    const program = this.programOf(caller, feed);
    if (program === undefined) return undefined;
    return this.viewOf(caller).sites.find((id) => this.programs.connectionsOf(id).has(program.id));
  }

  private viewOf(caller: Caller): View {
    const key = `${caller.organisationId}/${caller.kind}/${caller.siteId ?? ''}`;
    const view = this.views.get(key) ?? this.createView(caller);
    this.views.set(key, view);
    return view;
  }

  private createView({ kind, organisationId, siteId }: Caller): View {
    const sites = this.programs.sitesOf(organisationId).filter((id) => siteId === undefined || id === siteId);
    const programs = new Set(kind === 'advertiser' ? this.ownedBy(organisationId) : this.connectedTo(sites));
    const feeds = [...this.programs.allFeeds()]
      .filter((feed) => kind === 'advertiser' || (feed.active && feed.visible))
      .filter((feed) => feed.programIds.some((id) => programs.has(id)))
      .sort((a, b) => a.id - b.id);
    return { sites, programs, feeds };
  }

  private ownedBy(organisationId: number): readonly number[] {
    const programs = [...this.programs.all()];
    return programs.filter((program) => program.organisationId === organisationId).map(({ id }) => id);
  }

  private connectedTo(sites: readonly number[]): readonly number[] {
    const connected = sites.flatMap((id) => [...this.programs.connectionsOf(id)]);
    return connected.filter((id) => this.program(id) !== undefined);
  }

  // Events --------------------------------------------------------------------------------------------------

  /**
   * Applies an event of the streams in `DIRECTORY_PREFIXES`; unknown types are ignored, and so are events without what
   * their type needs, which are `unusable`. Returns which products may be mapped differently.
   */
  apply(recorded: RecordedEvent): readonly CategoryChange[] {
    const event = toDomainEvent(recorded) as DirectoryEvent;
    const missing = missingIn(event);
    if (missing !== undefined) {
      const { id, type, stream, revision } = recorded;
      const error = `${type} without a usable ${missing}: another program has written it`;
      this.unusableCount += 1;
      if (this.unusable.length < MAX_UNUSABLE)
        this.unusable.push({ event: id, type, stream, revision, error });
      return [];
    }
    const changes = this.evolve(event);
    this.changes.note(recorded, event, changes);
    this.currencies.note(recorded, event);
    this.pastTerms.note(recorded, event);
    return changes;
  }

  /** As `apply`, for a parsed event. */
  evolve(event: DirectoryEvent): readonly CategoryChange[] {
    if (missingIn(event) !== undefined) return [];
    switch (event.type) {
      case 'OrganisationDefined':
      case 'OrganisationRemoved':
      case 'TokenIssued':
      case 'TokenRevoked':
        this.organisations.evolve(event);
        return [];
      case 'CategoryDefined':
      case 'CategoryRemoved':
      case 'CategoryMapped':
      case 'CategoryUnmapped':
        return this.categories.evolve(event);
      default:
        this.views.clear();
        this.programs.evolve(event);
        return [];
    }
  }
}

/** The directory as of a position, or of the whole log, from streams with these prefixes. */
export async function directoryAt(
  log: EventLog,
  position?: Position,
  prefixes: readonly string[] = DIRECTORY_PREFIXES,
): Promise<Directory> {
  const directory = new Directory();
  if (position === START || prefixes.length === 0) return directory;
  for await (const { events } of log.readAll({ after: START, prefixes })) {
    for (const event of events) {
      if (position !== undefined && event.position > position) return directory;
      directory.apply(event);
    }
  }
  return directory;
}

/** Each call answers with the directory as of the end of the log, and reads what is new since the one before. */
export function growingDirectory(log: EventLog): () => Promise<Directory> {
  const directory = new Directory();
  let after = START;
  return async () => {
    for await (const { events, position } of log.readAll({ after, prefixes: DIRECTORY_PREFIXES })) {
      for (const event of events) directory.apply(event);
      after = position;
    }
    return directory;
  };
}

/**
 * The currencies of programs at each position of the log: amounts of events that do not record their currency are in
 * the one of that time, whatever the program has today.
 */
class Currencies {
  private readonly programs = new PastValues<string>();
  /** The first program of each feed. */
  private readonly feeds = new PastValues<number>();

  note({ position }: Pick<RecordedEvent, 'position'>, event: DirectoryEvent): void {
    if (event.type === 'ProgramDefined') this.programs.note(event.data.id, position, event.data.currency);
    else if (event.type === 'FeedDefined') {
      const [first] = event.data.programIds;
      if (first !== undefined) this.feeds.note(event.data.id, position, first);
    }
  }

  /** ISO 4217; undefined if the program was not defined by then. A removed program keeps its last one. */
  ofProgram(programId: number, at: Position): string | undefined {
    return this.programs.at(programId, at);
  }

  /** The position from which a program has had its present currency. */
  since(programId: number): Position {
    return this.programs.since(programId) ?? START;
  }

  /** As `ofProgram`, for the program that was the feed's first one (`docs/decisions.md#p26`). */
  ofFeed(feedId: number, at: Position): string | undefined {
    const programId = this.feeds.at(feedId, at);
    return programId === undefined ? undefined : this.ofProgram(programId, at);
  }
}

type NeededKind = 'integer' | 'text' | 'integers' | 'texts by name' | 'events' | 'text or null';

/** What the directory reads of each event without asking whether it is there. */
const NEEDED: Readonly<Record<DirectoryEvent['type'], Readonly<Record<string, NeededKind>>>> = {
  OrganisationDefined: { id: 'integer', kind: 'text', name: 'text' },
  OrganisationRemoved: { id: 'integer' },
  TokenIssued: { organisationId: 'integer', system: 'text', hash: 'text' },
  TokenRevoked: { organisationId: 'integer', hash: 'text' },
  ProgramDefined: {
    ...{ id: 'integer', organisationId: 'integer', name: 'text', country: 'text', currency: 'text' },
    events: 'events',
  },
  ProgramActivated: { id: 'integer' },
  ProgramPaused: { id: 'integer' },
  ProgramClosed: { id: 'integer' },
  ProgramRemoved: { id: 'integer' },
  SiteDefined: { id: 'integer', organisationId: 'integer', name: 'text', url: 'text' },
  SiteRemoved: { id: 'integer' },
  SiteConnected: { siteId: 'integer', programId: 'integer' },
  SiteDisconnected: { siteId: 'integer', programId: 'integer' },
  FeedDefined: { id: 'integer', programIds: 'integers', name: 'text', language: 'text' },
  FeedRemoved: { id: 'integer' },
  CategoryDefined: { id: 'text', parentId: 'text or null', names: 'texts by name' },
  CategoryRemoved: { id: 'text' },
  CategoryMapped: { feedId: 'integer', name: 'text', categoryId: 'text' },
  CategoryUnmapped: { feedId: 'integer', name: 'text' },
};

const CHECKS: Readonly<Record<NeededKind, (value: unknown) => boolean>> = {
  integer: Number.isInteger,
  text: isText,
  'text or null': (value) => value === null || isText(value),
  integers: (value) => Array.isArray(value) && value.every(Number.isInteger),
  'texts by name': (value) => isObject(value) && Object.values(value).every(isText),
  events: (value) => Array.isArray(value) && value.every((one) => isObject(one) && isEvent(one)),
};

/**
 * What an event lacks, such as `events`, if that keeps the directory from using it: another program has written it.
 * Undefined for those that are usable, and for types that are unknown.
 */
function missingIn({ type, data }: DirectoryEvent): string | undefined {
  const needed = Object.hasOwn(NEEDED, type) ? NEEDED[type] : {};
  const found = Object.entries(needed).find(([name, kind]) => !CHECKS[kind](Reflect.get(data, name)));
  return found?.[0];
}

function isEvent(event: object): boolean {
  return Number.isInteger(Reflect.get(event, 'id')) && isText(Reflect.get(event, 'name'));
}

/** When something changed last: its position in the log, and its time (epoch ms). */
export interface Changed {
  readonly position: Position;
  readonly at: number;
}

/**
 * When each part of the reference data changed last. There is one entry for each entity, and one for each id or name
 * that products can be mapped by, however often they change.
 */
class LastChanges {
  /** Of the category tree. */
  ofTree: Changed | undefined;
  private readonly streams = new Map<string, Changed>();
  private readonly categories = new Map<string, Changed>();
  /** By what products can be mapped: `changeKey`, of one feed or of all. */
  private readonly mappings = new Map<string, Changed>();

  note(
    { stream, position }: RecordedEvent,
    { type, data }: DirectoryEvent,
    remapped: readonly CategoryChange[],
  ): void {
    const changed = { position, at: Date.parse(data.at) };
    this.streams.set(stream, changed);
    if (type === 'CategoryDefined' || type === 'CategoryRemoved') {
      this.ofTree = changed;
      this.categories.set(data.id, changed);
    }
    for (const change of remapped) {
      const feedId = change.posted === 'name' ? change.feedId : undefined;
      this.mappings.set(keyOf(changeKey(change), feedId), changed);
    }
  }

  /** The last event of an entity's stream. */
  of(stream: string): Changed | undefined {
    return this.streams.get(stream);
  }

  /** The last change of what products of a feed are mapped by (`mappingKeys`), whatever it made of them. */
  ofMapping(feedId: number, keys: readonly string[]): Changed | undefined {
    let last: Changed | undefined;
    for (const key of keys) {
      const changed = this.mappings.get(keyOf(key, key.startsWith('name:') ? feedId : undefined));
      if (changed !== undefined && changed.position > (last?.position ?? START)) last = changed;
    }
    return last;
  }

  /** Ids of the categories that were defined or removed after a position, with the last change of each. */
  ofCategoriesAfter(position: Position): ReadonlyMap<string, Changed> {
    if (this.ofTree === undefined || this.ofTree.position <= position) return new Map();
    return new Map([...this.categories].filter(([, changed]) => changed.position > position));
  }
}

/** What a name means is a matter of the feed. */
function keyOf(key: string, feedId?: number): string {
  return feedId === undefined ? key : `${feedId} ${key}`;
}
