import { isUtf8 } from 'node:buffer';
import { type ElementOrigin } from './cut';
import { JsonElement } from './element';
import { noteRepeated } from './members';
import { jsonProblem } from './scan';
import { NotParsable, utf8Text } from '../bytes';

/** How deep objects and lists may be nested. */
const MAX_DEPTH = 32;

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/**
 * Reads a small JSON text in UTF-8 as a whole, without the byte order mark that it may begin with; raises
 * `NotParsable`. `firstByte`: its place in the body, for messages.
 */
export function parseJson(sent: Buffer, firstByte = 0): unknown {
  const mark = BYTE_ORDER_MARK.length;
  const isMarked = sent.subarray(0, mark).equals(BYTE_ORDER_MARK);
  const bytes = isMarked ? sent.subarray(mark) : sent;
  const text = utf8Text(bytes);
  const opening = text.search(/\S/);
  if (text[opening] === '{' || text[opening] === '[')
    new JsonElement(bytes.length, MAX_DEPTH).endIn(bytes, Buffer.byteLength(text.slice(0, opening)));
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new NotParsable(
      `the body is not JSON: ${jsonProblem(bytes, firstByte + (isMarked ? mark : 0))?.message ?? String(error)}`,
    );
  }
}

const COMMA = Buffer.from(',');

/** The values of JSON texts whose nesting has been checked; undefined if one of them is malformed. */
export function valuesIn(texts: readonly Buffer[]): readonly unknown[] | undefined {
  const all = Buffer.concat(texts.flatMap((text, at) => (at === 0 ? [text] : [COMMA, text])));
  if (!isUtf8(all)) return undefined;
  try {
    return JSON.parse(`[${all.toString()}]`) as readonly unknown[];
  } catch {
    return undefined;
  }
}

/** The same of a posted object: members that are there more than once are noted on it (`docs/decisions.md#a21`). */
export function postedFromJson(sent: Buffer, origin: Partial<ElementOrigin> = {}): unknown {
  const found = parseJson(sent, origin.firstByte);
  noteRepeated(found, () => sent.toString(), origin.members);
  return found;
}
