import { type estypes } from '@elastic/elasticsearch';
import { type Found, type GroupCount, type GroupCounts, GROUPS_CHARACTERS } from '../../kernel/query';
import { foundOf, type Kept, type Layout, property } from './layout';
import { nextPageSize } from './page-size';
import { queryOf } from './query';
import { type Place } from './search';

interface Bucket extends estypes.AggregationsCompositeBucket {
  readonly one: estypes.AggregationsTopHitsAggregate;
}

interface Grouped {
  readonly groups: estypes.AggregationsMultiBucketAggregateBase<Bucket>;
}

type Request = Pick<estypes.SearchRequest, 'query' | 'size' | 'track_total_hits' | 'aggs'>;

/** Searches an index or a snapshot. */
type Ask = (request: Request) => Promise<Pick<estypes.SearchResponse<Kept, Grouped>, 'aggregations'>>;

/** A group as the server knows it: `key` is where to go on after it. */
interface Group {
  readonly key: string;
  readonly count: number;
  readonly one: Found;
}

/** A page of groups, by their values ascending, each with one of its documents. */
export async function countGroups(
  { connection, alias, layout, patience }: Place,
  wanted: GroupCount,
): Promise<GroupCounts> {
  const ask: Ask = (request) =>
    connection.ask(
      (client, options) =>
        client.search<Kept, Grouped>(
          { index: alias, allow_partial_search_results: false, ...request },
          options,
        ),
      patience,
    );
  const groups: GroupCounts['groups'][number][] = [];
  let characters = 0;
  let next = wanted.after;
  // One more tells whether there is a next page.
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

/** Groups by their values ascending, `most` of them, as many at a time as their documents allow. */
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
    const asked = Math.min(size, left);
    const { aggregations } = await ask({
      query: queryOf(filter, layout),
      size: 0,
      track_total_hits: false,
      aggs: {
        groups: {
          composite: {
            size: asked,
            sources: [{ value: { terms: { field } } }],
            ...(last === undefined ? {} : { after: { value: last } }),
          },
          aggs: { one: { top_hits: { size: 1, _source: ['id', 'version', 'body'] } } },
        },
      },
    });
    const buckets = aggregations?.groups.buckets;
    if (!Array.isArray(buckets)) throw new Error('an aggregation has been answered without its buckets');
    const groups = buckets.flatMap(groupOf);
    if (groups.length > 0) yield groups;
    if (buckets.length < asked) return;
    left -= asked;
    last = groups.at(-1)?.key;
    size = nextPageSize(groups.map(({ one }) => one.body));
  }
}

function groupOf({ key, doc_count: count, one }: Bucket): readonly Group[] {
  const kept = one.hits.hits[0]?._source as Kept | undefined;
  return foundOf(kept).map((found) => ({ key: String(key['value']), count, one: found }));
}
