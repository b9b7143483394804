import { isPosted, notesOf } from './posted';
import { type RecordKind } from './record';

/** Names in a header, and characters of a name. */
const MOST = { names: 20, characters: 40 } as const;

/** Names that a client has sent, for a header: the first ones in alphabetical order, percent-encoded where necessary. */
export function nameList(names: Iterable<string>): string {
  const distinct = new Set([...names].map(beginningOf));
  return [...distinct].sort().slice(0, MOST.names).map(encodeURIComponent).join(', ');
}

/** Half of a surrogate pair cannot be encoded: U+FFFD replaces one that was sent, and none is left by the cut. */
function beginningOf(name: string): string {
  return name
    .toWellFormed()
    .slice(0, MOST.characters)
    .replace(/[\ud800-\udbff]$/, '');
}

/** The header of `ignoredFields`, as it is described. */
export const IGNORED_FIELDS = {
  'X-Ignored-Fields': `Posted fields that are unknown: the first ${MOST.names}`,
} as const;

/** The header that names the fields of a body which were ignored; no header if there are none. */
export function ignoredFields(names: Iterable<string>): Readonly<Record<string, string>> {
  const list = nameList(names);
  return list === '' ? {} : { 'X-Ignored-Fields': list };
}

/** Paths of posted fields that the table of a flat record does not have, and of what else was not read. */
export function unknownFields({ fields }: RecordKind, posted: readonly unknown[]): ReadonlySet<string> {
  const unknown = new Set<string>();
  for (const item of posted) {
    if (!isPosted(item)) continue;
    for (const name in item) if (!Object.hasOwn(fields, name)) unknown.add(name);
    for (const path of notesOf(item)?.unread ?? []) unknown.add(path);
  }
  return unknown;
}
