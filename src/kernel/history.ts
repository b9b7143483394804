import { isDeepStrictEqual } from 'node:util';
import { type Decider, type DomainEvent, toFolded } from './decider';
import { type RecordedEvent, streamOf } from './event';
import { type EventLog } from './event-log';

/** What one event changed in an aggregate. */
export interface Version {
  /** Counted from 1. */
  readonly version: number;
  /** ISO 8601. */
  readonly time: string;
  /** Names of the fields whose values it changed, those it added and removed included. */
  readonly changed: readonly string[];
}

export interface EntityHistory<State> {
  /** After the last event. */
  readonly state: State;
  /** In order: the last 1,000 (`docs/decisions.md#x42`). */
  readonly versions: readonly Version[];
}

interface TimedEvent extends DomainEvent {
  /** `at`: ISO 8601. */
  readonly data: { readonly at: string };
}

/** Versions of one aggregate that are returned. */
const MOST = 1000;

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
 * The history of an aggregate, one version per event, folded from its stream by its decider: so it outlasts the
 * aggregate's removal. `fieldsOf` returns the fields to compare; without a result the aggregate has none any more, and
 * the event that removed it changed none. Undefined if the stream has no events.
 */
export async function historyOf<State, Event extends TimedEvent>(
  log: EventLog,
  decider: Pick<Decider<never, State, Event>, 'category' | 'initial' | 'evolve'>,
  id: string | number,
  fieldsOf: (state: State) => VersionFields | undefined,
  signal?: AbortSignal,
): Promise<EntityHistory<State> | undefined> {
  const versions: Version[] = [];
  let state = decider.initial;
  let before: VersionFields = {};
  for await (const batch of eventsOnDemand(log, streamOf(decider.category, id), { signal })) {
    for (const recorded of batch) {
      const event = toFolded<Event>(recorded);
      state = decider.evolve(state, event);
      const after = fieldsOf(state);
      const changed = after === undefined ? [] : differing(before, after);
      versions.push({ version: recorded.revision + 1, time: event.data.at, changed });
      before = after ?? {};
    }
    versions.splice(0, versions.length - MOST);
  }
  return versions.length === 0 ? undefined : { state, versions };
}

type VersionFields = Readonly<Record<string, unknown>>;

function differing(before: VersionFields, after: VersionFields): readonly string[] {
  const names = new Set([...Object.keys(after), ...Object.keys(before)]);
  return [...names].filter((name) => !isDeepStrictEqual(before[name], after[name]));
}
