import { repeatedMembers } from './scan';
import { isPosted, note } from '../api/posted';

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

/** Members of all objects of a value. */
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
