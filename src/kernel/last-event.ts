import { type Position, type RecordedEvent } from './event';
import { type EventLog } from './event-log';

/**
 * The last event of a stream that matches. The condition must match every event before that one and none after it: the
 * search gallops back from the end, then bisects, so it reads few events however long the stream is.
 */
export async function lastEventWhere(
  log: EventLog,
  stream: string,
  matches: (event: RecordedEvent) => boolean,
): Promise<RecordedEvent | undefined> {
  const last = await eventAt(log, stream);
  if (last === undefined || matches(last)) return last;
  let high = last.revision;
  let found: RecordedEvent | undefined;
  for (let step = 1; high > 0 && found === undefined; step *= 2) {
    const event = await eventAt(log, stream, Math.max(0, high - step));
    if (event !== undefined && matches(event)) found = event;
    else high = Math.max(0, high - step);
  }
  while (found !== undefined && high - found.revision > 1) {
    const middle = Math.floor((found.revision + high) / 2);
    const event = await eventAt(log, stream, middle);
    if (event !== undefined && matches(event)) found = event;
    else high = middle;
  }
  return found;
}

/** Maximum events to read: other applications may share the log and write far more. */
const MAX_READ = 10_000;

/**
 * The last event up to a position in streams whose names start with one of `prefixes`; undefined if there is none among
 * the last 10,000 events of the log.
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
    if (found !== undefined || read >= MAX_READ) return found;
  }
  return undefined;
}

/** The event with this revision, by default the last one; undefined if it does not exist. */
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
