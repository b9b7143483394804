import { type RecordedEvent } from '../../kernel/event';
import { originalOf, shownName, storedName } from './names';

/** An event as a client of EventStoreDB proposes it. */
export interface ProposedEvent {
  readonly id: string;
  readonly type: string;
  /** Its content type is JSON; else any bytes. */
  readonly json: boolean;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

/** An event as a client of EventStoreDB is shown it. */
export interface ShownEvent extends ProposedEvent {
  readonly stream: string;
  /** Decimal: that of a tombstone is beyond JavaScript's integers. */
  readonly revision: string;
  readonly position: string;
  /** When it was created (ms since 1970); undefined where nothing tells. */
  readonly created: number | undefined;
}

/** The type of the event that ends a stream for ever. It is kept in the stream's metadata stream. */
export const TOMBSTONE = '$streamDeleted';

const STORED_TOMBSTONE = storedName(TOMBSTONE);

/** The revision that EventStoreDB gives to a tombstone. */
const LAST_REVISION = '9223372036854775807';

/** Data or metadata that is not the JSON text of an object. */
export const KEPT_BYTES = /^\{"\$(json|octets)":"([A-Za-z0-9+/]*=*)"\}$/;

/** A time that was added to metadata. */
export const STAMP = /^\{"\$at":(\d{1,15})(?:,|(?=\}$))/;

/** The event that was stored, or one that the program has appended by itself, as a client is shown it. */
export function toShown(event: RecordedEvent): ShownEvent {
  const { id, position } = event;
  const type = shownType(event);
  const stamp = STAMP.exec(event.meta);
  const meta = stamp === null ? event.meta : `{${event.meta.slice(stamp[0].length)}`;
  const created = stamp === null ? timeIn(event.data) : Number(stamp[1]);
  const { bytes: data, json } = fromText(event.data);
  const { bytes: metadata } = fromText(meta);
  const revision = type === TOMBSTONE ? LAST_REVISION : String(event.revision);
  return { id, type, json, data, metadata, stream: shownStream(event), revision, position, created };
}

/** The stream that a client is shown for an event: a tombstone belongs to the stream that it ends. */
export function shownStream(event: Pick<RecordedEvent, 'stream' | 'type'>): string {
  const stream = shownName(event.stream);
  return event.type === STORED_TOMBSTONE ? (originalOf(stream) ?? stream) : stream;
}

/** The type that a client is shown for an event. */
export function shownType({ type }: Pick<RecordedEvent, 'type'>): string {
  return shownName(type);
}

function fromText(text: string): { readonly bytes: Uint8Array; readonly json: boolean } {
  const kept = text.startsWith('{"$') ? KEPT_BYTES.exec(text) : null;
  if (kept === null) return { bytes: Buffer.from(text), json: true };
  return { bytes: Buffer.from(kept[2] ?? '', 'base64'), json: kept[1] === 'json' };
}

/** The last time called `at` in a JSON text (ms since 1970). */
export function timeIn(data: string): number | undefined {
  const from = data.lastIndexOf(AT);
  if (from < 0) return undefined;
  const time = TIME.exec(data.slice(from + AT.length, from + AT.length + 25));
  const at = time === null ? NaN : Date.parse(time[0]);
  return Number.isNaN(at) ? undefined : at;
}

const AT = '"at":"';
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z(?=")/;
