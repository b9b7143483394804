import { type RecordedEvent } from '../kernel/event';
import { originalOf, clientName, storedName } from './client-values';

/** An event as sent by a client of EventStoreDB. */
export interface ProposedEvent {
  readonly id: string;
  readonly type: string;
  /** Whether the content type is JSON, as opposed to any bytes. */
  readonly json: boolean;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

/** An event as delivered to a client of EventStoreDB. */
export interface ClientEvent extends ProposedEvent {
  readonly stream: string;
  /** Decimal, since that of a tombstone exceeds JavaScript's integers. */
  readonly revision: string;
  readonly position: string;
  /** Creation time (ms since 1970), if known. */
  readonly created: number | undefined;
}

/** The type of the event that deletes a stream permanently. It is stored in the stream's metadata stream. */
export const TOMBSTONE = '$streamDeleted';

const STORED_TOMBSTONE = storedName(TOMBSTONE);

/** The revision that EventStoreDB gives to a tombstone. */
const LAST_REVISION = '9223372036854775807';

/** The encoding of data or metadata that are not JSON objects. */
export const ENCODED_BYTES = /^\{"\$(json|octets)":"([A-Za-z0-9+/]*=*)"\}$/;

/** A creation time that was added to the metadata. */
export const STAMP = /^\{"\$at":(\d{1,15})(?:,|(?=\}$))/;

/** Converts a stored event for clients: one from a client, or one that the program itself appended. */
export function toClientEvent(event: RecordedEvent): ClientEvent {
  const { id, position } = event;
  const type = clientType(event);
  const stamp = STAMP.exec(event.meta);
  const meta = stamp === null ? event.meta : `{${event.meta.slice(stamp[0].length)}`;
  const created = stamp === null ? timeIn(event.data) : Number(stamp[1]);
  const { bytes: data, json } = fromText(event.data);
  const { bytes: metadata } = fromText(meta);
  const revision = type === TOMBSTONE ? LAST_REVISION : String(event.revision);
  return { id, type, json, data, metadata, stream: clientStream(event), revision, position, created };
}

/** The stream of an event as clients see it: a tombstone belongs to the stream that it deletes. */
export function clientStream(event: Pick<RecordedEvent, 'stream' | 'type'>): string {
  const stream = clientName(event.stream);
  return event.type === STORED_TOMBSTONE ? (originalOf(stream) ?? stream) : stream;
}

/** The type of an event as clients see it. */
export function clientType({ type }: Pick<RecordedEvent, 'type'>): string {
  return clientName(type);
}

function fromText(text: string): { readonly bytes: Uint8Array; readonly json: boolean } {
  const encoded = text.startsWith('{"$') ? ENCODED_BYTES.exec(text) : null;
  if (encoded === null) return { bytes: Buffer.from(text), json: true };
  return { bytes: Buffer.from(encoded[2] ?? '', 'base64'), json: encoded[1] === 'json' };
}

/** The time of the last `at` field in a JSON text (ms since 1970). */
export function timeIn(data: string): number | undefined {
  const from = data.lastIndexOf(AT);
  if (from < 0) return undefined;
  const time = TIME.exec(data.slice(from + AT.length, from + AT.length + 25));
  const at = time === null ? NaN : Date.parse(time[0]);
  return Number.isNaN(at) ? undefined : at;
}

const AT = '"at":"';
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z(?=")/;
