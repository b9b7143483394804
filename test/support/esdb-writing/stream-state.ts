import { type RecordedEvent } from '../../../src/kernel/event';
import { type EventLog } from '../../../src/kernel/event-log';
import { metastreamOf, originalOf, storedName, TOMBSTONE } from './client-names';

/** Which events of a stream are visible, according to its metadata. */
interface Retention {
  /** Events before this revision are hidden; Infinity once the stream is deleted. */
  readonly truncateBefore: number;
  /** Only the last `maxCount` events are visible. */
  readonly maxCount: number;
  /** Only events not older than this are visible (ms). */
  readonly maxAge: number;
}

/** A stream, apart from its events. */
export interface StreamState {
  /** Deleted permanently: nothing can be read or appended. */
  readonly tombstoned: boolean;
  /** Deleted; an append recreates it. */
  readonly deleted: boolean;
  readonly retention: Retention;
  /** The metadata, if any. */
  readonly metadata: Readonly<Record<string, unknown>> | undefined;
}

/** The state of a stream, from its metadata stream. `stream` is its client name. */
export async function stateOf(log: EventLog, stream: string): Promise<StreamState> {
  const last = await lastOf(log, metastreamOf(stream));
  const tombstoned = isTombstone(last);
  // Metadata of a metadata stream have no effect. Only its last event is visible, until its stream is tombstoned.
  if (originalOf(stream) !== undefined) {
    const gone = tombstoned || isTombstone(await lastOf(log, stream));
    return { tombstoned: gone, deleted: false, retention: { ...ALL, maxCount: 1 }, metadata: undefined };
  }
  const metadata = last === undefined || tombstoned ? undefined : objectOf(last.data);
  const retention = retentionOf(metadata ?? {});
  return { tombstoned, deleted: retention.truncateBefore === Infinity, retention, metadata };
}

function isTombstone(event: RecordedEvent | undefined): boolean {
  return event?.type === storedName(TOMBSTONE);
}

/** The last event of a stream. `stream` is its client name. */
export async function lastOf(log: EventLog, stream: string): Promise<RecordedEvent | undefined> {
  for await (const [event] of log.readStream(storedName(stream), { backwards: true, limit: 1 })) return event;
  return undefined;
}

const ALL: Retention = { truncateBefore: 0, maxCount: Infinity, maxAge: Infinity };

function retentionOf(metadata: Readonly<Record<string, unknown>>): Retention {
  const truncateBefore = numberIn(metadata, '$tb') ?? ALL.truncateBefore;
  return {
    // JSON numbers are not exact beyond.
    truncateBefore: truncateBefore > Number.MAX_SAFE_INTEGER ? Infinity : truncateBefore,
    maxCount: numberIn(metadata, '$maxCount') ?? ALL.maxCount,
    maxAge: (numberIn(metadata, '$maxAge') ?? ALL.maxAge) * 1000,
  };
}

function numberIn(metadata: Readonly<Record<string, unknown>>, key: string): number | undefined {
  const value = metadata[key];
  return typeof value === 'number' && value >= 0 ? value : undefined;
}

/** Metadata that are not a JSON object have no effect. */
function objectOf(text: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(text);
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
