import { UUID } from '@eventstore/db-client/generated/shared_pb';
import { type Position, START } from '../kernel/event';
import { failing } from './refusal';

// Positions and ids, as clients send them and as the log stores them.

/** Clients expect times in units of 100 ns. */
export const TICKS_PER_MS = 10_000;

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
