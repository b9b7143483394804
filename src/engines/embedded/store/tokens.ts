import { hash } from 'node:crypto';

/**
 * The search index contains tokens: a field's code followed by a word or by a whole value. So words and exact values
 * are found, combined and counted in the same way. The tokens of a document are one text, each preceded by a line
 * feed, which is cheap to send to another thread.
 */

const SEPARATOR = '\n';
/** The start of values that are hashed: a control character, so that they are not counted as values. */
const HASHED = '\u0001';

/** What the tokens of a field begin with, and how many UTF-16 units of a value they have: longer ones are hashed. */
export interface Tokenized {
  readonly code: string;
  readonly longest: number;
}

/** The token of a value. Different values have different tokens; long ones are hashed (160 bits). */
export function tokenOf({ code, longest }: Tokenized, value: string): string {
  return (
    code + (isPlain(value, longest) ? value : HASHED + hash('sha1', value.toWellFormed())).toWellFormed()
  );
}

function isPlain(value: string, longest: number): boolean {
  return value.length <= longest && !value.includes(SEPARATOR) && !value.startsWith(HASHED);
}

/** The text of the tokens of a field's values. */
export function tokensOf(field: Tokenized, values: readonly string[]): string {
  if (values.length === 0) return '';
  const { code, longest } = field;
  const before = SEPARATOR + code;
  // Values rarely need hashing.
  if (values.every((value) => isPlain(value, longest))) return before + values.join(before).toWellFormed();
  return SEPARATOR + values.map((value) => tokenOf(field, value)).join(SEPARATOR);
}
