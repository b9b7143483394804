import { isDeepStrictEqual } from 'node:util';
import { type Decider, execute, type StateAt } from '../kernel/decider';
import { without } from '../kernel/values';
import { Directory } from './directory';
import { type DirectoryEvent, STATUS_AFTER } from './events';
import { batchesOf, inParallel } from '../runtime/concurrency';
import { type Ids, type Position, START, streamOf } from '../kernel/event';
import { APPEND_LIMITS, type EventLog } from '../kernel/event-log';

/** An event whose outcome should be true: it is appended only if it would change something. */
export interface Fact {
  readonly category: 'organisation' | 'program' | 'site' | 'feedinfo' | 'category' | 'mapping';
  readonly id: number | string;
  readonly event: DirectoryEvent;
  /** For `TokenIssued`: append it only if there is no token yet. */
  readonly ifNone?: boolean;
}

/** The fact that an event is true, in the stream of its entity. */
export function factOf(event: DirectoryEvent): Fact {
  const { type, data } = event;
  const category = CATEGORIES.find(([beginning]) => type.startsWith(beginning))?.[1] ?? 'category';
  if ('id' in data) return { category, id: data.id, event };
  if ('hash' in data) return { category, id: data.organisationId, event };
  return { category, id: 'feedId' in data ? data.feedId : data.siteId, event };
}

/** By what the types of their events begin with; the first one counts. */
const CATEGORIES = [
  ['Organisation', 'organisation'],
  ['Token', 'organisation'],
  ['Program', 'program'],
  ['Site', 'site'],
  ['Feed', 'feedinfo'],
  ['CategoryMapped', 'mapping'],
  ['CategoryUnmapped', 'mapping'],
] as const;

/**
 * The decider for one category of streams. It omits facts that are already true, so repeating a command does nothing.
 * The state is a directory of that one stream, changed in place.
 */
function directoryDecider(category: Fact['category']): Decider<readonly Fact[], Directory, DirectoryEvent> {
  return {
    category,
    get initial() {
      return new Directory();
    },
    decide: (facts, directory) => missingOf(facts, directory).map(({ event }) => event),
    evolve(directory, event) {
      directory.evolve(event);
      return directory;
    },
  };
}

export function missingOf(facts: readonly Fact[], directory: Directory): readonly Fact[] {
  return facts.filter(({ event, ifNone = false }) =>
    ifNone && event.type === 'TokenIssued'
      ? directory.organisations.tokenFor(event.data.organisationId, event.data) === undefined
      : !isTrue(event, directory),
  );
}

function isTrue(event: DirectoryEvent, directory: Directory): boolean {
  const { organisations, programs, categories } = directory;
  switch (event.type) {
    case 'TokenIssued':
      return organisations.tokenFor(event.data.organisationId, event.data)?.hash === event.data.hash;
    case 'TokenRevoked':
      return [...organisations.tokensOf(event.data.organisationId)].every(
        ({ hash }) => hash !== event.data.hash,
      );
    case 'ProgramActivated':
    case 'ProgramPaused':
    case 'ProgramClosed':
      // A program that does not exist yet will be active once defined.
      return (programs.get(event.data.id)?.status ?? 'active') === STATUS_AFTER[event.type];
    case 'SiteConnected':
      return programs.connectionsOf(event.data.siteId).has(event.data.programId);
    case 'SiteDisconnected':
      return !programs.connectionsOf(event.data.siteId).has(event.data.programId);
    case 'CategoryMapped':
      return categories.mappingsOf(event.data.feedId).get(event.data.name) === event.data.categoryId;
    case 'CategoryUnmapped':
      return !categories.mappingsOf(event.data.feedId).has(event.data.name);
    default: {
      const { present } = definedBefore(event, directory);
      return event.type.endsWith('Removed') ? present === undefined : isSame(event.data, present);
    }
  }
}

/** An event that defines or removes something as a whole. */
type DefiningEvent = Extract<DirectoryEvent, { type: `${string}Defined` | `${string}Removed` }>;

/** What such an event replaces or removes, without the status of a program, and what it is. */
export function definedBefore({ type, data: { id } }: DefiningEvent, directory: Directory) {
  const { organisations, programs, categories } = directory;
  if (typeof id === 'string') return { kind: 'category', present: categories.get(id) } as const;
  if (type.startsWith('Org')) return { kind: 'organisation', present: organisations.get(id) } as const;
  if (type.startsWith('Site')) return { kind: 'site', present: programs.site(id) } as const;
  if (type.startsWith('Feed')) return { kind: 'feed', present: programs.feed(id) } as const;
  const program = programs.get(id);
  return { kind: 'program', present: program && without(program, 'status') } as const;
}

/** Ignores the time of the event. */
function isSame(definition: object, present: object | undefined): boolean {
  return isDeepStrictEqual({ ...definition, at: '' }, { ...present, at: '' });
}

export interface AppendedFacts {
  /** Number of appended events; 0 if nothing had to change. */
  readonly events: number;
  /** Position of the last one; `START` if there was none. */
  readonly position: Position;
}

const LIMITS = { count: APPEND_LIMITS.events, size: APPEND_LIMITS.bytes };

/** Enough concurrent appends for the log to commit them in groups. */
const CONCURRENCY = 128;

/**
 * Appends the facts that are not true yet, according to `directory` and to the current streams. Running an interrupted
 * call again completes it. `onAppended` is called for each fact that this call has appended.
 */
export async function appendFacts(
  uuids: Ids,
  log: EventLog,
  facts: readonly Fact[],
  directory: Directory,
  onAppended?: (fact: Fact) => void,
): Promise<AppendedFacts> {
  let events = 0;
  let position = START;
  await inParallel(byStream(missingOf(facts, directory)), CONCURRENCY, async (stream) => {
    let known: StateAt<Directory> | undefined;
    for (const batch of batchesOf(stream, LIMITS, sizeOf)) {
      const [{ category, id }] = batch;
      const appended = await execute(uuids, log, directoryDecider(category), id, batch, known);
      known = appended;
      events += appended.events.length;
      if (appended.position !== undefined && appended.position > position) position = appended.position;
      for (const fact of batch) if (appended.events.includes(fact.event)) onAppended?.(fact);
    }
  });
  return { events, position };
}

function byStream(facts: readonly Fact[]): Iterable<readonly Fact[]> {
  const streams = new Map<string, Fact[]>();
  for (const fact of facts) {
    const stream = streamOf(fact.category, fact.id);
    const others = streams.get(stream);
    if (others === undefined) streams.set(stream, [fact]);
    else others.push(fact);
  }
  return streams.values();
}

/** Including an allowance for the id, type and meta of the event. */
function sizeOf({ event }: Fact): number {
  return Buffer.byteLength(JSON.stringify(event.data)) + 256;
}
