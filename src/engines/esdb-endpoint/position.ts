import { type Position, START } from '../../kernel/event';

/** The greatest signed number of 64 bits: from here on a position is a client's word for the end of the log. */
const END = '9223372036854775807';

/** A position of the log as a client gives it: a decimal number of 64 bits; undefined for the end. */
export function toPosition(offset: string): Position | undefined {
  const position = offset.padStart(START.length, '0');
  return position.length > END.length || position >= END ? undefined : position;
}

/** The same as a client is shown it. */
export function toOffset(position: Position): string {
  return position.replace(/^0+(?=.)/, '');
}
