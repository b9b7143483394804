import { beginningOf } from '../../kernel/text';
import { pacer } from '../../runtime/concurrency';
import { isPosted, notesOf } from '../api/posted';
import { type RecordKind } from '../record/record';

/** Names in a header, and characters of a name. */
const MOST = { names: 20, characters: 40 } as const;

/** Distinct names that are collected before all but the first ones are dropped. */
const MOST_COLLECTED = 1000;

/** Names that a client has sent, for a header: the first ones in order, percent-encoded where necessary. */
export class NameList {
  private names = new Set<string>();

  add(name: string): void {
    // Half of a surrogate pair cannot be encoded: U+FFFD replaces one that was sent.
    this.names.add(beginningOf(name.toWellFormed(), MOST.characters));
    if (this.names.size > MOST_COLLECTED) this.names = new Set(this.first());
  }

  addAll(names: Iterable<string>): this {
    for (const name of names) this.add(name);
    return this;
  }

  first(): readonly string[] {
    return [...this.names].sort().slice(0, MOST.names);
  }
}

export function nameList(names: Iterable<string>): string {
  return new NameList().addAll(names).first().map(encodeURIComponent).join(', ');
}

/** Of operations whose answers have errors of single items, as their descriptions have it. */
export const ITEM_HELP = {
  Link: 'For each code of a refused item the page that explains it, with rel="help"',
};

/** The header of `ignoredFields`, as it is described. */
export const IGNORED_FIELDS = {
  'X-Ignored-Fields': `Posted fields that are unknown: the first ${MOST.names}`,
} as const;

/** The header that names the fields of a body which were ignored; no header if there are none. */
export function ignoredFields(names: Iterable<string>): Readonly<Record<string, string>> {
  const list = nameList(names);
  return list === '' ? {} : { 'X-Ignored-Fields': list };
}

/**
 * The header for posted items: paths of fields that the table of a flat record does not have, and of what else was not
 * read. Yields to the event loop.
 */
export async function ignoredFieldsOf(
  kind: RecordKind,
  items: readonly unknown[],
): Promise<Readonly<Record<string, string>>> {
  const names = new NameList();
  const pace = pacer();
  for (const item of items) {
    await pace();
    names.addAll(unknownIn(kind, item));
  }
  return ignoredFields(names.first());
}

/** The same paths of a few items. */
export function unknownFields(kind: RecordKind, items: readonly unknown[]): ReadonlySet<string> {
  return new Set(items.flatMap((item) => [...unknownIn(kind, item)]));
}

function* unknownIn({ fields }: RecordKind, item: unknown): Generator<string> {
  if (!isPosted(item)) return;
  for (const name in item) if (!Object.hasOwn(fields, name)) yield name;
  yield* notesOf(item)?.unread ?? [];
}
