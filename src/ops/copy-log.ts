import { createHash, type Hash } from 'node:crypto';
import { Meter, type Progress } from '../projector/meter';
import { NO_STREAM, type NewEvent, type RecordedEvent, START } from '../kernel/event';
import { APPEND_LIMITS, type EventLog, RevisionConflict } from '../kernel/event-log';

export interface CopyProgress extends Progress {
  readonly phase: 'copy' | 'verify';
}

export interface CopyOptions {
  readonly onProgress?: (progress: CopyProgress) => void;
  /** Breaks it off between two appends; the same call again goes on. */
  readonly signal?: AbortSignal;
  /** Epoch ms. */
  readonly now?: () => number;
}

export interface Copied {
  /** Events that both logs hold now. */
  readonly events: number;
  /** Those of them that had been there before. */
  readonly before: number;
  /** SHA-256 of all of them in order, in hexadecimal: their streams, revisions, ids, types, data and meta. */
  readonly digest: string;
}

/** The target holds something that the source does not hold at this place. */
export class LogsDiffer extends Error {
  override readonly name = 'LogsDiffer';
}

/**
 * Brings a log to hold what another one holds: the same events in the same streams and the same order, under other
 * positions. What is there already is compared, the rest appended; then all of it is read again and compared by
 * count and digest. Events appended to the source meanwhile are copied too. Raises `LogsDiffer`.
 */
export async function copyLog(from: EventLog, to: EventLog, options: CopyOptions = {}): Promise<Copied> {
  const { signal, onProgress, now = Date.now } = options;
  const meter = new Meter(now);
  const digest = new LogDigest();
  const end = await from.head();
  const there = eventsOf(to);
  let before = 0;
  let isComplete = false;
  for await (const { events, position } of from.readAll({ after: START })) {
    let at = 0;
    for (; at < events.length && !isComplete; at += 1) {
      const { done, value } = await there.next();
      if (done === true) isComplete = true;
      else refuseOther(events[at], value);
      if (isComplete) break;
      before += 1;
    }
    for (const run of runsOf(events.slice(at))) {
      signal?.throwIfAborted();
      await append(to, run);
    }
    digest.add(events);
    meter.count(events.length);
    onProgress?.({ phase: 'copy', ...meter.towards(end, position) });
  }
  if (!isComplete) refuseOther(undefined, (await there.next()).value);
  await verify(to, digest, new Meter(now), options);
  return { events: digest.count, before, digest: digest.hex() };
}

async function verify(
  to: EventLog,
  digest: LogDigest,
  meter: Meter,
  { signal, onProgress }: CopyOptions,
): Promise<void> {
  const end = await to.head();
  const copied = new LogDigest();
  for await (const { events, position } of to.readAll({ after: START })) {
    signal?.throwIfAborted();
    copied.add(events);
    meter.count(events.length);
    onProgress?.({ phase: 'verify', ...meter.towards(end, position) });
  }
  if (copied.count !== digest.count || copied.hex() !== digest.hex())
    throw new LogsDiffer(
      `the target holds ${copied.count} events, the source ${digest.count}, or they are not the same: is anything else writing to the target?`,
    );
}

async function* eventsOf(log: EventLog): AsyncGenerator<RecordedEvent, undefined> {
  for await (const { events } of log.readAll({ after: START })) yield* events;
  return undefined;
}

function refuseOther(wanted: RecordedEvent | undefined, found: RecordedEvent | undefined): void {
  if (found === undefined || (wanted !== undefined && keyOf(wanted) === keyOf(found))) return;
  throw new LogsDiffer(
    `the target holds event ${found.id} of ${found.stream}, which the source does not hold at this place: a log can be copied only into an empty one or a part of itself`,
  );
}

function keyOf({ stream, revision, id }: RecordedEvent): string {
  return JSON.stringify([stream, revision, id]);
}

/** Cuts events into appends: each of one stream, within the limits, in order. */
function* runsOf(events: readonly RecordedEvent[]): Generator<readonly RecordedEvent[]> {
  let run: RecordedEvent[] = [];
  let bytes = 0;
  for (const event of events) {
    const size =
      Buffer.byteLength(event.type) + Buffer.byteLength(event.data) + Buffer.byteLength(event.meta);
    const isFull = run.length === APPEND_LIMITS.events || bytes + size > APPEND_LIMITS.bytes;
    if (run.length > 0 && (isFull || run[0]?.stream !== event.stream)) {
      yield run;
      run = [];
      bytes = 0;
    }
    run.push(event);
    bytes += size;
  }
  if (run.length > 0) yield run;
}

async function append(to: EventLog, run: readonly RecordedEvent[]): Promise<void> {
  const [first] = run;
  if (first === undefined) return;
  const events = run.map(({ id, type, data, meta }): NewEvent => ({ id, type, data, meta }));
  try {
    await to.append(first.stream, first.revision === 0 ? NO_STREAM : first.revision - 1, events);
  } catch (error) {
    if (!(error instanceof RevisionConflict)) throw error;
    throw new LogsDiffer(`${error.message}: something else is writing to the target`, { cause: error });
  }
}

class LogDigest {
  count = 0;
  private readonly hash: Hash = createHash('sha256');

  add(events: readonly RecordedEvent[]): void {
    this.count += events.length;
    for (const { stream, revision, id, type, data, meta } of events)
      this.hash.update(JSON.stringify([stream, revision, id, type, data, meta]));
  }

  hex(): string {
    return this.hash.copy().digest('hex');
  }
}
