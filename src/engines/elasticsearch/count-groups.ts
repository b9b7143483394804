import { type estypes } from '@elastic/elasticsearch';
import { type GroupCount, type GroupCounts } from '../../kernel/read-store';
import { type Kept, property } from './layout';
import { queryOf } from './query';
import { foundOf } from './scan';
import { type Place } from './search';

interface Bucket extends estypes.AggregationsCompositeBucket {
  readonly one: estypes.AggregationsTopHitsAggregate;
}

/** A page of groups, by their values ascending, each with one of its documents. */
export async function countGroups(
  { connection, alias, layout, patience }: Place,
  { groupBy, filter, after, size }: GroupCount,
): Promise<GroupCounts> {
  const field = property(layout.field(groupBy, 'column').name);
  const answer = await connection.ask(
    (client, options) =>
      client.search<unknown, { groups: estypes.AggregationsMultiBucketAggregateBase<Bucket> & Paged }>(
        {
          index: alias,
          query: queryOf(filter, layout),
          size: 0,
          track_total_hits: false,
          allow_partial_search_results: false,
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
        },
        options,
      ),
    patience,
  );
  const found = answer.aggregations?.groups;
  if (!Array.isArray(found?.buckets)) throw new Error('an aggregation has been answered without its buckets');
  const groups = found.buckets.flatMap(({ doc_count, one }) =>
    foundOf(one.hits.hits[0]?._source as Kept | undefined).map((kept) => ({ count: doc_count, one: kept })),
  );
  const next: unknown = found.after_key?.['value'];
  return { groups, ...(found.buckets.length < size ? {} : { next: String(next) }) };
}

interface Paged {
  readonly after_key?: estypes.AggregationsCompositeAggregateKey;
}
