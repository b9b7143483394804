import { directoryDecider, type Fact, missingOf } from './decider';
import { type Directory } from './directory';
import { batchesOf, inParallel } from '../runtime/concurrency';
import { execute, type StateAt } from '../kernel/decider';
import { type Ids, type Position, START, streamOf } from '../kernel/event';
import { APPEND_LIMITS, type EventLog } from '../kernel/event-log';

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
