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

/** A value as token characters, two different ones never the same: long ones by 160 bits of their hash. */
export function encode(value: string): string {
  if (value.length > LONGEST) return `~~${hash('sha1', value)}`;
  if (!ESCAPED.test(value)) return value;
  let encoded = '';
  for (let at = 0; at < value.length; at += 1) {
    const character = value.charAt(at);
    const code = value.charCodeAt(at);
    encoded +=
      code >= 0x41 && code <= 0x5a
        ? `~${character.toLowerCase()}`
        : ESCAPED.test(character)
          ? `~${code.toString(16).padStart(2, '0')}`
          : character;
  }
  return encoded;
}
