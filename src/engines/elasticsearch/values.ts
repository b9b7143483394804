import { type estypes } from '@elastic/elasticsearch';
import {
  dateOf,
  type Facet,
  firstDayOf,
  type Totals,
  type TotalsBy,
  type TotalsSearch,
  type ValueCount,
  type ValuesSearch,
} from '../../kernel/query';
import { type IndexContext } from './connection';
import { encode, type IndexLayout, property } from './layout';
import { anyOf, having, queryOf } from './query';
import { compareValues } from './ranks';

/** How many matching documents have each value, per facet. An index has one shard, so the counts are exact. */
export async function countValues(
  context: IndexContext,
  { filter, facets }: ValuesSearch,
): Promise<readonly (readonly ValueCount[])[]> {
  const { alias, layout, ask } = context;
  const query = queryOf(filter, layout);
  const near = await wordsNear(context, facets);
  const counters = facets.map((facet, at): [string, Aggregation] => [
    `facet${at}`,
    'near' in facet
      ? { filters: { filters: (near[at] ?? []).map((word) => havingIn(facet.within, word)) } }
      : aggregationOf(facet, layout),
  ]);
  const request: estypes.SearchRequest = {
    index: alias,
    query,
    size: 0,
    track_total_hits: false,
    allow_partial_search_results: false,
    aggs: Object.fromEntries(counters),
  };
  const { aggregations } = await ask((client, options) =>
    client.search<unknown, AnsweredBuckets>(request, options),
  );
  return facets.map((facet, at) => {
    const buckets = aggregations?.[`facet${at}`]?.buckets ?? [];
    return 'near' in facet ? countsOf(facet, near[at] ?? [], buckets) : valuesOf(facet, buckets);
  });
}

type NearFacet = Extract<Facet, { readonly near: string }>;
type Aggregation = estypes.AggregationsAggregationContainer;

interface ValueBucket {
  readonly key: string | number;
  readonly doc_count: number;
}

type AnsweredBuckets = Readonly<Record<string, { readonly buckets: readonly ValueBucket[] }>>;

// Values and ranges -------------------------------------------------------------------------------------------

function aggregationOf(facet: Exclude<Facet, NearFacet>, layout: IndexLayout): Aggregation {
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
  const { prefix = '', size } = facet;
  return {
    terms: {
      field: property(name),
      size,
      order: [{ _count: 'desc' }, { _key: 'asc' }],
      ...(type === 'number' ? {} : { exclude: UNLISTED }),
      ...(prefix === '' || type === 'number' ? {} : { include: `${escaped(prefix)}.*` }),
    },
  };
}

/** Values with control characters; hashed ones begin with one. A regular expression of the server, for whole values. */
const UNLISTED = '.*[\u0000-\u001f].*';

function valuesOf(facet: Exclude<Facet, NearFacet>, buckets: readonly ValueBucket[]): readonly ValueCount[] {
  if ('bounds' in facet) return buckets.map(({ doc_count: count }, value) => ({ value, count }));
  return buckets.map(({ key, doc_count: count }) => ({ value: key, count }));
}

/** As a regular expression of the server. */
function escaped(text: string): string {
  return text.replace(/[^\p{L}\p{N}]/gu, '\\$&');
}

// Words near others -------------------------------------------------------------------------------------------

/**
 * Per facet that counts words near another: that word, and those near it that are in any document. The server finds
 * them, all in one request, but does not count them.
 */
async function wordsNear(
  { alias, layout, ask }: IndexContext,
  facets: readonly Facet[],
): Promise<readonly (readonly string[])[]> {
  const suggesters = facets.flatMap((facet, at) =>
    'near' in facet
      ? facet.within.map((name) => {
          const term = { field: property(layout.field(name, 'words').name), ...NEAR };
          return [nameOf(at, name), { text: encode(facet.near), term }] as const;
        })
      : [],
  );
  if (suggesters.length === 0) return [];
  const request: estypes.SearchRequest = {
    index: alias,
    size: 0,
    track_total_hits: false,
    allow_partial_search_results: false,
    suggest: Object.fromEntries(suggesters),
  };
  const { suggest = {} } = await ask((client, options) => client.search(request, options));
  return facets.map((facet, at) => {
    if (!('near' in facet)) return [];
    const found = facet.within.flatMap((name) => suggest[nameOf(at, name)] ?? []);
    const texts = found.flatMap(({ options }) => options).map(({ text }) => text);
    return [...new Set([facet.near, ...texts])];
  });
}

/** The name of a suggester. */
function nameOf(facet: number, field: string): string {
  return `${facet}.${field}`;
}

/** All of them, however many documents have them or the word itself. */
const NEAR: Omit<estypes.SearchTermSuggester, 'field'> = {
  suggest_mode: 'always',
  max_edits: 1,
  prefix_length: 0,
  min_word_length: 1,
  max_term_freq: 0.999_999,
  size: 1_000,
  shard_size: 1_000,
};

function havingIn(fields: readonly string[], word: string): estypes.QueryDslQueryContainer {
  return anyOf(fields.map((field) => having(field, word)));
}

function countsOf(
  { size }: NearFacet,
  words: readonly string[],
  buckets: readonly ValueBucket[],
): readonly ValueCount[] {
  const [own, ...others] = words.map((value, at) => ({ value, count: buckets[at]?.doc_count ?? 0 }));
  if (own !== undefined && own.count > 0) return [own];
  return others
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count || compareValues(a.value, b.value))
    .slice(0, size);
}

/** Combinations in one answer of the server. */
const PAGE = 1000;

type Bucket = estypes.AggregationsCompositeBucket &
  Readonly<Record<`sum${number}`, estypes.AggregationsSumAggregate>>;

interface AnsweredTotals {
  readonly totals: estypes.AggregationsMultiBucketAggregateBase<Bucket> & {
    readonly after_key?: Readonly<Record<string, string | number>>;
  };
}

/** Counts and sums per combination of values, in ascending order of the values. */
export async function totals(
  { alias, layout, ask }: IndexContext,
  { filter, by, sums, most = Infinity }: TotalsSearch,
): Promise<readonly Totals[]> {
  const sources = by.map((one, at) => ({ [`by${at}`]: sourceOf(one, layout) }));
  const summed = sums.map(
    (name, at) => [`sum${at}`, { sum: { field: property(layout.field(name, 'number').name) } }] as const,
  );
  const found: Totals[] = [];
  for (let after: Readonly<Record<string, string | number>> | undefined; ;) {
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
    const { aggregations } = await ask((client, options) =>
      client.search<unknown, AnsweredTotals>(request, options),
    );
    const buckets = aggregations?.totals.buckets;
    if (!Array.isArray(buckets)) throw new Error('the answer of an aggregation has no buckets');
    for (const bucket of buckets)
      found.push({
        values: by.map((one, at) => valueOf(one, bucket.key[`by${at}`])),
        count: bucket.doc_count,
        sums: sums.map((_, at) => bucket[`sum${at}`]?.value ?? 0),
      });
    if (buckets.length < PAGE || found.length > most) return found;
    after = aggregations?.totals.after_key;
  }
}

function sourceOf(by: TotalsBy, layout: IndexLayout): estypes.AggregationsCompositeAggregationSource {
  return typeof by === 'string'
    ? { terms: { field: property(layout.field(by, 'column').name) } }
    : {
        date_histogram: {
          field: property(layout.field(by.field, 'number').name),
          calendar_interval: by.every,
        },
      };
}

/** A period has the key of its first instant (epoch ms). */
function valueOf(by: TotalsBy, key: unknown): string {
  return typeof by === 'string' ? String(key) : dateOf(firstDayOf(Number(key), 'day'));
}
