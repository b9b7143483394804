import { type estypes } from '@elastic/elasticsearch';
import {
  type Cursor,
  type Found,
  type Order,
  type Page,
  type Results,
  type Search,
} from '../../kernel/query';
import { type IndexContext } from './connection';
import { foundOf, ID, type IndexLayout, nameOf, property } from './layout';
import { queryOf, Snapshot } from './query';
import {
  compareRanks,
  type MatchOrder,
  PageCollector,
  type RankedHit,
  Ranks,
  Score,
  type SortValue,
} from './ranks';

/** One page in order, and the number of all matching documents. */
export async function search(context: IndexContext, wanted: Search, bodyLimit?: number): Promise<Results> {
  const { order, filter, offset, after } = wanted;
  const { layout, alias, ask } = context;
  if (!isSortable(order)) return await searchAll(context, wanted, bodyLimit);
  const score = new Score(order.filter(isMatches), layout);
  const size = sizeOf(wanted);
  const request: estypes.SearchRequest = {
    index: alias,
    query: score.of(queryOf(filter, layout)),
    sort: sortOf(order, layout),
    from: offset,
    size,
    ...(isLarge(wanted, bodyLimit) ? { _source: ['id'] } : {}),
    ...(after === undefined || after === null
      ? {}
      : { search_after: sortValues(after, order, { layout, score }) }),
    track_total_hits: true,
    allow_partial_search_results: false,
    filter_path: ['hits.total', 'hits.hits._source', ...(after === undefined ? [] : ['hits.hits.sort'])],
  };
  const { hits } = await ask((client, options) => client.search<Found>(request, options));
  // The server omits an empty list.
  const rows = (hits.hits as typeof hits.hits | undefined) ?? [];
  const stored = rows.slice(0, wanted.size).flatMap(({ _source }) => _source ?? []);
  const documents = isLarge(wanted, bodyLimit)
    ? { found: [], rest: stored.map(({ id }) => id) }
    : { found: stored.flatMap(foundOf) };
  const last = rows[wanted.size - 1]?.sort;
  const hasNext = after !== undefined && rows.length === size && last !== undefined;
  return { total: totalOf(hits), ...documents, ...(hasNext ? { next: cursorOf(last, order, score) } : {}) };
}

/** A body limit does not apply to pages up to this size. */
const SMALL_PAGE = 100;

/** Whether a page might exceed the body limit. The size of documents is not known before they are read. */
export function isLarge({ size }: { readonly size: number }, bodyLimit: number | undefined): boolean {
  return bodyLimit !== undefined && size > SMALL_PAGE;
}

/** With a cursor one more than requested, to find out whether there is a next page. */
function sizeOf({ size, after }: Page): number {
  return after === undefined ? size : size + 1;
}

/** Sort values of documents without the number: beyond all safe integers. */
const NO_VALUE = { last: '9223372036854775807', first: '-9223372036854775808' } as const;

/** What the server sorts documents without the value by, so that they come last. */
export function missingValue(key: Sortable, isDescending: boolean, layout: IndexLayout): string | null {
  if (!('field' in key) || layout.field(key.field, 'number', 'text').type === 'text') return null;
  return isDescending ? NO_VALUE.first : NO_VALUE.last;
}

/** A sort value of the server. */
export function sortValueOf(value: unknown): SortValue {
  return typeof value === 'string' || isSafe(value) ? value : undefined;
}

/** A cursor as sort values of the server, where adjacent counts of words are one score. */
function sortValues(
  { keys, id }: Cursor,
  order: readonly Sortable[],
  { layout, score }: { readonly layout: IndexLayout; readonly score: Score },
): (string | number | null)[] {
  const values = order.flatMap((key, at): (string | number | null)[] => {
    if (!isMatches(key)) {
      return [keys[at] ?? missingValue(key, key.descending ?? false, layout)];
    }
    if (isMatches(order[at - 1])) return [];
    return [score.scoreOf(order.flatMap((one, n) => (isMatches(one) ? [Number(keys[n])] : [])))];
  });
  return [...values, id];
}

/** The inverse of `sortValues`. */
function cursorOf(sort: readonly unknown[], order: readonly Order[], score: Score): Cursor {
  const values = [...sort];
  const counts: number[] = [];
  const keys = order.map((key, at) => {
    if (isMatches(key)) {
      if (!isMatches(order[at - 1])) counts.push(...score.counts(Number(values.shift())));
      return counts.shift() ?? 0;
    }
    return sortValueOf(values.shift()) ?? null;
  });
  return { keys, id: String(values.shift()) };
}

function isSafe(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function totalOf({ total }: estypes.SearchHitsMetadata): number {
  return typeof total === 'object' ? total.value : (total ?? 0);
}

/** Whether the server can sort so: by fields, and by adjacent counts of words, which one score holds. */
export function isSortable(order: readonly Order[]): order is readonly Sortable[] {
  if (!order.every(isSortableKey)) return false;
  const first = order.findIndex(isMatches);
  const last = order.findLastIndex(isMatches);
  return order.slice(first === -1 ? 0 : first, last + 1).every(isMatches);
}

/** Sort keys that the server supports. */
export type Sortable = Exclude<Order, { readonly shuffled: string }>;

export function isSortableKey<Key extends Order>(key: Key): key is Key & Sortable {
  return !('shuffled' in key);
}

export function isMatches<Key extends Order>(key: Key | undefined): key is Key & MatchOrder {
  return key !== undefined && 'matches' in key;
}

export function sortOf(order: readonly Sortable[], layout: IndexLayout): estypes.SortCombinations[] {
  const keys = order.flatMap((key, at) =>
    isMatches(key) && isMatches(order[at - 1]) ? [] : [sortKey(key, key.descending ?? false, layout)],
  );
  return [...keys, { [ID]: 'asc' }];
}

export function sortKey(key: Sortable, isDescending: boolean, layout: IndexLayout): estypes.SortCombinations {
  const order = isDescending ? 'desc' : 'asc';
  if (!('field' in key)) return { _score: { order } };
  return { [property(layout.field(key.field, 'number', 'text').name)]: { order, missing: '_last' } };
}

/** Searches in an order that the server does not support, by reading the sort keys of all matching documents. */
async function searchAll(
  context: IndexContext,
  wanted: Search,
  bodyLimit: number | undefined,
): Promise<Results> {
  const { filter, order, offset } = wanted;
  const { layout } = context;
  const snapshot = await Snapshot.open(context);
  try {
    const ranks = new Ranks(order, layout);
    const query = queryOf(filter, layout);
    if (wanted.after === undefined && offset > 0) {
      // A page beyond the end needs no sorting.
      const total = await snapshot.count(query);
      if (offset >= total) return { total, found: [] };
    }
    const inOrder = new PageCollector<RankedHit<undefined>>(wanted, compareRanks(order), (ranked) => ranked);
    let total = 0;
    for await (const ranked of ranks.keys(snapshot, query)) {
      inOrder.add(ranked);
      total += 1;
    }
    const { page, next } = inOrder.end();
    const after = next === undefined ? {} : { next };
    if (isLarge(wanted, bodyLimit))
      return { total, found: [], rest: page.map(({ id }) => id.toString()), ...after };
    const asked = queryOf({ all: [] }, layout);
    asked.bool.filter.push({ ids: { values: page.map(({ id }) => nameOf(id.toString())) } });
    const found: RankedHit<Found>[] = [];
    for await (const ranked of ranks.whole(snapshot, asked)) found.push(ranked);
    return {
      total,
      found: found.sort(compareRanks(order)).flatMap(({ source }) => foundOf(source)),
      ...after,
    };
  } finally {
    await snapshot.close();
  }
}
