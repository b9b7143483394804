import { isUtf8 } from 'node:buffer';
import { JsonElement } from './json-element';
import { NotParsable } from './not-parsable';

/** How deep objects and lists may be nested. */
const MAX_DEPTH = 32;

/** Reads a small JSON text in UTF-8 as a whole; raises `NotParsable`. */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new NotParsable('the body is not UTF-8');
  const text = bytes.toString();
  const opening = text.search(/\S/);
  if (text[opening] === '{' || text[opening] === '[')
    new JsonElement(bytes.length, MAX_DEPTH).endIn(bytes, Buffer.byteLength(text.slice(0, opening)));
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new NotParsable(`the body is not JSON: ${error instanceof Error ? error.message : ''}`);
  }
}
