import { directoryDecider, type Fact, missingOf } from './decider';
import { type Directory } from './directory';
import { execute } from '../kernel/decider';
import { type Position, START, streamOf } from '../kernel/event';
import { APPEND_LIMITS, type EventLog } from '../kernel/event-log';

export interface Appended {
  /** How many events it took: none if everything was like this already. */
  readonly events: number;
  /** Of the last event; `START` if there was none. */
  readonly position: Position;
}

/**
 * Appends those facts that do not hold in `directory`, nor by what others have written meanwhile. Broken off, the same
 * again completes it. `onMade` is told of each fact as soon as it holds by this call.
 */
export async function appendFacts(
  log: EventLog,
  facts: readonly Fact[],
  directory: Directory,
  onMade?: (fact: Fact) => void,
): Promise<Appended> {
  let events = 0;
  let position = START;
  await inParallel(byStream(missingOf(facts, directory)), async (stream) => {
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

/** Cuts what is wanted of a stream into appends that are not too large. */
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

/** With room for what goes round an event. */
function sizeOf({ event }: Fact): number {
  return Buffer.byteLength(JSON.stringify(event.data)) + 256;
}

/** Enough for appends to share their commits. */
const WORKERS = 128;

/** Works on many at a time; when one fails no other is begun, and those begun have ended. */
async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  // Leaving a loop early closes a generator for all who share it.
  const queue = (function* () {
    yield* items;
  })();
  const worker = async (): Promise<void> => {
    for (const item of queue) await work(item);
  };
  const ended = await Promise.allSettled(Array.from({ length: WORKERS }, worker));
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
}
