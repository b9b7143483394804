import { type estypes } from '@elastic/elasticsearch';
import { type Facet, type ValueCount, type ValuesSearch } from '../../kernel/query';
import { type IndexContext } from './connection';
import { encode, type Layout, property } from './layout';
import { anyOf, having, queryOf } from './query';
import { compareValues } from './ranks';

/** How many matching documents have each value, per facet. An index has one shard, so the counts are exact. */
export async function countValues(
  context: IndexContext,
  { filter, facets }: ValuesSearch,
): Promise<readonly (readonly ValueCount[])[]> {
  const { alias, layout, ask } = context;
  const query = queryOf(filter, layout);
  const near = await Promise.all(
    facets.map(async (facet) => ('near' in facet ? wordsNear(context, facet) : [])),
  );
  const counted = facets.map((): readonly ValueCount[] | undefined => undefined);
  for (let more = 1; counted.includes(undefined); more *= MORE) {
    const left = [...facets.entries()].filter(([at]) => counted[at] === undefined);
    const counters = left.map(([at, facet]): [string, Aggregation] => [
      `facet${at}`,
      'near' in facet
        ? { filters: { filters: (near[at] ?? []).map((word) => havingIn(facet.within, word)) } }
        : aggregationOf(facet, more, layout),
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
      client.search<unknown, Answered>(request, options),
    );
    for (const [at, facet] of left) {
      const buckets = aggregations?.[`facet${at}`]?.buckets ?? [];
      counted[at] =
        'near' in facet ? countsOf(facet, near[at] ?? [], buckets) : valuesOf(facet, more, buckets);
    }
  }
  return counted.map((values) => values ?? []);
}

type Near = Extract<Facet, { readonly near: string }>;
type Aggregation = estypes.AggregationsAggregationContainer;

interface Bucket {
  readonly key: string | number;
  readonly doc_count: number;
}

type Answered = Readonly<Record<string, { readonly buckets: readonly Bucket[] }>>;

// Values and ranges -------------------------------------------------------------------------------------------

/** Values asked for beyond those wanted, in place of some that are not listed; if they do not do, more are asked for. */
const UNLISTED = 5;
const MORE = 10;

function askedFor({ size }: { readonly size: number }, more: number): number {
  return (size + UNLISTED) * more;
}

function aggregationOf(facet: Exclude<Facet, Near>, more: number, layout: Layout): Aggregation {
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
function valuesOf(
  facet: Exclude<Facet, Near>,
  more: number,
  buckets: readonly Bucket[],
): readonly ValueCount[] | undefined {
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

// Words near others -------------------------------------------------------------------------------------------

/** A word, and those near it that are in any document: the server finds them, but does not count them. */
async function wordsNear(
  { alias, layout, ask }: IndexContext,
  { near, within }: Near,
): Promise<readonly string[]> {
  const suggesters = within.map((name) => {
    const term = { field: property(layout.field(name, 'words').name), ...NEAR };
    return [name, { text: encode(near), term }] as const;
  });
  const request: estypes.SearchRequest = {
    index: alias,
    size: 0,
    track_total_hits: false,
    allow_partial_search_results: false,
    suggest: Object.fromEntries(suggesters),
  };
  const { suggest = {} } = await ask((client, options) => client.search(request, options));
  const options = Object.values(suggest).flatMap((of) => of.flatMap((one) => one.options));
  return [...new Set([near, ...options.map(({ text }) => text)])];
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
  { size }: Near,
  words: readonly string[],
  buckets: readonly Bucket[],
): readonly ValueCount[] {
  const [own, ...others] = words.map((value, at) => ({ value, count: buckets[at]?.doc_count ?? 0 }));
  if (own !== undefined && own.count > 0) return [own];
  return others
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count || compareValues(a.value, b.value))
    .slice(0, size);
}
