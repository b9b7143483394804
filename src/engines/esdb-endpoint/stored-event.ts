import { isUtf8 } from 'node:buffer';
import { type NewEvent, type RecordedEvent } from '../../kernel/event';
import { APPEND_LIMITS } from '../../kernel/event-log';
import { originalOf, shownName, storedName } from './names';
import { Refusal } from './refusal';

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

/** The revision that EventStoreDB gives to a tombstone. */
const LAST_REVISION = '9223372036854775807';

/** Data or metadata that is not the JSON text of an object. */
const KEPT_BYTES = /^\{"\$(json|octets)":"([A-Za-z0-9+/]*=*)"\}$/;

/** A time that was added to metadata. */
const STAMP = /^\{"\$at":(\d{1,15})(?:,|(?=\}$))/;

/**
 * Events as the log keeps them. The JSON text of an object is kept to the letter, anything else in base64. The
 * log has no time of its own: where the data have none (`at`, as the program's own events do), `now` is added to
 * the metadata, unless the append would then be over the limits. Raises `Refusal` where it is over them anyway.
 */
export function toStored(events: readonly ProposedEvent[], now: number): readonly NewEvent[] {
  const plain = events.map(({ id, type, json, data, metadata }) => ({
    id,
    type: storedName(type),
    data: dataText(data, json),
    meta: metaText(metadata),
  }));
  const stamped = plain.map((event) => (timeIn(event.data) === undefined ? withStamp(event, now) : event));
  const stored = bytesOf(stamped) <= APPEND_LIMITS.bytes ? stamped : plain;
  if (stored.length > APPEND_LIMITS.events || bytesOf(stored) > APPEND_LIMITS.bytes)
    throw new Refusal({ kind: 'maximum-append-size-exceeded' });
  return stored;
}

/** The event that was stored, or one that the program has appended by itself, as a client is shown it. */
export function toShown(event: RecordedEvent): ShownEvent {
  const { id, position } = event;
  const stream = shownName(event.stream);
  const type = shownName(event.type);
  const stamp = STAMP.exec(event.meta);
  const meta = stamp === null ? event.meta : `{${event.meta.slice(stamp[0].length)}`;
  const created = stamp === null ? timeIn(event.data) : Number(stamp[1]);
  const { bytes: data, json } = fromText(event.data);
  const { bytes: metadata } = fromText(meta);
  const original = type === TOMBSTONE ? originalOf(stream) : undefined;
  const revision = original === undefined ? String(event.revision) : LAST_REVISION;
  return { id, type, json, data, metadata, stream: original ?? stream, revision, position, created };
}

function dataText(data: Uint8Array, json: boolean): string {
  const text = json ? objectText(data) : undefined;
  return text ?? keptBytes(data, json ? 'json' : 'octets');
}

function metaText(metadata: Uint8Array): string {
  const text = objectText(metadata);
  const clear = text !== undefined && !STAMP.test(text) && !/^\{\s+\}$/.test(text);
  return clear ? text : keptBytes(metadata, 'octets');
}

function keptBytes(bytes: Uint8Array, kind: 'json' | 'octets'): string {
  return `{"$${kind}":"${bufferOf(bytes).toString('base64')}"}`;
}

/** The bytes as text if that is the JSON text of an object, which is not mistaken for kept bytes. */
function objectText(bytes: Uint8Array): string | undefined {
  const buffer = bufferOf(bytes);
  if (buffer.at(0) !== 0x7b || buffer.at(-1) !== 0x7d || !isUtf8(buffer)) return undefined;
  const text = buffer.toString('utf8');
  return isJson(text) && !KEPT_BYTES.test(text) ? text : undefined;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function fromText(text: string): { readonly bytes: Uint8Array; readonly json: boolean } {
  const kept = text.startsWith('{"$') ? KEPT_BYTES.exec(text) : null;
  if (kept === null) return { bytes: Buffer.from(text), json: true };
  return { bytes: Buffer.from(kept[2] ?? '', 'base64'), json: kept[1] === 'json' };
}

function withStamp(event: NewEvent, now: number): NewEvent {
  const rest = event.meta === '{}' ? '}' : `,${event.meta.slice(1)}`;
  return { ...event, meta: `{"$at":${now}${rest}` };
}

/** The last time called `at` in a JSON text (ms since 1970). */
function timeIn(data: string): number | undefined {
  const from = data.lastIndexOf(AT);
  if (from < 0) return undefined;
  const time = TIME.exec(data.slice(from + AT.length, from + AT.length + 25));
  const at = time === null ? NaN : Date.parse(time[0]);
  return Number.isNaN(at) ? undefined : at;
}

const AT = '"at":"';
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z(?=")/;

function bytesOf(events: readonly NewEvent[]): number {
  return events.reduce(
    (sum, { type, data, meta }) =>
      sum + Buffer.byteLength(type) + Buffer.byteLength(data) + Buffer.byteLength(meta),
    0,
  );
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
