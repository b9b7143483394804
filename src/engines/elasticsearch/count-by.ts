import { type estypes } from '@elastic/elasticsearch';
import { type Filter } from '../../kernel/read-store';
import { having, queryOf, valuesOf } from './query';
import { type Place } from './search';

/** Values counted in one request. */
const AT_ONCE = 5_000;

/** How many of the matching documents have each value: each is looked for among them. */
export async function countBy(
  { connection, alias, layout, patience }: Place,
  name: string,
  values: readonly (string | number)[],
  filter: Filter,
): Promise<ReadonlyMap<string | number, number>> {
  const field = layout.field(name, 'number', 'keyword', 'column');
  const counts = new Map(values.map((value) => [value, 0]));
  const asked = valuesOf(field.type === 'number', values);
  const query = queryOf(filter, layout);
  for (let from = 0; from < asked.length; from += AT_ONCE) {
    const some = asked.slice(from, from + AT_ONCE);
    const filters = some.map((value) => having(field.name, value));
    const answer = await connection.ask(
      (client, options) =>
        client.search<unknown, { counts: estypes.AggregationsFiltersAggregate }>(
          {
            index: alias,
            query,
            size: 0,
            track_total_hits: false,
            allow_partial_search_results: false,
            aggs: { counts: { filters: { filters } } },
          },
          options,
        ),
      patience,
    );
    const buckets = answer.aggregations?.counts.buckets;
    if (!Array.isArray(buckets)) throw new Error('an aggregation has been answered without its buckets');
    for (const [at, value] of some.entries()) counts.set(value, buckets[at]?.doc_count ?? 0);
  }
  return counts;
}
