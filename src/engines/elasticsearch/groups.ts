import { type estypes } from '@elastic/elasticsearch';
import {
  type Found,
  type GroupCount,
  type GroupCounts,
  type GroupOrder,
  type GroupResults,
  GROUPS_CHARACTERS,
  type GroupSearch,
} from '../../kernel/query';
import { type IndexContext } from './connection';
import { foundOf, type Layout, property } from './layout';
import { queryOf } from './query';
import {
  compareRanks,
  compareValues,
  PageCollector,
  type Rank,
  type Ranked,
  Ranks,
  type SortValue,
} from './ranks';
import { isLarge } from './search';
import { nextPageSize, Snapshot } from './snapshot';

/** A group, with what it is ordered by. */
interface Group {
  readonly name: string;
  readonly best: SortValue[];
  first: Rank;
  size: number;
}

/**
 * One page of groups in order, each with its first members, and the number of all groups.
 *
 * The server can neither count groups exactly nor order them by the best value of several keys. So we read the sort
 * keys of all matching documents, then the documents of the groups on the page, from the same snapshot.
 */
export async function searchGroups(
  context: IndexContext,
  wanted: GroupSearch,
  bodyLimit?: number,
): Promise<GroupResults> {
  const { layout } = context;
  const { filter, groupBy, within, order, members } = wanted;
  const group = layout.field(groupBy, 'column').name;
  const query = queryOf(filter, layout);
  const all = new Ranks([...within, ...order], layout, group);
  const inGroup = compareRanks(within);
  const snapshot = await Snapshot.open(context);
  try {
    const groups = new Map<string, Group>();
    for await (const ranked of all.keys(snapshot, query)) {
      const keys = ranked.keys.slice(within.length);
      const current = groups.get(ranked.group);
      if (current === undefined) {
        groups.set(ranked.group, { name: ranked.group, best: keys, first: ranked, size: 1 });
        continue;
      }
      current.size += 1;
      for (const [at, key] of order.entries()) current.best[at] = better(key, current.best[at], keys[at]);
      if (inGroup(ranked, current.first) < 0) current.first = ranked;
    }
    const rankOf = ({ best, first }: Group): Rank => ({ keys: best, id: first.id });
    const inOrder = new PageCollector(wanted, compareRanks(order), rankOf);
    for (const one of groups.values()) inOrder.add(one);
    const { page, next } = inOrder.end();
    const paged = { total: groups.size, ...(next === undefined ? {} : { next }) };
    if (page.length === 0) return { ...paged, groups: [] };
    query.bool.filter.push({ terms: { [property(group)]: page.map(({ name }) => name) } });
    const ranks = new Ranks(within, layout, group);
    const membersOf = async <Source>(all: AsyncIterable<Ranked<Source>>): Promise<Ranked<Source>[][]> => {
      const found = new Map<string, Ranked<Source>[]>(page.map(({ name }) => [name, []]));
      for await (const ranked of all) found.get(ranked.group)?.push(ranked);
      return [...found.values()].map((list) => list.sort(inGroup).slice(0, members));
    };
    const size = page.reduce((sum, one) => sum + Math.min(one.size, members), 0);
    if (isLarge({ size }, bodyLimit)) {
      const rest = await membersOf(ranks.keys(snapshot, query));
      return { ...paged, groups: [], rest: rest.map((list) => list.map(({ id }) => id.toString())) };
    }
    const whole = await membersOf(ranks.whole(snapshot, query));
    return { ...paged, groups: whole.map((list) => list.flatMap(({ source }) => foundOf(source))) };
  } finally {
    await snapshot.close();
  }
}

/** The least or the greatest of two values; an absent value never wins. */
function better({ by }: GroupOrder, a: SortValue, b: SortValue): SortValue {
  if (a === undefined || b === undefined) return a ?? b;
  return compareValues(a, b) <= 0 === (by === 'least') ? a : b;
}

interface CountedBucket extends estypes.AggregationsCompositeBucket {
  readonly one: estypes.AggregationsTopHitsAggregate;
}

interface Grouped {
  readonly groups: estypes.AggregationsMultiBucketAggregateBase<CountedBucket>;
}

type GroupsRequest = Pick<estypes.SearchRequest, 'query' | 'size' | 'track_total_hits' | 'aggs'>;

/** Searches an index or a snapshot. */
type AskGroups = (
  request: GroupsRequest,
) => Promise<Pick<estypes.SearchResponse<Found, Grouped>, 'aggregations'>>;

/** A group in the server's answer. `key` is the cursor to continue after it. */
interface CountedGroup {
  readonly key: string;
  readonly count: number;
  readonly one: Found;
}

/** One page of groups in ascending order of their values, each with one of its documents. */
export async function countGroups(
  { alias, layout, ask }: IndexContext,
  wanted: GroupCount,
): Promise<GroupCounts> {
  const askGroups: AskGroups = (request) =>
    ask((client, options) =>
      client.search<Found, Grouped>(
        { index: alias, allow_partial_search_results: false, ...request },
        options,
      ),
    );
  const groups: GroupCounts['groups'][number][] = [];
  let characters = 0;
  let next = wanted.after;
  // One more than requested, to find out whether there is a next page.
  for await (const page of groupPages(askGroups, wanted, layout, wanted.size + 1))
    for (const { key, count, one } of page) {
      if (groups.length === wanted.size || characters > GROUPS_CHARACTERS)
        return { groups, ...(next === undefined ? {} : { next }) };
      groups.push({ count, one });
      characters += one.body.length;
      next = key;
    }
  return { groups };
}

/** Groups in ascending order of their values, at most `most`, in pages sized by their documents. */
export async function* groupPages(
  ask: AskGroups,
  { groupBy, filter, after }: Omit<GroupCount, 'size'>,
  layout: Layout,
  most = Infinity,
): AsyncGenerator<readonly CountedGroup[]> {
  const field = property(layout.field(groupBy, 'column').name);
  let left = most;
  let last = after;
  for (let size = nextPageSize([]); left > 0;) {
    const requested = Math.min(size, left);
    const { aggregations } = await ask({
      query: queryOf(filter, layout),
      size: 0,
      track_total_hits: false,
      aggs: {
        groups: {
          composite: {
            size: requested,
            sources: [{ value: { terms: { field } } }],
            ...(last === undefined ? {} : { after: { value: last } }),
          },
          aggs: { one: { top_hits: { size: 1, _source: ['id', 'version', 'body'] } } },
        },
      },
    });
    const buckets = aggregations?.groups.buckets;
    if (!Array.isArray(buckets)) throw new Error('the answer of an aggregation has no buckets');
    const groups = buckets.flatMap(groupOf);
    if (groups.length > 0) yield groups;
    if (buckets.length < requested) return;
    left -= requested;
    last = groups.at(-1)?.key;
    size = nextPageSize(groups.map(({ one }) => one.body));
  }
}

function groupOf({ key, doc_count: count, one }: CountedBucket): readonly CountedGroup[] {
  const stored = one.hits.hits[0]?._source as Found | undefined;
  return foundOf(stored).map((found) => ({ key: String(key['value']), count, one: found }));
}
