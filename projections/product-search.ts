import {
  allOf,
  type Cursor,
  distinctWords,
  type Facet,
  type Filter,
  filtersOn,
  type GroupOrder,
  type GroupSearch,
  type Order,
  type Page,
  type QueryOptions,
  type ValueCount,
  type Word,
} from '../src/kernel/query';
import { type PageInParts, searchGroupsInParts, searchInParts } from '../src/projector/search-in-parts';
import { without } from '../src/kernel/values';
import { type ReadStore } from '../src/kernel/read-store';
import { mapInSlices } from '../src/runtime/concurrency';
import { IDENTIFIERS } from '../src/domain/products/product-fields';
import { type Offer } from '../src/domain/products/offer';
import { foldCase, queryWordsOf, type SearchWord } from '../src/wire/words';
import { FOLDED_KEYS, type ProductField, products, toOffer } from './products';

/** Most products of one search (Document 1, Limits; `docs/decisions.md#p3`). */
export const SEARCH_CAP = 1000;

/** Most offers of one group, and of one answer (`docs/decisions.md#x7`). */
const OFFERS = { group: 1000, answer: 10_000 } as const;

const EXACT_KEYS = [...IDENTIFIERS, 'spId'] as const;

/** Search keys that compare whole values: several values of one are alternatives (`docs/decisions.md#p5`). */
type MatchKey = (typeof FOLDED_KEYS)[number] | (typeof EXACT_KEYS)[number];

/** A search: checked keys, limited to what the caller may see; all bounds are inclusive. */
export interface ProductCriteria extends Readonly<Partial<Record<MatchKey, readonly string[]>>> {
  /** The feeds to search, already limited to those of the caller and to the requested currency and language. */
  readonly feedIds: readonly number[];
  /** Publishers: only products that are mapped (`docs/decisions.md#p13`). */
  readonly visibleOnly: boolean;
  /** Alternatives (`docs/decisions.md#p4`). */
  readonly q?: readonly string[];
  /** The last word of each value of `q` is matched as a prefix (`docs/decisions.md#p32`). */
  readonly prefix?: boolean;
  /** Words that stand for words of `q` (`docs/decisions.md#p33`). */
  readonly corrections?: readonly Correction[];
  readonly minPrice?: number;
  readonly maxPrice?: number;
  /** Epoch ms. */
  readonly minUpdateDate?: number;
  readonly maxUpdateDate?: number;
  readonly minInStock?: number;
  readonly maxInStock?: number;
  /** Including their descendants (`docs/decisions.md#p5`). */
  readonly tdCategoryId?: readonly string[];
  readonly tdId?: readonly string[];
  /** Absent: `docs/decisions.md#p7`. */
  readonly orderBy?: ProductOrder;
  /** The page: `offset + size` is at most `SEARCH_CAP`; `after` pages through all results. */
  readonly window: Page;
}

export type ProductOrder = 'priceAsc' | 'priceDesc' | 'modificationDateAsc' | 'modificationDateDesc';

export function pageSizeOf(requested = 100): number {
  return Math.min(requested, SEARCH_CAP);
}

/** The part of the results that a page is, within the cap and below `limit` (`docs/decisions.md#p3`). */
export function searchWindow(page = 1, pageSize?: number, limit = Infinity): Page {
  const perPage = pageSizeOf(pageSize);
  const end = Math.min(SEARCH_CAP, limit);
  const offset = Math.min((Math.max(page, 1) - 1) * perPage, end);
  return { offset, size: Math.min(perPage, end - offset) };
}

/** The page that begins after a result, or at the first one (`docs/decisions.md#p28`). */
export function windowAfter(after: Cursor | null, pageSize?: number): Page {
  return { offset: 0, size: pageSizeOf(pageSize), after };
}

/** All results that pages by number can reach. */
export function wholeWindow(limit?: number): Page {
  return searchWindow(1, SEARCH_CAP, limit);
}

/** A page of offers, those of one product in a group. */
export type FoundProducts = PageInParts<Offer>;

/** A word of `q`, which no product has, and the words one letter away that some have. */
export interface Correction {
  readonly word: string;
  readonly replacements: readonly string[];
}

/** Shorter words differ in one letter from too many others, longer ones are no words of a language. */
const CORRECTED_LETTERS = { least: 5, most: 60 } as const;
/** Different words of `q` that are looked at: the first ones. */
const MOST_CORRECTED = 10;
/** Words that stand for one. */
const MOST_REPLACEMENTS = 10;

/**
 * The words of `q` that match none of the products that the other keys select, with corrections
 * (`docs/decisions.md#p33`).
 */
export async function correctionsOf(
  store: ReadStore,
  criteria: ProductCriteria,
  query: QueryOptions = {},
): Promise<readonly Correction[]> {
  const { q = [], prefix = false, ...others } = criteria;
  const looked = distinctWords(q.flatMap((value) => queryWords(value, { prefix })))
    .map(spellingsOf)
    .filter((spellings) => spellings.length > 0 && spellings.every(isCorrectable))
    .slice(0, MOST_CORRECTED);
  if (looked.length === 0) return [];
  const filter = await filterOf(store, others, query);
  const spellings = [...new Set(looked.flat())];
  const facets = spellings.map((near): Facet => ({ near, within: TEXTS, size: MOST_REPLACEMENTS }));
  const counts = await store.countValues(TARGET, { filter, facets }, query);
  const near = new Map(
    spellings.map((one, at) => [one, (counts[at] ?? []).map(({ value }) => String(value))]),
  );
  const had = new Set(looked.filter((own) => own.some((one) => near.get(one)?.[0] === one)).map(plainOf));
  return [...new Set(looked.map(plainOf))]
    .map((word) => ({ word, replacements: near.get(word) ?? [] }))
    .filter(({ word, replacements }) => replacements.length > 0 && !had.has(word));
}

function isCorrectable(word: string): boolean {
  const { length } = Array.from(word);
  return length >= CORRECTED_LETTERS.least && length <= CORRECTED_LETTERS.most;
}

/** What a text may be the beginning of (`docs/decisions.md#p34`). */
export interface Suggestions {
  readonly names: readonly string[];
  readonly brands: readonly { readonly value: string; readonly count: number }[];
}

/** Names and brands listed, and newest offers whose names are looked at, so many of them at once. */
const SUGGESTED = { names: 10, brands: 10, offers: 50, atOnce: 10 } as const;

/** Completions of a text from the products that the other keys than `q` leave. */
export async function suggestionsOf(
  store: ReadStore,
  criteria: ProductCriteria,
  typed: string,
  query: QueryOptions = {},
): Promise<Suggestions> {
  const filter = await filterOf(store, without(criteria, 'q'), query);
  const named = allOf(filter, text(['title'], [queryWords(typed, { prefix: true })]));
  const names = new Map<string, string>();
  const { atOnce } = SUGGESTED;
  for (let offset = 0; offset < SUGGESTED.offers && names.size < SUGGESTED.names; offset += atOnce) {
    const page = { order: [NEWEST], offset, size: atOnce };
    const { found, total } = await store.search(TARGET, { filter: named, ...page }, query);
    for (const { product } of await mapInSlices(found, toOffer, query.signal)) {
      const key = foldCase(product.name);
      if (!names.has(key)) names.set(key, product.name);
    }
    if (offset + atOnce >= total) break;
  }
  const brand: Facet = { field: FACETS.brand, size: SUGGESTED.brands, prefix: foldCase(typed.trim()) };
  const [brands = []] = await store.countValues(TARGET, { filter, facets: [brand] }, query);
  return {
    names: [...names.values()].slice(0, SUGGESTED.names),
    brands: brands.map(({ value, count }) => ({ value: String(value).normalize(), count })),
  };
}

/** Matching offers in order, each in a group of its own; they are what is counted. */
export async function searchProducts(
  store: ReadStore,
  criteria: ProductCriteria,
  query: QueryOptions = {},
): Promise<FoundProducts> {
  const filter = await filterOf(store, criteria, query);
  const wanted = { filter, order: orderOf(criteria), ...criteria.window };
  return searchInParts({ store, target: TARGET, read: toOffer }, wanted, query);
}

/** Matching offers grouped by product, the cheapest first (`docs/decisions.md#p8`): products are counted and paged. */
export async function searchGroupedProducts(
  store: ReadStore,
  criteria: ProductCriteria,
  query: QueryOptions = {},
): Promise<FoundProducts> {
  const { size } = criteria.window;
  const wanted: GroupSearch = {
    filter: await filterOf(store, criteria, query),
    groupBy: 'groupId' satisfies ProductField,
    within: [{ field: 'price' }],
    order: groupOrderOf(criteria),
    members: Math.min(OFFERS.group, Math.floor(OFFERS.answer / Math.max(1, size))),
    ...criteria.window,
  };
  return searchGroupsInParts({ store, target: TARGET, read: toOffer }, wanted, query);
}

/** What matching offers are counted by (`docs/decisions.md#p31`): a field of the read model each, but for ranges. */
const FACETS = {
  brand: 'brand',
  tdCategoryId: 'tdCategoryId',
  category: 'category',
  priceRange: 'price',
  feed: 'feedId',
} as const satisfies Readonly<Record<string, ProductField>>;

export type FacetName = keyof typeof FACETS;

export const FACET_NAMES = Object.keys(FACETS) as readonly FacetName[];

/** Values listed of each facet. */
const MOST_VALUES = 20;

/** The facets to count; `priceRange` has bounds in minor units, ascending. */
export interface WantedFacets {
  readonly names: readonly FacetName[];
  readonly priceBounds: readonly number[];
}

/** How many matching offers have each value: of all results, whatever the page is. */
export async function countProducts(
  store: ReadStore,
  criteria: ProductCriteria,
  { names, priceBounds }: WantedFacets,
  query: QueryOptions = {},
): Promise<ReadonlyMap<FacetName, readonly ValueCount[]>> {
  const facets = names.map((name): Facet =>
    name === 'priceRange'
      ? { field: FACETS[name], bounds: priceBounds }
      : { field: FACETS[name], size: MOST_VALUES },
  );
  const filter = await filterOf(store, criteria, query);
  const counts = await store.countValues(TARGET, { filter, facets }, query);
  return new Map(names.map((name, at) => [name, counts[at] ?? []]));
}

const TARGET = { collection: products.collection.name };

const { among, between, text } = filtersOn<ProductField>();

const TEXTS = ['title', 'description'] as const satisfies readonly ProductField[];

/** The words of a value of `q`, the last one as a beginning, and with what stands for others in their place. */
function queryWords(
  value: string,
  { prefix = false, corrections = [] }: Pick<ProductCriteria, 'prefix' | 'corrections'>,
): readonly Word[] {
  const words = queryWordsOf(value);
  return words.map((word, at): Word => {
    if (prefix && at === words.length - 1) return asBeginning(word);
    const plain = plainOf(spellingsOf(word));
    const corrected = corrections.find((one) => one.word === plain);
    if (corrected === undefined) return word;
    return [...(typeof word === 'string' ? [] : word), ...corrected.replacements.map((one) => [one])];
  });
}

/** The spellings of a word that is whole, the plain one first. */
function spellingsOf(word: Word): readonly string[] {
  if (typeof word === 'string') return [word];
  return 'prefixes' in word || word.length < 2 ? [] : word.flat();
}

function plainOf([plain = '']: readonly string[]): string {
  return plain;
}

/** A word in each of its spellings as a beginning; what is found by its parts needs nothing. */
function asBeginning(word: SearchWord): Word {
  if (typeof word === 'string') return { prefixes: [word] };
  return word.length > 1 ? { prefixes: word.flat() } : word;
}

async function filterOf(store: ReadStore, criteria: ProductCriteria, query: QueryOptions): Promise<Filter> {
  return allOf(
    among('feedId', criteria.feedIds),
    criteria.visibleOnly ? among('visible', [1]) : undefined,
    // Title and description together (`docs/decisions.md#p4`).
    text(
      TEXTS,
      criteria.q?.map((value) => queryWords(value, criteria)),
    ),
    between('price', { min: criteria.minPrice, max: criteria.maxPrice }),
    between('modified', { min: criteria.minUpdateDate, max: criteria.maxUpdateDate }),
    between('inStock', { min: criteria.minInStock, max: criteria.maxInStock }),
    among('tdCategoryId', criteria.tdCategoryId),
    ...FOLDED_KEYS.map((key) => among(key, criteria[key]?.map(foldCase))),
    ...EXACT_KEYS.map((key) => among(key, criteria[key])),
    criteria.tdId && (await offersFilter(store, criteria.tdId, query)),
  );
}

/** Offers by their ids, found by feed and `sourceProductId`, which are indexed. */
async function offersFilter(store: ReadStore, ids: readonly string[], query: QueryOptions): Promise<Filter> {
  const found = await store.get(TARGET, [...new Set(ids)], query);
  const offers = await mapInSlices(found, toOffer, query.signal);
  return {
    any: offers.map(({ feedId, sourceProductId }) =>
      allOf(among('feedId', [feedId]), among('spId', [sourceProductId])),
    ),
  };
}

const NEWEST = { field: 'modified', descending: true } as const;

const ORDERS = {
  priceAsc: { field: 'price' },
  priceDesc: { field: 'price', descending: true },
  modificationDateAsc: { field: 'modified' },
  modificationDateDesc: NEWEST,
} as const satisfies Readonly<Record<ProductOrder, Order>>;

/** Relevance is how many of the distinct words of all values are in the title (`docs/decisions.md#p7`). */
function orderOf(criteria: ProductCriteria): readonly Order[] {
  const { orderBy, q = [] } = criteria;
  if (orderBy !== undefined) return [ORDERS[orderBy]];
  const words = distinctWords(q.flatMap((value) => queryWords(value, criteria)));
  return words.length === 0 ? [NEWEST] : [{ matches: words, within: 'title', descending: true }, NEWEST];
}

/** Ordered by price, a group has the place of its cheapest offer; otherwise that of its newest or best one. */
function groupOrderOf(criteria: ProductCriteria): readonly GroupOrder[] {
  return orderOf(criteria).map((order) =>
    'field' in order && order.field === 'price' ? { by: 'least', ...order } : { by: 'greatest', ...order },
  );
}
