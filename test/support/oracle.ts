import {
  type Cursor,
  distinctWords,
  type Facet,
  type Filter,
  type GroupOrder,
  type GroupSearch,
  type Order,
  type Search,
  shuffler,
  type ValueCount,
  type ValuesSearch,
  type Word,
} from '../../src/kernel/query';
import { type Document } from '../../src/kernel/read-store';

/** The expected answers of a read store, by examining every document: slow and obviously correct. */
export function oracleOf(documents: readonly Document[]) {
  const matching = (filter: Filter) => documents.filter((document) => meets(document, filter));
  return {
    search: ({ filter, order, offset, size }: Search) => {
      const all = inOrder(matching(filter), order);
      return { total: all.length, ids: all.slice(offset, offset + size).map(({ id }) => id) };
    },
    searchGroups: ({ filter, groupBy, within, order, offset, size, members }: GroupSearch) => {
      const groups = [...byField(matching(filter), groupBy).values()]
        .map((found) => inOrder(found, within))
        .map((group) => ({ group, id: group[0]!.id, keys: order.map((one) => extreme(group, one)) }));
      return {
        total: groups.length,
        ids: sorted(groups, order)
          .slice(offset, offset + size)
          .map(({ group }) => group.slice(0, members).map(({ id }) => id))
          .filter((group) => group.length > 0),
      };
    },
    count: (filter: Filter) => matching(filter).length,
    /** Document counts by the values of a field. */
    countGroups: (field: string, filter: Filter) =>
      new Map([...byField(matching(filter), field)].map(([value, group]) => [value, group.length])),
    /** Counts and sums by the values of a field. */
    totals: (field: string, sums: readonly string[], filter: Filter) =>
      [...byField(matching(filter), field)]
        .map(([value, group]) => ({
          values: [String(value)],
          count: group.length,
          sums: sums.map((name) => group.reduce((sum, { fields }) => sum + Number(fields[name] ?? 0), 0)),
        }))
        .sort((a, b) => compareTexts(a.values[0] ?? '', b.values[0] ?? '')),
    countValues: ({ filter, facets }: ValuesSearch) =>
      facets.map((facet) => valueCounts(matching(filter), facet)),
    scan: (filter: Filter) => inOrder(matching(filter), []).map(({ id }) => id),
  };
}

const byField = (documents: readonly Document[], field: string) =>
  groupedBy(documents, ({ fields }): unknown => fields[field]);

/** The counts of a facet, by examining every document. */
export function valueCounts(
  documents: readonly Pick<Document, 'fields'>[],
  facet: Facet,
): readonly ValueCount[] {
  if ('bounds' in facet) {
    const counts = Array.from({ length: facet.bounds.length + 1 }, () => 0);
    for (const { fields } of documents) {
      const value = fields[facet.field];
      if (typeof value !== 'number') continue;
      const range = facet.bounds.filter((bound) => value >= bound).length;
      counts[range] = (counts[range] ?? 0) + 1;
    }
    return counts.map((count, value) => ({ value, count }));
  }
  const { size } = facet;
  if ('near' in facet) {
    const { near: value, within } = facet;
    const own = documents.filter(({ fields }) =>
      within.some((name) => valuesOf(fields[name]).includes(value)),
    );
    if (own.length > 0) return [{ value, count: own.length }];
  }
  const names = 'near' in facet ? facet.within : [facet.field];
  const isWanted =
    'near' in facet
      ? (value: string) => isOneLetterOff(value, facet.near)
      : (value: string) => isListed(value) && value.startsWith(facet.prefix ?? '');
  const counts = new Map<string | number, number>();
  for (const { fields } of documents)
    for (const value of new Set(names.flatMap((name) => valuesOf(fields[name]))))
      counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .filter(({ value }) => typeof value === 'number' || isWanted(value))
    .sort((a, b) => b.count - a.count || compareKeys(a.value, b.value, false))
    .slice(0, size);
}

/** Whether one insertion, removal, replacement or swap makes one word of the other. */
export function isOneLetterOff(one: string, other: string): boolean {
  const [a, b] = [Array.from(one), Array.from(other)];
  const without = (letters: readonly string[], at: number) =>
    letters.filter((_, index) => index !== at).join('');
  const places = Array.from({ length: Math.max(a.length, b.length) }, (_, at) => at);
  if (a.length === b.length + 1) return places.some((at) => without(a, at) === other);
  if (b.length === a.length + 1) return places.some((at) => without(b, at) === one);
  if (a.length !== b.length || one === other) return false;
  const wrong = places.filter((at) => a[at] !== b[at]);
  const [first = 0, second = 0] = wrong;
  const isSwap =
    wrong.length === 2 && second === first + 1 && a[first] === b[second] && a[second] === b[first];
  return wrong.length === 1 || isSwap;
}

function isListed(value: string): boolean {
  return value.length <= 200 && !Array.from(value).some((character) => character < ' ');
}

export function groupedBy<Item, By>(items: readonly Item[], by: (item: Item) => By): Map<By, Item[]> {
  const groups = new Map<By, Item[]>();
  for (const item of items) {
    const group = groups.get(by(item));
    if (group === undefined) groups.set(by(item), [item]);
    else group.push(item);
  }
  return groups;
}

export function meets(document: Pick<Document, 'fields'>, filter: Filter): boolean {
  const { fields } = document;
  if ('all' in filter) return filter.all.every((part) => meets(document, part));
  if ('any' in filter) return filter.any.some((part) => meets(document, part));
  if ('words' in filter)
    return filter.words.every((word) =>
      filter.within.some((field) => hasWord(valuesOf(fields[field]), word)),
    );
  const values = valuesOf(fields[filter.field]);
  if ('in' in filter) return values.some((value) => filter.in.includes(value));
  return values.some(
    (value) =>
      typeof value === 'number' && value >= (filter.min ?? -Infinity) && value <= (filter.max ?? Infinity),
  );
}

/** Several tokens of one spelling have to be in the same field. */
function hasWord(tokens: readonly unknown[], word: Word): boolean {
  if (typeof word === 'string') return tokens.includes(word);
  if ('prefixes' in word)
    return word.prefixes.some((prefix) => tokens.some((token) => String(token).startsWith(prefix)));
  return word.some((spelling) => spelling.every((token) => tokens.includes(token)));
}

function valuesOf(value: Document['fields'][string] | undefined): readonly (string | number)[] {
  if (value === undefined) return [];
  return typeof value === 'object' ? value : [value];
}

// Order ---------------------------------------------------------------------------------------------------

type Key = Cursor['keys'][number];

/** A document's value of a sort key; null: without the value it comes last. */
export function keyOf({ fields }: Document, order: Order): Key {
  if ('field' in order) return (fields[order.field] as number | string | undefined) ?? null;
  if ('shuffled' in order) {
    const value = fields[order.shuffled];
    return typeof value === 'number' ? shuffler(order.seed)(value) : null;
  }
  const words = valuesOf(fields[order.within]);
  return distinctWords(order.matches).filter((word) => hasWord(words, word)).length;
}

/** The least or the greatest value of a group. */
export function extreme(group: readonly Document[], order: GroupOrder): Key {
  const keys = group.map((document) => keyOf(document, order)).filter((key) => key !== null);
  return keys.sort((a, b) => compareKeys(a, b, order.by === 'greatest'))[0] ?? null;
}

type Directions = readonly { readonly descending?: boolean }[];

/** By the values of each key, then by id. */
export function compareCursors(a: Cursor, b: Cursor, order: Directions): number {
  for (const [at, key] of a.keys.entries()) {
    const compared = compareKeys(key, b.keys[at] ?? null, order[at]?.descending === true);
    if (compared !== 0) return compared;
  }
  return compareTexts(a.id, b.id);
}

export function sorted<Item extends Cursor>(items: readonly Item[], order: Directions): readonly Item[] {
  return [...items].sort((a, b) => compareCursors(a, b, order));
}

export function inOrder<Item extends Document>(documents: readonly Item[], order: readonly Order[]): Item[] {
  const items = documents.map((one) => ({ one, id: one.id, keys: order.map((by) => keyOf(one, by)) }));
  return sorted(items, order).map(({ one }) => one);
}

function compareKeys(a: Key, b: Key, descending: boolean): number {
  if (a === b) return 0;
  if (a === null) return 1;
  if (b === null) return -1;
  const compared = typeof a === 'string' ? compareTexts(a, String(b)) : a - Number(b);
  return descending ? -compared : compared;
}

/** In the order of UTF-8, which is that of characters. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at < length && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  return at === length ? a.length - b.length : orderOf(a.charCodeAt(at)) - orderOf(b.charCodeAt(at));
}

/** Characters of two code units come last. */
function orderOf(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
