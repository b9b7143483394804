import { type estypes } from '@elastic/elasticsearch';
import { type Facet, type ValueCount, type ValuesSearch } from '../../kernel/query';
import { type IndexContext } from './connection';
import { type Layout, property } from './layout';
import { queryOf } from './query';

interface Bucket {
  readonly key: string | number;
  readonly doc_count: number;
}

/** How many matching documents have each value, per facet. An index has one shard, so the counts are exact. */
export async function countValues(
  { alias, layout, ask }: IndexContext,
  { filter, facets }: ValuesSearch,
): Promise<readonly (readonly ValueCount[])[]> {
  const query = queryOf(filter, layout);
  const counted: (readonly ValueCount[] | undefined)[] = facets.map(() => undefined);
  for (let more = 1; counted.includes(undefined); more *= MORE) {
    const left = [...facets.entries()].filter(([at]) => counted[at] === undefined);
    const request: estypes.SearchRequest = {
      index: alias,
      query,
      size: 0,
      track_total_hits: false,
      allow_partial_search_results: false,
      aggs: Object.fromEntries(left.map(([at, facet]) => [`facet${at}`, aggregationOf(facet, more, layout)])),
    };
    const { aggregations } = await ask((client, options) =>
      client.search<unknown, Answered>(request, options),
    );
    for (const [at, facet] of left)
      counted[at] = valuesOf(facet, more, aggregations?.[`facet${at}`]?.buckets ?? []);
  }
  return counted.map((values) => values ?? []);
}

interface Bucket {
  readonly key: string | number;
  readonly doc_count: number;
}

type Answered = Readonly<Record<string, { readonly buckets: readonly Bucket[] }>>;

/** Values asked for beyond those wanted, in place of some that are not listed; if they do not do, more are asked for. */
const UNLISTED = 5;
const MORE = 10;

function askedFor({ size }: { readonly size: number }, more: number): number {
  return (size + UNLISTED) * more;
}

function aggregationOf(facet: Facet, more: number, layout: Layout): estypes.AggregationsAggregationContainer {
  if ('bounds' in facet) {
    const { bounds } = facet;
    const froms = bounds.map((from, at) => {
      const to = bounds[at + 1];
      return to === undefined ? { from } : { from, to };
    });
    const ranges = [{ to: bounds[0] ?? 0 }, ...froms];
    return { range: { field: property(layout.field(facet.field, 'number').name), ranges } };
  }
  const { name, type } = layout.facet(facet.field);
  const { prefix = '' } = facet;
  return {
    terms: {
      field: property(name),
      size: askedFor(facet, more),
      order: [{ _count: 'desc' }, { _key: 'asc' }],
      ...(prefix === '' || type === 'number' ? {} : { include: `${escaped(prefix)}.*` }),
    },
  };
}

/** The values of an answer; undefined if too few of them are listed. */
function valuesOf(facet: Facet, more: number, buckets: readonly Bucket[]): readonly ValueCount[] | undefined {
  if ('bounds' in facet) return buckets.map(({ doc_count: count }, value) => ({ value, count }));
  const listed = buckets.filter(({ key }) => typeof key === 'number' || !CONTROL.test(key));
  if (listed.length < facet.size && buckets.length === askedFor(facet, more)) return undefined;
  return listed.slice(0, facet.size).map(({ key, doc_count: count }) => ({ value: key, count }));
}

const CONTROL = /[\u0000-\u001f]/;

/** As a regular expression of the server. */
function escaped(text: string): string {
  return text.replace(/[^\p{L}\p{N}]/gu, '\\$&');
}
