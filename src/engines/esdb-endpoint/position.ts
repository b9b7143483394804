import { type Position, START } from '../../kernel/event';
import { failing } from './refusal';

/** What a client sends for the end of the log or of a stream: all 64 bits set. */
export const END = '18446744073709551615';

/** The greatest signed number of 64 bits: EventStoreDB keeps positions and revisions in signed numbers. */
const GREATEST = 9_223_372_036_854_775_807n;

/** A position of the log as a client sends it; undefined for the end. Raises `Refusal`. */
export function toPosition(commit: string, prepare: string): Position | undefined {
  if (commit === END && prepare === END) return undefined;
  if (BigInt(commit) > GREATEST || BigInt(prepare) > BigInt(commit))
    throw failing(`Position ${commit}/${prepare}: expected a prepare position up to the commit position`);
  return commit.padStart(START.length, '0');
}

/** A revision as a client sends it; undefined for the end. Raises `Refusal`. */
export function toRevision(revision: string): number | undefined {
  if (revision === END) return undefined;
  if (BigInt(revision) > GREATEST) throw failing(`Revision ${revision}: expected at most ${GREATEST}`);
  // Far beyond any stream, where rounding does not matter.
  return Math.min(Number(revision), Number.MAX_SAFE_INTEGER - 1);
}

/** The position as a client receives it. */
export function toOffset(position: Position): string {
  return position.replace(/^0+(?=.)/, '');
}
