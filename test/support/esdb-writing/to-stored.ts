import { isUtf8 } from 'node:buffer';
import { timeIn } from '../../../src/replay/client-values';
import { type NewEvent } from '../../../src/kernel/event';
import { APPEND_LIMITS } from '../../../src/kernel/event-log';
import { storedName } from './client-names';
import { type ProposedEvent } from './proposal';
import { sizeExceeded } from './refused-write';
import { ENCODED_BYTES, STAMP } from './written-log';

/**
 * Converts events for the log: the JSON text of an object unchanged, anything else as base64. The log records no times,
 * so `now` is added to the metadata, if there is room, unless the data have an `at` as the program's own events do.
 */
export function toStored(events: readonly ProposedEvent[], now: number): readonly NewEvent[] {
  const plain = events.map(({ id, type, json, data, metadata }) => ({
    id,
    type: storedName(type),
    data: dataText(data, json),
    meta: metaText(metadata),
  }));
  const stamped = plain.map((event) => {
    const later = timeIn(event.data) === undefined ? withStamp(event, now) : event;
    return bytesOf([later]) > APPEND_LIMITS.bytes ? event : later;
  });
  // A single append to the log is atomic.
  return isOne(plain) && !isOne(stamped) ? plain : stamped;
}

function isOne(events: readonly NewEvent[]): boolean {
  return events.length <= APPEND_LIMITS.events && bytesOf(events) <= APPEND_LIMITS.bytes;
}

/**
 * Splits events into appends within the limits of the log, as EventStoreDB allows larger ones. Raises `RefusedWrite`
 * for an event that is too large by itself.
 */
export function inAppends(events: readonly NewEvent[]): readonly (readonly NewEvent[])[] {
  const appends: NewEvent[][] = [];
  let bytes = Infinity;
  for (const event of events) {
    const size = bytesOf([event]);
    if (size > APPEND_LIMITS.bytes) throw sizeExceeded();
    if (bytes + size > APPEND_LIMITS.bytes || appends.at(-1)?.length === APPEND_LIMITS.events) {
      appends.push([]);
      bytes = 0;
    }
    appends.at(-1)?.push(event);
    bytes += size;
  }
  return appends.length === 0 ? [[]] : appends;
}

function dataText(data: Uint8Array, json: boolean): string {
  const text = json ? objectText(data) : undefined;
  return text ?? encodedBytes(data, json ? 'json' : 'octets');
}

function metaText(metadata: Uint8Array): string {
  const text = objectText(metadata);
  const clear = text !== undefined && !STAMP.test(text) && !/^\{\s+\}$/.test(text);
  return clear ? text : encodedBytes(metadata, 'octets');
}

function encodedBytes(bytes: Uint8Array, kind: 'json' | 'octets'): string {
  return `{"$${kind}":"${bufferOf(bytes).toString('base64')}"}`;
}

/** The bytes as text, if they are a JSON object that does not look like encoded bytes. */
function objectText(bytes: Uint8Array): string | undefined {
  const buffer = bufferOf(bytes);
  if (buffer.at(0) !== 0x7b || buffer.at(-1) !== 0x7d || !isUtf8(buffer)) return undefined;
  const text = buffer.toString('utf8');
  return isJson(text) && !ENCODED_BYTES.test(text) ? text : undefined;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function withStamp(event: NewEvent, now: number): NewEvent {
  const rest = event.meta === '{}' ? '}' : `,${event.meta.slice(1)}`;
  return { ...event, meta: `{"$at":${now}${rest}` };
}

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
