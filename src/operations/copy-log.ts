import { createHash, type Hash } from 'node:crypto';
import { ProgressMeter, type Progress } from '../projector/progress-meter';
import { type NewEvent, NO_STREAM, type RecordedEvent, START } from '../kernel/event';
import { openLeases, openLogAt } from '../engines/open';
import { markImport, unmarkImport } from '../engines/data-folder';
import { type Leases } from '../kernel/leases';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { AUTOMATION_LEASE, MATCHER_LEASE } from '../runtime/lease-holder';
import { type OnRetry } from '../runtime/unavailable';
import { batchesOf } from '../runtime/concurrency';
import { APPEND_LIMITS, type EventLog, RevisionConflict } from '../kernel/event-log';
import { CommandError } from './command-error';

export interface CopyProgress extends Progress {
  readonly phase: 'copy' | 'verify';
}

export interface CopyOptions {
  readonly onProgress?: (progress: CopyProgress) => void;
  /** Stops between two appends; a further call continues. */
  readonly signal?: AbortSignal;
  /** Called once, before anything is appended. */
  readonly beforeAppends?: () => Promise<void>;
}

export interface Copied {
  /** Events in both logs. */
  readonly events: number;
  /** Those that an earlier copy had appended. */
  readonly before: number;
  /** SHA-256 (hex) over stream, revision, id, type, data and meta of all events in order. */
  readonly digest: string;
}

/**
 * Copies a log: the same events in the same streams and the same order, at other positions. Events that the target
 * already has are compared, the others appended. Then the target is read again and verified by count and digest.
 * Events appended to the source meanwhile are copied too. Raises `CommandError`.
 */
export async function copyLog(
  from: Pick<EventLog, 'head' | 'readAll'>,
  to: EventLog,
  options: CopyOptions = {},
): Promise<Copied> {
  const { signal, onProgress, beforeAppends } = options;
  const meter = new ProgressMeter(SYSTEM_CLOCK);
  const digest = new LogDigest();
  const end = await from.head();
  const existing = eventsOf(to);
  let before = 0;
  let appends = 0;
  let isComplete = false;
  for await (const { events, position } of from.readAll({ after: START })) {
    signal?.throwIfAborted();
    let at = 0;
    for (; at < events.length && !isComplete; at += 1) {
      const { done, value } = await existing.next();
      if (done === true) isComplete = true;
      else requireSame(events[at], value);
      if (isComplete) break;
      before += 1;
    }
    for (const run of runsOf(events.slice(at))) {
      signal?.throwIfAborted();
      if (appends === 0) await beforeAppends?.();
      appends += 1;
      await append(to, run);
    }
    digest.add(events);
    meter.count(events.length);
    onProgress?.({ phase: 'copy', ...meter.towards(end, position) });
  }
  if (!isComplete) requireSame(undefined, (await existing.next()).value);
  await verify(to, digest, new ProgressMeter(SYSTEM_CLOCK), options);
  return { events: digest.count, before, digest: digest.hex() };
}

/**
 * Copies the log at one URL to that at another. While a copy into the data folder is unfinished, nothing else opens the
 * engines there. Raises what `openLogAt`, `refuseServers` and `copyLog` raise.
 */
export async function copyBetween(
  { from, to }: { readonly from: string; readonly to: string },
  dataDir: string,
  options: Omit<CopyOptions, 'beforeAppends'>,
  onRetry?: OnRetry,
): Promise<Copied> {
  const isInto = to === 'sqlite:';
  const source = await openLogAt(from, dataDir, '--from', onRetry);
  const target = await openLogAt(to, dataDir, '--to', onRetry, { importing: isInto });
  const leases = openLeases({ eventLog: to, dataDir }, onRetry);
  try {
    await refuseServers(leases);
    const beforeAppends = async (): Promise<void> => (isInto ? markImport(dataDir, 'copy') : undefined);
    const copied = await copyLog(source, target, { ...options, beforeAppends });
    if (isInto) await unmarkImport(dataDir);
    return copied;
  } finally {
    await leases.close();
    await target.close();
    await source.close();
  }
}

/** Raises `CommandError` while a process works on the log: it would act on half a history. */
export async function refuseServers(leases: Leases): Promise<void> {
  for (const { name, ms } of [AUTOMATION_LEASE, MATCHER_LEASE]) {
    const owners = await leases.owners(name, SYSTEM_CLOCK.wall(), ms);
    if (owners.length > 0)
      throw new CommandError(
        `a server works on this log (it has the lease ${name}): stop all servers; one that was killed has it for up to ` +
          `${ms / 1000} s`,
      );
  }
}

async function verify(
  to: EventLog,
  digest: LogDigest,
  meter: ProgressMeter,
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
    throw new CommandError(
      `the copy differs from the source (${copied.count} events, expected ${digest.count}): make sure that nothing ` +
        'else writes to the target',
    );
}

async function* eventsOf(log: EventLog): AsyncGenerator<RecordedEvent, undefined> {
  for await (const { events } of log.readAll({ after: START })) yield* events;
  return undefined;
}

function requireSame(expected: RecordedEvent | undefined, found: RecordedEvent | undefined): void {
  if (found === undefined || (expected !== undefined && keyOf(expected) === keyOf(found))) return;
  throw new CommandError(
    `the target has event ${found.id} of ${found.stream}, which the source does not have at this position: expected ` +
      'an empty target or an incomplete copy of the source: choose another DATA_DIR, or other servers for the log',
  );
}

function keyOf({ stream, revision, id }: RecordedEvent): string {
  return JSON.stringify([stream, revision, id]);
}

/** Splits events into appends: each for one stream, within the limits, in order. */
function* runsOf(events: readonly RecordedEvent[]): Generator<readonly RecordedEvent[]> {
  for (let from = 0, to = 0; from < events.length; from = to) {
    while (events[to]?.stream === events[from]?.stream && to < events.length) to += 1;
    yield* batchesOf(
      events.slice(from, to),
      { count: APPEND_LIMITS.events, size: APPEND_LIMITS.bytes },
      ({ type, data, meta }) => Buffer.byteLength(type) + Buffer.byteLength(data) + Buffer.byteLength(meta),
    );
  }
}

async function append(to: EventLog, run: readonly RecordedEvent[]): Promise<void> {
  const [first] = run;
  if (first === undefined) return;
  const events = run.map(({ id, type, data, meta }): NewEvent => ({ id, type, data, meta }));
  try {
    await to.append(first.stream, first.revision === 0 ? NO_STREAM : first.revision - 1, events);
  } catch (error) {
    if (!(error instanceof RevisionConflict)) throw error;
    throw new CommandError(`${error.message}: make sure that nothing else writes to the target`, {
      cause: error,
    });
  }
}

/** A SHA-256 of events in the order of a log, whatever their positions are there. */
export class LogDigest {
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
