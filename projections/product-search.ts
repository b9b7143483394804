import {
  EVERYTHING,
  type Filter,
  type GroupOrder,
  type GroupSearch,
  type Order,
  type Page,
  type Paged,
  type QueryOptions,
  type Cursor,
} from '../src/kernel/query';
import { type ReadStore } from '../src/kernel/read-store';
import { mapInSlices } from '../src/kernel/slices';
import { IDENTIFIERS } from '../src/products/fields';
import { type Offer } from '../src/products/offer';
import { foldCase, wordsOf } from '../src/wire/words';
import { BODY_LIMIT, type FoundGroups, groupBatches } from '../src/kernel/group-batches';
import { FOLDED_KEYS, type ProductField, products, toOffer } from './products';

/** Most products of one search (Document 1, Limits; `docs/decisions.md#p3`). */
const SEARCH_CAP = 1000;

/** Most offers of one group, and of one answer (`docs/decisions.md#x7`). */
const OFFERS = { group: 1000, answer: 10_000 } as const;

const EXACT_KEYS = [...IDENTIFIERS, 'spId'] as const;

/** Search keys that compare whole values: several values of one are alternatives (`docs/decisions.md#p5`). */
type MatchKey = (typeof FOLDED_KEYS)[number] | (typeof EXACT_KEYS)[number];

/** A search, its keys checked and made of what the caller may see; all bounds are inclusive. */
export interface ProductCriteria extends Readonly<Partial<Record<MatchKey, readonly string[]>>> {
  /** The feeds to look into, already narrowed to those of the caller, the currency and the language asked for. */
  readonly feedIds: readonly number[];
  /** Publishers: only products that are mapped (`docs/decisions.md#p13`). */
  readonly visibleOnly: boolean;
  /** Alternatives (`docs/decisions.md#p4`). */
  readonly q?: readonly string[];
  /** Minor units. */
  readonly minPrice?: number;
  readonly maxPrice?: number;
  /** Epoch ms. */
  readonly minUpdateDate?: number;
  readonly maxUpdateDate?: number;
  readonly minInStock?: number;
  readonly maxInStock?: number;
  /** With all that is below them (`docs/decisions.md#p5`). */
  readonly tdCategoryId?: readonly string[];
  /** Offer ids. */
  readonly tdId?: readonly string[];
  /** Absent: `docs/decisions.md#p7`. */
  readonly orderBy?: ProductOrder;
  readonly window: SearchWindow;
}

export type ProductOrder = 'priceAsc' | 'priceDesc' | 'modificationDateAsc' | 'modificationDateDesc';

/** Which of the results: `offset + size` is at most `SEARCH_CAP`; with `after` all of them can be gone through. */
type SearchWindow = Page;

/** The part of the results that a page is, within the cap and below `limit` (`docs/decisions.md#p3`). */
export function searchWindow(page = 1, pageSize = 100, limit = Infinity): SearchWindow {
  const perPage = Math.min(pageSize, SEARCH_CAP);
  const end = Math.min(SEARCH_CAP, limit);
  const offset = Math.min((Math.max(page, 1) - 1) * perPage, end);
  return { offset, size: Math.min(perPage, end - offset) };
}

/** The page that begins after a result, or at the first one (`docs/decisions.md#p28`). */
export function windowAfter(after: Cursor | null, pageSize = 100): SearchWindow {
  return { offset: 0, size: Math.min(pageSize, SEARCH_CAP), after };
}

/** All that pages of a search can have. */
export function wholeWindow(limit?: number): SearchWindow {
  return searchWindow(1, SEARCH_CAP, limit);
}

/** A page of products in batches, each read when it is asked for, again each time it is iterated. */
export interface FoundProducts extends Paged {
  /** Those of one product together. */
  readonly groups: AsyncIterable<readonly (readonly Offer[])[]>;
}

/** Offers that match, in order, each by itself, and the number of all of them. */
export async function searchProducts(
  store: ReadStore,
  criteria: ProductCriteria,
  query: QueryOptions = {},
): Promise<FoundProducts> {
  const wanted = {
    filter: await filterOf(store, criteria, query),
    order: orderOf(criteria),
    ...criteria.window,
  };
  const { found, rest, ...paged } = await store.search(TARGET, wanted, { ...query, bodyLimit: BODY_LIMIT });
  const alone = <Of>(one: Of): readonly [Of] => [one];
  return {
    ...paged,
    groups: offersIn(store, { groups: found.map(alone), rest: rest?.map(alone) ?? [] }, query),
  };
}

/**
 * The same, offers of one product together, the cheapest first (`docs/decisions.md#p8`); what is counted and cut into
 * pages are the products.
 */
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
  const {
    groups,
    rest = [],
    ...paged
  } = await store.searchGroups(TARGET, wanted, {
    ...query,
    bodyLimit: BODY_LIMIT,
  });
  return { ...paged, groups: offersIn(store, { groups, rest }, query) };
}

function offersIn(
  store: ReadStore,
  found: FoundGroups,
  query: QueryOptions,
): AsyncIterable<readonly (readonly Offer[])[]> {
  async function* offers(): AsyncGenerator<readonly (readonly Offer[])[]> {
    for await (const groups of groupBatches(store, TARGET, found, query))
      yield await mapInSlices(groups, (group) => group.map(toOffer), query.signal);
  }
  return { [Symbol.asyncIterator]: offers };
}

const TARGET = { collection: products.collection.name };

async function filterOf(store: ReadStore, criteria: ProductCriteria, query: QueryOptions): Promise<Filter> {
  return {
    all: [
      { field: 'feedId', in: criteria.feedIds },
      ...(criteria.visibleOnly ? [{ field: 'visible', in: [1] }] : []),
      ...(criteria.q === undefined ? [] : [textFilter(criteria.q)]),
      ...bounds('price', criteria.minPrice, criteria.maxPrice),
      ...bounds('modified', criteria.minUpdateDate, criteria.maxUpdateDate),
      ...bounds('inStock', criteria.minInStock, criteria.maxInStock),
      ...valuesFilter('tdCategoryId', criteria.tdCategoryId),
      ...FOLDED_KEYS.flatMap((key) => valuesFilter(key, criteria[key]?.map(foldCase))),
      ...EXACT_KEYS.flatMap((key) => valuesFilter(key, criteria[key])),
      ...(criteria.tdId === undefined ? [] : [await offersFilter(store, criteria.tdId, query)]),
    ],
  };
}

/** Each word of one of the values, in title and description together (`docs/decisions.md#p4`). */
function textFilter(values: readonly string[]): Filter {
  const alternatives = values.map(wordsOf);
  if (alternatives.some((words) => words.length === 0)) return EVERYTHING;
  return { any: alternatives.map((words) => ({ words, within: ['title', 'description'] })) };
}

function bounds(field: ProductField, min: number | undefined, max: number | undefined): Filter[] {
  if (min === undefined && max === undefined) return [];
  return [{ field, ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) }];
}

function valuesFilter(field: ProductField, values: readonly string[] | undefined): Filter[] {
  return values === undefined ? [] : [{ field, in: values }];
}

/** Offers by their ids: a feed knows them by `sourceProductId`, which is what there is an index for. */
async function offersFilter(store: ReadStore, ids: readonly string[], query: QueryOptions): Promise<Filter> {
  const found = await store.get(TARGET, [...new Set(ids)], query);
  const offers = await mapInSlices(found, toOffer, query.signal);
  return {
    any: offers.map(({ feedId, sourceProductId }) => ({
      all: [
        { field: 'feedId', in: [feedId] },
        { field: 'spId', in: [sourceProductId] },
      ],
    })),
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
function orderOf({ orderBy, q = [] }: ProductCriteria): readonly Order[] {
  if (orderBy !== undefined) return [ORDERS[orderBy]];
  const words = [...new Set(q.flatMap(wordsOf))];
  return words.length === 0 ? [NEWEST] : [{ matches: words, within: 'title', descending: true }, NEWEST];
}

/** By price a group stands where its cheapest offer does, else where its newest, its best one does. */
function groupOrderOf(criteria: ProductCriteria): readonly GroupOrder[] {
  return orderOf(criteria).map((order) =>
    'field' in order && order.field === 'price' ? { by: 'least', ...order } : { by: 'greatest', ...order },
  );
}
