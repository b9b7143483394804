import { type Position, type RecordedEvent } from './event';
import { type EventLog } from './event-log';

/**
 * The last event of a stream that a condition holds for, where it holds for all before that and for none after it. Few
 * events are read, however long the stream is; fewest if it is near the end.
 */
export async function lastEventWhere(
  log: EventLog,
  stream: string,
  holds: (event: RecordedEvent) => boolean,
): Promise<RecordedEvent | undefined> {
  const last = await eventAt(log, stream);
  if (last === undefined || holds(last)) return last;
  let over = last.revision;
  let found: RecordedEvent | undefined;
  for (let step = 1; over > 0 && found === undefined; step *= 2) {
    const event = await eventAt(log, stream, Math.max(0, over - step));
    if (event !== undefined && holds(event)) found = event;
    else over = Math.max(0, over - step);
  }
  while (found !== undefined && over - found.revision > 1) {
    const middle = Math.floor((found.revision + over) / 2);
    const event = await eventAt(log, stream, middle);
    if (event !== undefined && holds(event)) found = event;
    else over = middle;
  }
  return found;
}

/** Most events read in search of one: a log may be shared with applications that write more. */
const MOST_READ = 10_000;

/**
 * The last event up to a position in streams whose name begins with one of `prefixes`; undefined if there is none among
 * the last 10,000 of the log.
 */
export async function lastEventUpTo(
  log: EventLog,
  position: Position,
  prefixes: readonly string[],
): Promise<RecordedEvent | undefined> {
  let read = 0;
  for await (const events of log.readAllBackwards({ batchSize: 100 })) {
    const found = events.find(
      (event) => event.position <= position && prefixes.some((prefix) => event.stream.startsWith(prefix)),
    );
    read += events.length;
    if (found !== undefined || read >= MOST_READ) return found;
  }
  return undefined;
}

/** The event of this revision, by default the last one; undefined if there is none. */
export async function eventAt(
  log: EventLog,
  stream: string,
  from?: number,
): Promise<RecordedEvent | undefined> {
  if (from !== undefined && from < 0) return undefined;
  const options = { backwards: true, limit: 1, ...(from === undefined ? {} : { from }) };
  for await (const [event] of log.readStream(stream, options)) return event;
  return undefined;
}
