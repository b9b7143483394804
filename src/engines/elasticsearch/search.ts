import { type estypes } from '@elastic/elasticsearch';
import { type Order, type Page, type Results, type Search, type Cursor } from '../../kernel/query';
import { type Connection } from './connection';
import { foundOf, ID, type Kept, type Layout, property } from './layout';
import { queryOf } from './query';
import { compareRanks, PageOf, type Ranked, Ranks } from './ranks';
import { type Matches, Score } from './score';
import { Snapshot } from './snapshot';
import { nameOf } from './tokens';

/** Where a query goes, and how long it may take to get there. */
export interface Place {
  readonly connection: Connection;
  readonly alias: string;
  readonly layout: Layout;
  /** Ms. */
  readonly patience: number;
}

/** One page in order, and the number of all that match. */
export async function search(place: Place, wanted: Search, bodyLimit?: number): Promise<Results> {
  const { order, filter, offset, after } = wanted;
  const { layout, connection, alias, patience } = place;
  if (!isSortable(order)) return await searchAll(place, wanted, bodyLimit);
  const score = new Score(order.filter(isMatches), layout);
  const size = sizeOf(wanted);
  const request: estypes.SearchRequest = {
    index: alias,
    query: score.of(queryOf(filter, layout)),
    sort: sortOf(order, layout),
    from: offset,
    size,
    ...(isLarge(wanted, bodyLimit) ? { _source: ['id'] } : {}),
    ...(after === undefined || after === null ? {} : { search_after: sortValues(after, order, score) }),
    track_total_hits: true,
    allow_partial_search_results: false,
    filter_path: ['hits.total', 'hits.hits._source', ...(after === undefined ? [] : ['hits.hits.sort'])],
  };
  const { hits } = await connection.ask((client, options) => client.search<Kept>(request, options), patience);
  // Without a hit the list is left out of the answer.
  const rows = (hits.hits as typeof hits.hits | undefined) ?? [];
  const kept = rows.slice(0, wanted.size).flatMap(({ _source }) => _source ?? []);
  const shown = isLarge(wanted, bodyLimit)
    ? { found: [], rest: kept.map(({ id }) => id) }
    : { found: kept.flatMap(foundOf) };
  const last = rows[wanted.size - 1]?.sort;
  const hasNext = after !== undefined && rows.length === size && last !== undefined;
  return { total: totalOf(hits), ...shown, ...(hasNext ? { next: standingOf(last, order, score) } : {}) };
}

/** Documents of a page that are read at once, however large they are. */
const FEW = 100;

/** Whether a page may have more than it may bring along: how large documents are is not known before they are read. */
export function isLarge({ size }: { readonly size: number }, bodyLimit: number | undefined): boolean {
  return bodyLimit !== undefined && size > FEW;
}

/** One more than is wanted tells whether there is a next page. */
function sizeOf({ size, after }: Page): number {
  return after === undefined ? size : size + 1;
}

/** What a document without a value is sorted as: beyond all that are safe integers. */
const NO_VALUE = { last: '9223372036854775807', first: '-9223372036854775808' } as const;

/** A standing as the server sorts: counts of words that follow one another are one score. */
function sortValues({ keys, id }: Cursor, order: readonly Order[], score: Score): (string | number)[] {
  const values = order.flatMap((key, at): (string | number)[] => {
    if (!isMatches(key)) return [keys[at] ?? (key.descending === true ? NO_VALUE.first : NO_VALUE.last)];
    if (isMatches(order[at - 1])) return [];
    return [score.scoreOf(order.flatMap((one, n) => (isMatches(one) ? [keys[n] ?? 0] : [])))];
  });
  return [...values, id];
}

/** The other way round. */
function standingOf(sort: readonly unknown[], order: readonly Order[], score: Score): Cursor {
  const values = [...sort];
  const counts: number[] = [];
  const keys = order.map((key, at) => {
    if (isMatches(key)) {
      if (!isMatches(order[at - 1])) counts.push(...score.counts(Number(values.shift())));
      return counts.shift() ?? 0;
    }
    const value = values.shift();
    return typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
  });
  return { keys, id: String(values.shift()) };
}

/** The number of all hits, which was asked for. */
function totalOf({ total }: estypes.SearchHitsMetadata): number {
  return typeof total === 'object' ? total.value : (total ?? 0);
}

/** What the server can sort by: fields, and counts of words that follow one another, so that one score can hold them. */
function isSortable(order: readonly Order[]): order is readonly Sortable[] {
  if (!order.every(isServers)) return false;
  const first = order.findIndex(isMatches);
  const last = order.findLastIndex(isMatches);
  return order.slice(first === -1 ? 0 : first, last + 1).every(isMatches);
}

/** Orders of which the server knows. */
type Sortable = Exclude<Order, { readonly shuffled: string }>;

function isServers(key: Order): key is Sortable {
  return !('shuffled' in key);
}

function isMatches(key: Order | undefined): key is Matches {
  return key !== undefined && 'matches' in key;
}

function sortOf(order: readonly Sortable[], layout: Layout): estypes.SortCombinations[] {
  const keys = order.flatMap((key, at): estypes.SortCombinations[] => {
    if ('field' in key) {
      const name = property(layout.field(key.field, 'number').name);
      return [{ [name]: { order: key.descending === true ? 'desc' : 'asc', missing: '_last' } }];
    }
    return isMatches(order[at - 1]) ? [] : [{ _score: { order: 'desc' } }];
  });
  return [...keys, { [ID]: 'asc' }];
}

/** The same where the server cannot sort: by the keys of everything that matches. */
async function searchAll(
  { connection, alias, layout, patience }: Place,
  wanted: Search,
  bodyLimit: number | undefined,
): Promise<Results> {
  const { filter, order, offset } = wanted;
  const snapshot = await Snapshot.open(connection, alias, patience);
  try {
    const ranks = new Ranks(order, layout);
    const query = queryOf(filter, layout);
    if (wanted.after === undefined && offset > 0) {
      // Beyond the end there is nothing to be sorted.
      const total = await snapshot.count(query);
      if (offset >= total) return { total, found: [] };
    }
    const inOrder = new PageOf<Ranked<undefined>>(wanted, compareRanks(order), (ranked) => ranked);
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
    const found: Ranked<Kept>[] = [];
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
