import { execute } from '../kernel/decider';
import { type Position, START, streamOf } from '../kernel/event';
import { APPEND_LIMITS, type EventLog } from '../kernel/event-log';
import { inParallel } from '../kernel/in-parallel';
import { directoryDecider, type Fact, missingOf } from './decider';
import { type Directory } from './directory';

export interface Appended {
  /** Number of events appended: 0 if every fact held already. */
  readonly events: number;
  /** Of the last event; `START` if there was none. */
  readonly position: Position;
}

/** Streams written at a time: enough for the log to share its commits. */
const AT_ONCE = 128;

/**
 * Appends the facts that do not hold yet, neither in `directory` nor by events that others have appended since. If it is
 * interrupted, the same call completes it. `onMade` is called with each fact as soon as this call has made it hold.
 */
export async function appendFacts(
  log: EventLog,
  facts: readonly Fact[],
  directory: Directory,
  onMade?: (fact: Fact) => void,
): Promise<Appended> {
  let events = 0;
  let position = START;
  await inParallel(byStream(missingOf(facts, directory)), AT_ONCE, async (stream) => {
    for (const command of cut(stream)) {
      const [{ category, id }] = command;
      const done = await execute(log, directoryDecider(category), id, command);
      events += done.events.length;
      if (done.position !== undefined && done.position > position) position = done.position;
      for (const fact of command) if (done.events.includes(fact.event)) onMade?.(fact);
    }
  });
  return { events, position };
}

type Facts = readonly [Fact, ...Fact[]];

function byStream(facts: readonly Fact[]): readonly Facts[] {
  const streams = new Map<string, [Fact, ...Fact[]]>();
  for (const fact of facts) {
    const stream = streamOf(fact.category, fact.id);
    const others = streams.get(stream);
    if (others === undefined) streams.set(stream, [fact]);
    else others.push(fact);
  }
  return [...streams.values()];
}

/** Splits the facts of a stream into appends within `APPEND_LIMITS`. */
function* cut([first, ...others]: Facts): Generator<Facts> {
  let command: [Fact, ...Fact[]] = [first];
  let bytes = sizeOf(first);
  for (const fact of others) {
    bytes += sizeOf(fact);
    if (command.length < APPEND_LIMITS.events && bytes <= APPEND_LIMITS.bytes) {
      command.push(fact);
      continue;
    }
    yield command;
    command = [fact];
    bytes = sizeOf(fact);
  }
  yield command;
}

/** Its bytes in the log, with room for the event's envelope. */
function sizeOf({ event }: Fact): number {
  return Buffer.byteLength(JSON.stringify(event.data)) + 256;
}
