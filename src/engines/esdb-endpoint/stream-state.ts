import { type RecordedEvent } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { metastreamOf, originalOf, storedName } from './names';
import { TOMBSTONE } from './stored-event';

/** What metadata say about which events of a stream are still shown. */
interface Retention {
  /** Events before this revision are not shown; Infinity once the stream is deleted. */
  readonly truncateBefore: number;
  /** Only so many of the last events are shown. */
  readonly maxCount: number;
  /** Only events not older than this are shown (ms). */
  readonly maxAge: number;
}

/** A stream, apart from its events. */
export interface StreamState {
  /** Deleted for ever: nothing can be read or appended. */
  readonly tombstoned: boolean;
  /** Deleted; an append revives it. */
  readonly deleted: boolean;
  readonly retention: Retention;
  /** The metadata as set; undefined if there are none. */
  readonly metadata: Readonly<Record<string, unknown>> | undefined;
}

/** The greatest revision: where EventStoreDB truncates a deleted stream. */
export const DELETED = '9223372036854775807';

/** What the metadata stream says about a stream, by its shown name. */
export async function stateOf(log: EventLog, stream: string): Promise<StreamState> {
  const last = await lastOf(log, metastreamOf(stream));
  const tombstoned = isTombstone(last);
  // The metadata of a metadata stream say nothing: only its last event counts, until its stream is tombstoned.
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

/** The last event of a stream, by its shown name. */
export async function lastOf(log: EventLog, stream: string): Promise<RecordedEvent | undefined> {
  for await (const [event] of log.readStream(storedName(stream), { backwards: true, limit: 1 })) return event;
  return undefined;
}

const ALL: Retention = { truncateBefore: 0, maxCount: Infinity, maxAge: Infinity };

function retentionOf(metadata: Readonly<Record<string, unknown>>): Retention {
  const truncateBefore = numberIn(metadata, '$tb') ?? ALL.truncateBefore;
  return {
    // JSON numbers are not exact up there.
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
