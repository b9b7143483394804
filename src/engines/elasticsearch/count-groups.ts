import { type estypes } from '@elastic/elasticsearch';
import { type Found, type GroupCount, type GroupCounts, GROUPS_CHARACTERS } from '../../kernel/query';
import { type IndexContext } from './connection';
import { foundOf, type Layout, property } from './layout';
import { queryOf } from './query';
import { nextPageSize } from './snapshot';

interface Bucket extends estypes.AggregationsCompositeBucket {
  readonly one: estypes.AggregationsTopHitsAggregate;
}

interface Grouped {
  readonly groups: estypes.AggregationsMultiBucketAggregateBase<Bucket>;
}

type Request = Pick<estypes.SearchRequest, 'query' | 'size' | 'track_total_hits' | 'aggs'>;

/** Searches an index or a snapshot. */
type Ask = (request: Request) => Promise<Pick<estypes.SearchResponse<Found, Grouped>, 'aggregations'>>;

/** A group in the server's answer. `key` is the cursor to continue after it. */
interface Group {
  readonly key: string;
  readonly count: number;
  readonly one: Found;
}

/** One page of groups in ascending order of their values, each with one of its documents. */
export async function countGroups(
  { connection, alias, layout, retryMs }: IndexContext,
  wanted: GroupCount,
): Promise<GroupCounts> {
  const ask: Ask = (request) =>
    connection.ask(
      (client, options) =>
        client.search<Found, Grouped>(
          { index: alias, allow_partial_search_results: false, ...request },
          options,
        ),
      retryMs,
    );
  const groups: GroupCounts['groups'][number][] = [];
  let characters = 0;
  let next = wanted.after;
  // One more than requested, to find out whether there is a next page.
  for await (const page of groupPages(ask, wanted, layout, wanted.size + 1))
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
  ask: Ask,
  { groupBy, filter, after }: Omit<GroupCount, 'size'>,
  layout: Layout,
  most = Infinity,
): AsyncGenerator<readonly Group[]> {
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

function groupOf({ key, doc_count: count, one }: Bucket): readonly Group[] {
  const stored = one.hits.hits[0]?._source as Found | undefined;
  return foundOf(stored).map((found) => ({ key: String(key['value']), count, one: found }));
}
