import { isDeepStrictEqual } from 'node:util';
import { type Decider, type DomainEvent, toFolded } from './decider';
import { type RecordedEvent, streamOf } from './event';
import { type EventLog } from './event-log';

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
 * The history of an aggregate, one version for each event before the revision `to`, oldest first: the last 1,000. They
 * are folded from its stream by its decider, so they outlast the aggregate's removal, and read in batches on demand.
 * `fieldsOf` returns the fields to compare; without a result the aggregate has none any more, and the event that
 * removed it changed none.
 */
export async function* versionsOf<State, Event extends TimedEvent>(
  log: EventLog,
  decider: Pick<Decider<never, State, Event>, 'category' | 'initial' | 'evolve'>,
  id: string | number,
  fieldsOf: (state: State) => VersionFields | undefined,
  { to, signal }: { readonly to: number; readonly signal?: AbortSignal | undefined },
): AsyncGenerator<readonly Version<State>[]> {
  let state = decider.initial;
  for await (const batch of eventsOnDemand(log, streamOf(decider.category, id), { to, signal })) {
    const versions: Version<State>[] = [];
    for (const recorded of batch) {
      const event = toFolded<Event>(recorded);
      const before = state;
      state = decider.evolve(state, event);
      if (recorded.revision < to - MOST_VERSIONS) continue;
      const fields = fieldsOf(state);
      const changed = fields === undefined ? [] : differing(fieldsOf(before) ?? {}, fields);
      versions.push({ version: recorded.revision + 1, time: event.data.at, changed, before, after: state });
    }
    yield versions;
  }
}

type VersionFields = Readonly<Record<string, unknown>>;

function differing(before: VersionFields, after: VersionFields): readonly string[] {
  const names = new Set([...Object.keys(after), ...Object.keys(before)]);
  return [...names].filter((name) => !isDeepStrictEqual(before[name], after[name]));
}
