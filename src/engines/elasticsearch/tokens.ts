import { hash } from 'node:crypto';

/** Characters that a value is kept with as it is: an index takes no longer ones, and cuts words longer than 255. */
const LONGEST = 200;
const MARK = '\u0001';

/** A value or word as it is indexed and looked for; two different ones never the same: long ones by their hash. */
export function encode(value: string): string {
  const text = value.toWellFormed();
  return text.length > LONGEST || text.startsWith(MARK) ? `${MARK}${hash('sha256', text)}` : text;
}

/** Words as one text that is cut at its blanks. */
export function encodeWords(words: readonly string[]): string {
  const text = words.join(' ');
  return words.some((word) => word.length > LONGEST) ? words.map(encode).join(' ') : text.toWellFormed();
}

/** Bytes that a name of a document may have. */
const LONGEST_NAME = 500;

/** The name that a document is kept by: long ids by their hash. What is no document is named otherwise. */
export function nameOf(id: string): string {
  return Buffer.byteLength(id) > LONGEST_NAME ? `#${hash('sha256', id)}` : `=${id}`;
}
