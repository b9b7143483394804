import { isUtf8 } from 'node:buffer';
import { isPosted, note } from '../api/posted';
import { NotParsable, utf8Text } from '../bytes';
import { type ElementOrigin, JsonElement } from './cut';
import { jsonProblem, repeatedMembers } from './scan';

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

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/**
 * Notes the members that an object of a parsed JSON text has more than once (`docs/decisions.md#a21`): parsing keeps
 * the last one. `members`: how many members the objects of the text have. Finding out takes a fraction of the time of
 * parsing.
 */
export function noteRepeated(value: unknown, text: () => string, members = colonsIn(text())): void {
  if (!isPosted(value) || membersIn(value) === members) return;
  note(value, { repeated: new Set(repeatedMembers(text())) });
}

export function membersIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') count += membersIn(item);
    return count;
  }
  for (const name in value) {
    count += 1;
    const member = (value as Readonly<Record<string, unknown>>)[name];
    if (typeof member === 'object') count += membersIn(member);
  }
  return count;
}

/** Members of all objects of a JSON text: colons outside of strings. */
export function colonsIn(text: string): number {
  const { length } = text;
  let count = 0;
  let isInString = false;
  for (let at = 0; at < length; at += 1) {
    const code = text.charCodeAt(at);
    if (isInString) {
      if (code === QUOTE) isInString = false;
      else if (code === BACKSLASH) at += 1;
    } else if (code === QUOTE) isInString = true;
    else if (code === COLON) count += 1;
  }
  return count;
}
