import { hash } from 'node:crypto';

/**
 * The inverted index knows one kind of thing, tokens: a field's code followed by a word or by a whole value. So
 * words and exact values are found, combined and counted by the same merge of sorted lists.
 */

/** As in the index: ASCII without capitals, blanks and control characters, and everything beyond ASCII. */
export const TOKENIZER = `ascii tokenchars '!#$%&()*+,-./:;<=>?@[\\]^_\`{|}~'`;

/** Capitals (the index would fold them), quotes, blanks and control characters; `~` because it marks these. */
const ESCAPED = /["'A-Z~\u0000-\u0020\u007f]/;
const LONGEST = 64;

/** What stands for each ASCII character that is escaped. */
const ESCAPES = Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (!ESCAPED.test(character)) return undefined;
  return /[A-Z]/.test(character) ? `~${character.toLowerCase()}` : `~${code.toString(16).padStart(2, '0')}`;
});

/** A value as token characters, two different ones never the same: long ones by 160 bits of their hash. */
export function encode(value: string): string {
  if (value.length > LONGEST) return `~~${hash('sha1', value)}`;
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

/** The tokens of a field's values, a blank before each. */
export function tokensOf(code: string, values: readonly string[]): string {
  if (values.length === 0) return '';
  const before = ` ${code}`;
  // Words have nothing to be escaped as a rule: they are looked through all at once.
  const isPlain = values.every(({ length }) => length <= LONGEST) && !ESCAPED.test(values.join(''));
  return before + (isPlain ? values : values.map(encode)).join(before);
}
