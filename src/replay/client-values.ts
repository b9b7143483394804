import { UUID } from '@eventstore/db-client/generated/shared_pb';
import { type Position, START } from '../kernel/event';
import { failing } from './refusal';

// Names, positions and ids, as clients send them and as the log stores them.

/** Clients expect times in units of 100 ns. */
export const TICKS_PER_MS = 10_000;

// Names -------------------------------------------------------------------------------------------------------

/**
 * Encodes a client's name of a stream or a type for the log. An `EventLog` reserves names that start with `$`, so they
 * are stored with a leading dot. Names that look encoded already get another dot, so that the encoding is reversible.
 */
export function storedName(name: string): string {
  return /^\.*\$/.test(name) ? `.${name}` : name;
}

/** The inverse of `storedName`. */
export function clientName(stored: string): string {
  return /^\.+\$/.test(stored) ? stored.slice(1) : stored;
}

/** The metadata stream of a stream; its last event has the current metadata. */
export function metastreamOf(name: string): string {
  return `$$${name}`;
}

/** The stream that a metadata stream belongs to; undefined for any other stream. */
export function originalOf(name: string): string | undefined {
  return name.startsWith('$$') ? name.slice(2) : undefined;
}

/**
 * Prefixes of stored names that cover all streams whose client names have one of these prefixes. They match a superset,
 * so the result must be filtered again. Undefined if they would match everything.
 */
export function storedPrefixes(prefixes: readonly string[]): readonly string[] | undefined {
  if (prefixes.includes('')) return undefined;
  // Tombstones are stored in the metadata stream, but belong to the stream itself.
  return prefixes.flatMap((prefix) => [
    /^\.+$/.test(prefix) ? prefix : storedName(prefix),
    storedName(metastreamOf(prefix)),
  ]);
}

// Positions ---------------------------------------------------------------------------------------------------

/** The value that clients send for the end of the log or of a stream: all 64 bits set. */
export const END = '18446744073709551615';

/** The maximum signed 64-bit integer, the type of positions and revisions in EventStoreDB. */
const MAX_INT64 = 9_223_372_036_854_775_807n;

/** Converts a position from a client; undefined for the end. Raises `Refusal`. */
export function toPosition(commit: string, prepare: string): Position | undefined {
  if (commit === END && prepare === END) return undefined;
  if (BigInt(commit) > MAX_INT64 || BigInt(prepare) > BigInt(commit))
    throw failing(`Position ${commit}/${prepare}: expected a prepare position up to the commit position`);
  return commit.padStart(START.length, '0');
}

/** Converts a revision from a client; undefined for the end. Raises `Refusal`. */
export function toRevision(revision: string): number | undefined {
  if (revision === END) return undefined;
  if (BigInt(revision) > MAX_INT64) throw failing(`Revision ${revision}: expected at most ${MAX_INT64}`);
  // Large values are beyond any stream, so rounding does not matter.
  return Math.min(Number(revision), Number.MAX_SAFE_INTEGER - 1);
}

/** Converts a position for a client. */
export function toOffset(position: Position): string {
  return position.replace(/^0+(?=.)/, '');
}

// Ids ---------------------------------------------------------------------------------------------------------

/** How a client requests ids: as text, or as two 64-bit numbers. */
export type IdEncoding = 'text' | 'numbers';

/** Encodes an id for a client. */
export function toUuid(id: string, encoding: IdEncoding): UUID {
  const uuid = new UUID();
  if (encoding === 'text') return uuid.setString(id);
  const digits = id.replaceAll('-', '');
  const structured = new UUID.Structured();
  structured.setMostSignificantBits(toInt64(digits.slice(0, 16)));
  structured.setLeastSignificantBits(toInt64(digits.slice(16)));
  return uuid.setStructured(structured);
}

function toInt64(digits: string): string {
  return BigInt.asIntN(64, BigInt(`0x${digits}`)).toString();
}
