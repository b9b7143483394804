import { type estypes } from '@elastic/elasticsearch';
import { type Found, type Order, type Search } from '../../kernel/read-store';
import { type Connection } from './connection';
import { ID, type Kept, type Layout, property } from './layout';
import { queryOf } from './query';
import { compareRanks, type Ranked, Ranks } from './ranks';
import { foundOf } from './scan';
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
export async function search(
  place: Place,
  wanted: Search,
): Promise<{ total: number; found: readonly Found[] }> {
  const { order, filter, offset, size } = wanted;
  const { layout, connection, alias, patience } = place;
  if (!isSortable(order)) return await searchAll(place, wanted);
  const score = new Score(order.filter(isMatches), layout);
  const request: estypes.SearchRequest = {
    index: alias,
    query: score.of(queryOf(filter, layout)),
    sort: sortOf(order, layout),
    from: offset,
    size,
    track_total_hits: true,
    allow_partial_search_results: false,
    filter_path: ['hits.total', 'hits.hits._source'],
  };
  const { hits } = await connection.ask((client, options) => client.search<Kept>(request, options), patience);
  // Without a hit the list is left out of the answer.
  const found = (hits.hits as typeof hits.hits | undefined) ?? [];
  return { total: totalOf(hits), found: found.flatMap(({ _source }) => foundOf(_source)) };
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

function isMatches(key: Order): key is Matches {
  return 'matches' in key;
}

function sortOf(order: readonly Sortable[], layout: Layout): estypes.SortCombinations[] {
  const keys = order.flatMap((key, at): estypes.SortCombinations[] => {
    if ('field' in key) {
      const name = property(layout.field(key.field, 'number').name);
      return [{ [name]: { order: key.descending === true ? 'desc' : 'asc', missing: '_last' } }];
    }
    const previous = order[at - 1];
    return previous !== undefined && isMatches(previous) ? [] : [{ _score: { order: 'desc' } }];
  });
  return [...keys, { [ID]: 'asc' }];
}

/** The same where the server cannot sort: by the keys of everything that matches. */
async function searchAll(
  { connection, alias, layout, patience }: Place,
  { filter, order, offset, size }: Search,
): Promise<{ total: number; found: readonly Found[] }> {
  const snapshot = await Snapshot.open(connection, alias, patience);
  try {
    const ranks = new Ranks(order, layout);
    const query = queryOf(filter, layout);
    const all: Ranked<undefined>[] = [];
    for await (const ranked of ranks.keys(snapshot, query)) all.push(ranked);
    const page = all.sort(compareRanks(order)).slice(offset, offset + size);
    const wanted = queryOf({ all: [] }, layout);
    wanted.bool.filter.push({ ids: { values: page.map(({ id }) => nameOf(id.toString())) } });
    const found: Ranked<Kept>[] = [];
    for await (const ranked of ranks.whole(snapshot, wanted)) found.push(ranked);
    return {
      total: all.length,
      found: found.sort(compareRanks(order)).flatMap(({ source }) => foundOf(source)),
    };
  } finally {
    await snapshot.close();
  }
}
