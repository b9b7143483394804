import { isDeepStrictEqual } from 'node:util';
import {
  type Ids,
  type NewEvent,
  NO_STREAM,
  type Position,
  type RecordedEvent,
  START,
  streamOf,
} from './event';
import {
  type Appended,
  EngineUnavailable,
  type EventLog,
  type ReadStreamOptions,
  RevisionConflict,
} from './event-log';

/** An event of a union, discriminated by `type`. `data` is plain JSON. */
export interface DomainEvent {
  readonly type: string;
  readonly data: object;
}

/** One of the events of an aggregate; `at` is an ISO 8601 instant. */
export type EventOf<Type extends string, Data = object> = {
  readonly type: Type;
  readonly data: { readonly at: string } & Readonly<Data>;
};

/** One of the commands to an aggregate; `at` is an ISO 8601 instant. */
export type CommandOf<Action extends string, Data = object> = {
  readonly do: Action;
  readonly at: string;
} & Readonly<Data>;

/** A parsed event with its stream, its revision there, and its log position. */
export type ParsedEvent<Event extends DomainEvent = DomainEvent> = Event & {
  readonly stream: string;
  readonly revision: number;
  readonly position: Position;
};

/** An event that is folded: `position` is that in the log, absent of one that has just been decided. */
export type Folded<Event> = Event & { readonly position?: Position };

/**
 * The rules of one aggregate, as pure functions: no clock, no randomness, no I/O. Time and ids come with the command.
 * `decide` refuses a command by raising a `Fault`; it returns no events if there is nothing to do.
 */
export interface Decider<Command, State, Event extends DomainEvent> {
  /** Streams are named `<category>-<id>`. */
  readonly category: string;
  readonly initial: State;
  /**
   * Whether the state after an event depends on nothing but the first event of the stream and this one. `load` then
   * reads backwards to the last such event, and the first one: however long a stream grows, a command reads a few
   * events. Without it, or where the last such event is far back, every command reads the whole stream.
   */
  readonly supersedes?: (event: Event) => boolean;
  decide(command: Command, state: State): readonly Event[];
  evolve(state: State, event: Folded<Event>): State;
}

/** The state of an aggregate as of a revision of its stream. */
export interface StateAt<State> {
  readonly state: State;
  readonly revision: number;
}

export interface Loaded<State> extends StateAt<State> {
  /** That of the last event of the stream; `START` without one. */
  readonly position: Position;
  /** How many events the state was made of. */
  readonly events: number;
}

/** The outcome of a command: `state` and `revision` are those after its events. */
export interface Executed<State, Event> extends StateAt<State> {
  readonly events: readonly Event[];
  readonly ids: readonly string[];
  /** Position of the last event appended; absent if there was nothing to do. */
  readonly position?: Position;
}

export function toNewEvent(event: DomainEvent, id: string): NewEvent {
  return { id, type: event.type, data: JSON.stringify(event.data), meta: '{}' };
}

export function toDomainEvent({ type, data }: RecordedEvent): DomainEvent {
  return { type, data: JSON.parse(data) as object };
}

/** An event of the log, to be folded. */
export function toFolded<Event extends DomainEvent>(recorded: RecordedEvent): Folded<Event> {
  return { ...(toDomainEvent(recorded) as Event), position: recorded.position };
}

/** Attempts to append at the loaded revision: each failed one means that another writer succeeded. */
export const MAX_ATTEMPTS = 200;

/**
 * Loads an aggregate, decides, and appends at the loaded revision. On a conflict it starts over. If the answer is lost,
 * it repeats the append with the same ids, which is idempotent. `cached` saves the first load.
 */
export async function execute<Command, State, Event extends DomainEvent>(
  ids: Ids,
  log: EventLog,
  decider: Decider<Command, State, Event>,
  id: string | number,
  command: Command,
  cached?: StateAt<State>,
): Promise<Executed<State, Event>> {
  const stream = streamOf(decider.category, id);
  for (let attempt = 1; ; attempt += 1) {
    const { state, revision } = attempt === 1 && cached !== undefined ? cached : await load(log, decider, id);
    const events = decider.decide(command, state);
    if (events.length === 0) return { events, ids: [], state, revision };
    try {
      const appending = events.map((event) => toNewEvent(event, ids.uuid()));
      const appended = await appendIdempotently(log, stream, revision, appending);
      return {
        events,
        ids: appending.map((event) => event.id),
        state: events.reduce((before, event) => decider.evolve(before, event), state),
        ...appended,
      };
    } catch (error) {
      if (!(error instanceof RevisionConflict) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/** The current state of an aggregate. */
export async function load<State, Event extends DomainEvent>(
  log: EventLog,
  decider: Pick<Decider<never, State, Event>, 'category' | 'initial' | 'evolve' | 'supersedes'>,
  id: string | number,
): Promise<Loaded<State>> {
  const stream = streamOf(decider.category, id);
  const { supersedes } = decider;
  const events =
    supersedes === undefined
      ? eventsOf(log, stream)
      : neededOf(log, stream, (recorded) => supersedes(toDomainEvent(recorded) as Event));
  let state = decider.initial;
  let [revision, position, count] = [NO_STREAM, START, 0];
  for await (const recorded of events) {
    state = decider.evolve(state, toFolded<Event>(recorded));
    ({ revision, position } = recorded);
    count += 1;
  }
  return { state, revision, position, events: count };
}

type StreamLog = Pick<EventLog, 'readStream'>;

/** The event of a stream at a revision; undefined if there is none, or it can no longer be read. */
export async function eventAt(
  log: StreamLog,
  stream: string,
  revision: number,
): Promise<RecordedEvent | undefined> {
  for await (const event of eventsOf(log, stream, { from: revision, limit: 1 }))
    if (event.revision === revision) return event;
  return undefined;
}

export async function lastEvent(log: StreamLog, stream: string): Promise<RecordedEvent | undefined> {
  for await (const event of eventsOf(log, stream, { backwards: true, limit: 1 })) return event;
  return undefined;
}

export async function* eventsOf(
  log: StreamLog,
  stream: string,
  options: ReadStreamOptions = {},
): AsyncGenerator<RecordedEvent, undefined> {
  for await (const batch of log.readStream(stream, options)) yield* batch;
}

/**
 * Events that `neededOf` reads at a time: first a few, since most streams have no more, then twice as many each time.
 * After this many events, or bytes, it reads the whole stream in order, which needs no memory.
 */
const BACKWARDS = { first: 2, events: 1_000, bytes: 1024 * 1024 } as const;

/** In order: the first event, and those from one on that supersedes all before it, or from an earlier one on. */
async function* neededOf(
  log: EventLog,
  stream: string,
  supersedes: (event: RecordedEvent) => boolean,
): AsyncGenerator<RecordedEvent, undefined> {
  const newestFirst: RecordedEvent[] = [];
  let from: number | undefined;
  let [isComplete, bytes] = [false, 0];
  for (let limit: number = BACKWARDS.first; from !== NO_STREAM && !isComplete; limit *= 2) {
    if (newestFirst.length > BACKWARDS.events || bytes > BACKWARDS.bytes) return yield* eventsOf(log, stream);
    const options = { backwards: true, limit, ...(from === undefined ? {} : { from }) };
    from = NO_STREAM;
    for await (const event of eventsOf(log, stream, options)) {
      newestFirst.push(event);
      bytes += event.data.length;
      from = event.revision - 1;
      isComplete ||= supersedes(event);
    }
  }
  if (from !== NO_STREAM) yield* eventsOf(log, stream, { limit: 1 });
  yield* newestFirst.reverse();
}

/** Appends, and if the answer is lost retries once with the same ids and revision. */
export async function appendIdempotently(
  log: EventLog,
  stream: string,
  expected: number,
  events: readonly NewEvent[],
): Promise<Appended> {
  try {
    return await log.append(stream, expected, events);
  } catch (error) {
    if (!(error instanceof EngineUnavailable)) throw error;
    return await log.append(stream, expected, events);
  }
}

/** What one event changed in an aggregate. */
export interface Version<State> {
  /** Counted from 1. */
  readonly version: number;
  /** ISO 8601. */
  readonly time: string;
  /** Names of the fields whose values it changed, those it added and removed included. */
  readonly changed: readonly string[];
  readonly before: State;
  readonly after: State;
}

interface TimedEvent extends DomainEvent {
  /** `at`: ISO 8601. */
  readonly data: { readonly at: string };
}

/** Versions of one aggregate that are returned (`docs/decisions.md#x42`). */
export const MOST_VERSIONS = 1000;

/** Events read at once: each may have the longest texts. */
const BATCH = 16;

/**
 * The events of a stream in order, from one revision to before another, in short batches that are read when they are
 * asked for: a reader may take as long as it likes, since no read of the log lasts longer than a batch. Raises the
 * reason of `signal` once it is aborted.
 */
export async function* eventsOnDemand(
  log: EventLog,
  stream: string,
  {
    from = 0,
    to = Infinity,
    signal,
  }: { readonly from?: number; readonly to?: number; readonly signal?: AbortSignal | undefined } = {},
): AsyncGenerator<readonly RecordedEvent[]> {
  for (let next = from; next < to;) {
    const limit = Math.min(BATCH, to - next);
    const events: RecordedEvent[] = [];
    for await (const batch of log.readStream(stream, { from: next, limit })) events.push(...batch);
    signal?.throwIfAborted();
    if (events.length > 0) yield events;
    if (events.length < limit) return;
    next = (events.at(-1)?.revision ?? next) + 1;
  }
}

/**
 * The history of an aggregate, one version for each event before the revision `to` that `isVersion`, oldest first: of
 * the last 1,000 events. They are folded from its stream by its decider, so they outlast the aggregate's removal, and
 * read in batches on demand. `fieldsOf` returns the fields to compare; without a result the aggregate has none any
 * more, and the event that removed it changed none.
 */
export async function* versionsOf<State, Event extends TimedEvent>(
  log: EventLog,
  decider: Pick<Decider<never, State, Event>, 'category' | 'initial' | 'evolve'>,
  id: string | number,
  fieldsOf: (state: State) => VersionFields | undefined,
  {
    to,
    signal,
    isVersion = () => true,
  }: {
    readonly to: number;
    readonly signal?: AbortSignal | undefined;
    readonly isVersion?: (event: Event) => boolean;
  },
): AsyncGenerator<readonly Version<State>[]> {
  let state = decider.initial;
  let version = 0;
  for await (const batch of eventsOnDemand(log, streamOf(decider.category, id), { to, signal })) {
    const versions: Version<State>[] = [];
    for (const recorded of batch) {
      const event = toFolded<Event>(recorded);
      const before = state;
      state = decider.evolve(state, event);
      if (!isVersion(event)) continue;
      version += 1;
      if (recorded.revision < to - MOST_VERSIONS) continue;
      const fields = fieldsOf(state);
      const changed = fields === undefined ? [] : differing(fieldsOf(before) ?? {}, fields);
      versions.push({ version, time: event.data.at, changed, before, after: state });
    }
    yield versions;
  }
}

type VersionFields = Readonly<Record<string, unknown>>;

function differing(before: VersionFields, after: VersionFields): readonly string[] {
  const names = new Set([...Object.keys(after), ...Object.keys(before)]);
  return [...names].filter((name) => !isDeepStrictEqual(before[name], after[name]));
}
