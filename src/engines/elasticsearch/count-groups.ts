import { type estypes } from '@elastic/elasticsearch';
import { type GroupCount, type GroupCounts } from '../../kernel/read-store';
import { foundOf, type Kept, type Layout, property } from './layout';
import { queryOf } from './query';
import { type Place } from './search';

interface Bucket extends estypes.AggregationsCompositeBucket {
  readonly one: estypes.AggregationsTopHitsAggregate;
}

/** What `groupsRequest` is answered with. */
export interface Grouped {
  readonly groups: estypes.AggregationsMultiBucketAggregateBase<Bucket> & {
    readonly after_key?: estypes.AggregationsCompositeAggregateKey;
  };
}

/** A page of groups, by their values ascending, each with one of its documents. */
export async function countGroups(
  { connection, alias, layout, patience }: Place,
  wanted: GroupCount,
): Promise<GroupCounts> {
  const request = { index: alias, allow_partial_search_results: false, ...groupsRequest(wanted, layout) };
  const answer = await connection.ask(
    (client, options) => client.search<Kept, Grouped>(request, options),
    patience,
  );
  return groupsOf(answer, wanted);
}

/** Asks for a page of groups; of what index or snapshot is for others to say. */
export function groupsRequest(
  { groupBy, filter, after, size }: GroupCount,
  layout: Layout,
): Pick<estypes.SearchRequest, 'query' | 'size' | 'track_total_hits' | 'aggs'> {
  const field = property(layout.field(groupBy, 'column').name);
  return {
    query: queryOf(filter, layout),
    size: 0,
    track_total_hits: false,
    aggs: {
      groups: {
        composite: {
          size,
          sources: [{ value: { terms: { field } } }],
          ...(after === undefined ? {} : { after: { value: after } }),
        },
        aggs: { one: { top_hits: { size: 1, _source: ['id', 'version', 'body'] } } },
      },
    },
  };
}

/** Reads the answer. */
export function groupsOf(
  { aggregations }: Pick<estypes.SearchResponse<Kept, Grouped>, 'aggregations'>,
  { size }: Pick<GroupCount, 'size'>,
): GroupCounts {
  const found = aggregations?.groups;
  if (!Array.isArray(found?.buckets)) throw new Error('an aggregation has been answered without its buckets');
  const groups = found.buckets.flatMap(({ doc_count, one }) =>
    foundOf(one.hits.hits[0]?._source as Kept | undefined).map((kept) => ({ count: doc_count, one: kept })),
  );
  const next: unknown = found.after_key?.['value'];
  return { groups, ...(found.buckets.length < size ? {} : { next: String(next) }) };
}
