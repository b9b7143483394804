import { hash } from 'node:crypto';

/**
 * The inverted index contains tokens: a field's code followed by a word or by a whole value. So words and exact values
 * are found, combined and counted in the same way, by merging sorted lists.
 */

/** Token characters: ASCII without capitals, blanks and control characters, and everything beyond ASCII. */
export const TOKENIZER = `ascii tokenchars '!#$%&()*+,-./:;<=>?@[\\]^_\`{|}~'`;

/**
 * Characters to escape: capitals (the index would fold them), quotes, blanks, control characters, and the escape `~`.
 */
const ESCAPED = /["'A-Z~\u0000-\u0020\u007f]/;
const MAX_LENGTH = 64;

/** The escape sequence of each ASCII character, if it has one. */
const ESCAPES = Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (!ESCAPED.test(character)) return undefined;
  return /[A-Z]/.test(character) ? `~${character.toLowerCase()}` : `~${code.toString(16).padStart(2, '0')}`;
});

/** Encodes a value in token characters. Different values have different encodings; long ones are hashed (160 bits). */
export function encode(value: string): string {
  if (value.length > MAX_LENGTH) return `~~${hash('sha1', value)}`;
  if (!ESCAPED.test(value)) return value;
  let encoded = '';
  let from = 0;
  for (let at = 0; at < value.length; at += 1) {
    const escape = ESCAPES[value.charCodeAt(at)];
    if (escape === undefined) continue;
    encoded += value.slice(from, at) + escape;
    from = at + 1;
  }
  return encoded + value.slice(from);
}

/** The tokens of a field's values, each preceded by a blank. */
export function tokensOf(code: string, values: readonly string[]): string {
  if (values.length === 0) return '';
  const before = ` ${code}`;
  // Words rarely need escaping, so test all of them at once.
  const isPlain = values.every(({ length }) => length <= MAX_LENGTH) && !ESCAPED.test(values.join(''));
  return before + (isPlain ? values : values.map(encode)).join(before);
}
