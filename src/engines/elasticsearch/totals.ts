import { type estypes } from '@elastic/elasticsearch';
import { type Totals, type TotalsSearch } from '../../kernel/query';
import { type IndexContext } from './connection';
import { property } from './layout';
import { queryOf } from './query';

/** Combinations in one answer of the server. */
const PAGE = 1000;

type Bucket = estypes.AggregationsCompositeBucket &
  Readonly<Record<`sum${number}`, estypes.AggregationsSumAggregate>>;

interface Answered {
  readonly totals: estypes.AggregationsMultiBucketAggregateBase<Bucket> & {
    readonly after_key?: Readonly<Record<string, string>>;
  };
}

/** Counts and sums per combination of values, in ascending order of the values. */
export async function totals(
  { connection, alias, layout, retryMs }: IndexContext,
  { filter, by, sums }: TotalsSearch,
): Promise<readonly Totals[]> {
  const sources = by.map((name, at) => ({
    [`by${at}`]: { terms: { field: property(layout.field(name, 'column').name) } },
  }));
  const summed = sums.map(
    (name, at) => [`sum${at}`, { sum: { field: property(layout.field(name, 'number').name) } }] as const,
  );
  const found: Totals[] = [];
  for (let after: Readonly<Record<string, string>> | undefined; ;) {
    const request: estypes.SearchRequest = {
      index: alias,
      query: queryOf(filter, layout),
      size: 0,
      track_total_hits: false,
      allow_partial_search_results: false,
      aggs: {
        totals: {
          composite: { size: PAGE, sources, ...(after === undefined ? {} : { after }) },
          aggs: Object.fromEntries(summed),
        },
      },
    };
    const { aggregations } = await connection.ask(
      (client, options) => client.search<unknown, Answered>(request, options),
      retryMs,
    );
    const buckets = aggregations?.totals.buckets;
    if (!Array.isArray(buckets)) throw new Error('the answer of an aggregation has no buckets');
    for (const bucket of buckets)
      found.push({
        values: by.map((_, at) => String(bucket.key[`by${at}`])),
        count: bucket.doc_count,
        sums: sums.map((_, at) => bucket[`sum${at}`]?.value ?? 0),
      });
    if (buckets.length < PAGE) return found;
    after = aggregations?.totals.after_key;
  }
}
