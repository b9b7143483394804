import { NO_STREAM, type RecordedEvent } from '../../kernel/event';
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

/** What is known of a stream beside its events. */
export interface StreamState {
  /** Deleted for ever: nothing can be read or appended. */
  readonly tombstoned: boolean;
  /** Deleted, but to be revived by an append. */
  readonly deleted: boolean;
  readonly retention: Retention;
  /** The metadata as they were set, undefined where there are none. */
  readonly metadata: Readonly<Record<string, unknown>> | undefined;
  /** Revision of the last event of the metadata stream, -1 if it has none. */
  readonly metaRevision: number;
}

/** The greatest revision: where EventStoreDB truncates a deleted stream. */
export const DELETED = '9223372036854775807';

/** What the metadata stream says about a stream, by its shown name. */
export async function stateOf(log: EventLog, stream: string): Promise<StreamState> {
  const original = originalOf(stream);
  const last = await lastOf(log, metastreamOf(original ?? stream));
  const tombstoned = last?.type === storedName(TOMBSTONE);
  const metaRevision = last?.revision ?? NO_STREAM;
  // Of a metadata stream only the last event counts.
  if (original !== undefined)
    return {
      tombstoned,
      deleted: false,
      retention: { ...ALL, maxCount: 1 },
      metadata: undefined,
      metaRevision,
    };
  const metadata = last === undefined || tombstoned ? undefined : objectOf(last.data);
  const retention = retentionOf(metadata ?? {});
  return { tombstoned, deleted: retention.truncateBefore === Infinity, retention, metadata, metaRevision };
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

/** Metadata that are no JSON object say nothing. */
function objectOf(text: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(text);
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
