import { hash } from 'node:crypto';

/**
 * The search index contains tokens: a field's code followed by a word or by a whole value. So words and exact values
 * are found, combined and counted in the same way. The tokens of a document are one text, each preceded by a line
 * feed, which is cheap to send to another thread.
 */

const MAX_LENGTH = 64;
const SEPARATOR = '\n';
/** The start of values that are hashed. */
const HASHED = '~~';

/** The token of a value. Different values have different tokens; long ones are hashed (160 bits). */
export function tokenOf(code: string, value: string): string {
  return code + (isPlain(value) ? value : HASHED + hash('sha1', value.toWellFormed())).toWellFormed();
}

function isPlain(value: string): boolean {
  return value.length <= MAX_LENGTH && !value.includes(SEPARATOR) && !value.startsWith(HASHED);
}

/** The text of the tokens of a field's values. */
export function tokensOf(code: string, values: readonly string[]): string {
  if (values.length === 0) return '';
  const before = SEPARATOR + code;
  // Values rarely need hashing.
  if (values.every(isPlain)) return before + values.join(before).toWellFormed();
  return SEPARATOR + values.map((value) => tokenOf(code, value)).join(SEPARATOR);
}
