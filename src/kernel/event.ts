import { hash } from 'node:crypto';

/**
 * The position of an event in the total order of the log. Opaque: compare positions as strings (`a < b` means that a
 * came first), or as the numbers that `numberOf` makes of them, and compute nothing else with them. All have the same
 * length.
 */
export type Position = string;

/** The position before the first event: every event comes after it. */
export const START: Position = '0'.repeat(19);

/** A position as a number of the same order, for fields of read models: positions are decimal and below 2^53. */
export function numberOf(position: Position): number {
  return Number(position);
}

/** The inverse of `numberOf`. */
export function positionOf(number: number): Position {
  return String(number).padStart(START.length, '0');
}

/** A position that was sent, with or without the zeros in front; undefined if it is none. */
export function parsePosition(sent: string): Position | undefined {
  return /^\d{1,19}$/.test(sent) ? sent.padStart(START.length, '0') : undefined;
}

/** The revision of a stream without events; the first event of a stream has revision 0. */
export const NO_STREAM = -1;

/** Makes new UUIDs: the ids of events (`Clock`). */
export interface Ids {
  uuid(): string;
}

/** An event to append. `data` and `meta` are JSON objects as text; engines store them byte for byte. */
export interface NewEvent {
  /** A lower-case UUID chosen by the caller. A retry of the same append uses the same ids. */
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly meta: string;
}

/** An event as stored in the log. */
export interface RecordedEvent extends NewEvent {
  readonly stream: string;
  /** The event's number in its stream, from 0. */
  readonly revision: number;
  readonly position: Position;
}

/** The stream of one aggregate: `feed-22`. */
export function streamOf(category: string, id: string | number): string {
  return `${category}-${id}`;
}

const UTF8 = new TextEncoder();
/** Reused, since it is computed for each event of a product. */
let hashed = new Uint8Array(256);

/** UUID v5: the same for the same name in the same namespace, for ever. The namespace has 16 bytes. */
export function namedUuid(namespace: Uint8Array, name: string): string {
  const start = namespace.length;
  // A UTF-16 unit takes three bytes at most.
  if (start + 3 * name.length > hashed.length) hashed = new Uint8Array(2 * (start + 3 * name.length));
  hashed.set(namespace);
  const { written } = UTF8.encodeInto(name, hashed.subarray(start));
  const hex = hash('sha1', hashed.subarray(0, start + written), 'hex');
  const variant = ((parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
