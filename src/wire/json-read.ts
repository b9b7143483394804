import { JsonElement } from './json-element';
import { jsonProblem } from './json-scan';
import { NotParsable } from './not-parsable';
import { utf8Text } from './utf8';

/** How deep objects and lists may be nested. */
const MAX_DEPTH = 32;

/** Reads a small JSON text in UTF-8 as a whole; raises `NotParsable`. */
export function parseJson(bytes: Buffer): unknown {
  const text = utf8Text(bytes);
  const opening = text.search(/\S/);
  if (text[opening] === '{' || text[opening] === '[')
    new JsonElement(bytes.length, MAX_DEPTH).endIn(bytes, Buffer.byteLength(text.slice(0, opening)));
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new NotParsable(`the body is not JSON: ${jsonProblem(bytes)?.message ?? String(error)}`);
  }
}
