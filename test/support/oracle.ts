import {
  type Facet,
  type Filter,
  type GroupOrder,
  type GroupSearch,
  type Order,
  type Search,
  type ValueCount,
  type ValuesSearch,
} from '../../src/kernel/query';
import { type Document } from '../../src/kernel/read-store';
import { shuffler } from '../../src/kernel/shuffle';

/** The expected answers of a read store, by examining every document: slow and obviously correct. */
export function oracleOf(documents: readonly Document[]) {
  const matching = (filter: Filter) => documents.filter((document) => meets(document, filter));
  return {
    search: ({ filter, order, offset, size }: Search) => {
      const all = inOrder(matching(filter), order);
      return { total: all.length, ids: all.slice(offset, offset + size).map(({ id }) => id) };
    },
    searchGroups: ({ filter, groupBy, within, order, offset, size, members }: GroupSearch) => {
      const groups = groupsInOrder(
        [...groupedBy(matching(filter), groupBy).values()].map((group) => inOrder(group, within)),
        order,
      );
      return {
        total: groups.length,
        ids: groups
          .slice(offset, offset + size)
          .map((group) => group.slice(0, members).map(({ id }) => id))
          .filter((group) => group.length > 0),
      };
    },
    count: (filter: Filter) => matching(filter).length,
    /** Document counts by the values of a field. */
    countGroups: (field: string, filter: Filter) =>
      new Map([...groupedBy(matching(filter), field)].map(([value, group]) => [value, group.length])),
    /** Counts and sums by the values of a field. */
    totals: (field: string, sums: readonly string[], filter: Filter) =>
      [...groupedBy(matching(filter), field)]
        .map(([value, group]) => ({
          values: [String(value)],
          count: group.length,
          sums: sums.map((name) => group.reduce((sum, { fields }) => sum + Number(fields[name] ?? 0), 0)),
        }))
        .sort((a, b) => Buffer.compare(Buffer.from(a.values[0] ?? ''), Buffer.from(b.values[0] ?? ''))),
    countValues: ({ filter, facets }: ValuesSearch) =>
      facets.map((facet) => valueCounts(matching(filter), facet)),
    scan: (filter: Filter) => inOrder(matching(filter), []).map(({ id }) => id),
  };
}

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
  const { field, size, prefix = '' } = facet;
  const counts = new Map<string | number, number>();
  for (const { fields } of documents)
    for (const value of new Set(valuesOf(fields[field]))) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .filter(({ value }) => typeof value === 'number' || (isListed(value) && value.startsWith(prefix)))
    .sort((a, b) => b.count - a.count || compareKeys(a.value, b.value, false))
    .slice(0, size);
}

function isListed(value: string): boolean {
  return value.length <= 200 && !Array.from(value).some((character) => character < ' ');
}

function groupedBy(documents: readonly Document[], field: string): Map<unknown, Document[]> {
  const groups = new Map<unknown, Document[]>();
  for (const document of documents) {
    const value = document.fields[field];
    groups.set(value, [...(groups.get(value) ?? []), document]);
  }
  return groups;
}

function meets(document: Document, filter: Filter): boolean {
  const { fields } = document;
  if ('all' in filter) return filter.all.every((part) => meets(document, part));
  if ('any' in filter) return filter.any.some((part) => meets(document, part));
  if ('words' in filter)
    return filter.words.every((word) =>
      filter.within.some((field) => valuesOf(fields[field]).includes(word)),
    );
  const values = valuesOf(fields[filter.field]);
  if ('in' in filter) return values.some((value) => filter.in.includes(value));
  return values.some(
    (value) =>
      typeof value === 'number' && value >= (filter.min ?? -Infinity) && value <= (filter.max ?? Infinity),
  );
}

function valuesOf(value: Document['fields'][string] | undefined): readonly (string | number)[] {
  if (value === undefined) return [];
  return typeof value === 'object' ? value : [value];
}

type SortValue = number | string | undefined;

/** A document's value of a sort key; undefined if it has none. */
function keyOf(document: Document, order: Order): SortValue {
  if ('field' in order) return document.fields[order.field] as SortValue;
  if ('shuffled' in order) {
    const value = document.fields[order.shuffled];
    return typeof value === 'number' ? shuffler(order.seed)(value) : undefined;
  }
  const words = valuesOf(document.fields[order.within]);
  return new Set(order.matches.filter((word) => words.includes(word))).size;
}

function inOrder(documents: readonly Document[], order: readonly Order[]): Document[] {
  return sorted(documents, order, keyOf, ({ id }) => id);
}

function groupsInOrder(
  groups: readonly (readonly Document[])[],
  order: readonly GroupOrder[],
): (readonly Document[])[] {
  return sorted(
    groups,
    order,
    (group, key) => {
      const keys = group.map((member) => keyOf(member, key)).filter((value) => value !== undefined);
      if (keys.length === 0) return undefined;
      return keys.sort((a, b) => compareKeys(a, b, key.by === 'greatest'))[0];
    },
    (group) => group[0]!.id,
  );
}

/** Sorts by the values of each key, computed once, then by id. */
function sorted<Item, Key extends Order | GroupOrder>(
  items: readonly Item[],
  order: readonly Key[],
  valueOf: (item: Item, key: Key) => SortValue,
  idOf: (item: Item) => string,
): Item[] {
  return items
    .map((item) => ({ item, id: idOf(item), values: order.map((key) => valueOf(item, key)) }))
    .sort((a, b) => {
      for (const [at, { descending }] of order.entries()) {
        const compared = compareKeys(a.values[at], b.values[at], descending === true);
        if (compared !== 0) return compared;
      }
      return a.id < b.id ? -1 : 1;
    })
    .map(({ item }) => item);
}

function compareKeys(a: SortValue, b: SortValue, descending: boolean): number {
  if (a === b) return 0;
  if (a === undefined) return 1;
  if (b === undefined) return -1;
  const compared =
    typeof a === 'string' ? Buffer.compare(Buffer.from(a), Buffer.from(String(b))) : a - Number(b);
  return descending ? -compared : compared;
}
