import fc from 'fast-check';
import { type PostedProduct } from '../../src/demo/products';
import { cases } from '../support/size';
import {
  ALL_FACETS,
  answerOf,
  type Asked,
  categoriesOf,
  type CodeKey,
  type KnownNetwork,
  type KnownOffer,
  TEXT_KEYS,
} from '../support/oracle-search';
import { type Client } from './network';
import { type clientOf } from './posted';

/** Another one each time; one that has failed is given again by this variable. */
export const SEED = Number(process.env.SEARCH_SEED ?? Math.floor(Math.random() * 2 ** 31));
export const SEARCHES = cases(500, 120);

type Pick = (product: PostedProduct) => readonly (string | undefined)[];

/** One value to ask for: a product's own one, in another case, or one that nobody has. */
function valueOf(products: readonly PostedProduct[], pick: Pick): fc.Arbitrary<string> {
  const present = products.flatMap(pick).filter((value) => value !== undefined && value !== '') as string[];
  if (present.length === 0) return fc.constant('nobody has this');
  return fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...present) },
    { weight: 1, arbitrary: fc.constantFrom(...present).map((value) => value.toUpperCase()) },
    { weight: 1, arbitrary: fc.constant('nobody has this') },
  );
}

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 });
const several = <T>(arbitrary: fc.Arbitrary<T>) => maybe(fc.array(arbitrary, { minLength: 1, maxLength: 3 }));

const titleAndText = ({ name, description }: PostedProduct) => [name, description];
const CODES: readonly CodeKey[] = ['ean', 'mpn', 'sku', 'upc', 'isbn'];

/** What there is to search. */
export interface Searched {
  readonly products: readonly PostedProduct[];
  readonly network: KnownNetwork;
  /** Days on which products were posted, in milliseconds. */
  readonly days: readonly number[];
  /** Values of `q` beside the texts of products. */
  readonly words: fc.Arbitrary<string>;
  /** Prices at which, and near which, products begin and end. */
  readonly prices: readonly number[];
}

/** One or two keys that choose, and any of those that order and cut. */
function searchesOf({ products, network, days, words, prices }: Searched): fc.Arbitrary<Asked> {
  const value = (pick: Pick) => valueOf(products, pick);
  const bound = maybe(fc.constantFrom(...prices));
  const day = maybe(
    fc.tuple(fc.constantFrom(...days), fc.constantFrom(-1, 0, 1)).map(([start, ms]) => start + ms),
  );
  return fc
    .tuple(
      fc.record({
        fid: fc.subarray(
          network.feeds.map(({ id }) => id),
          { minLength: 1 },
        ),
        orderBy: maybe(
          fc.constantFrom('priceAsc', 'priceDesc', 'modificationDateAsc', 'modificationDateDesc'),
        ),
        page: maybe(fc.integer({ min: 0, max: 4 })),
        pageSize: maybe(fc.constantFrom(1, 3, 10, 100, 1000, 5000)),
        limit: maybe(fc.constantFrom(0, 1, 7, 150, 2000)),
        groupOffersByProduct: fc.boolean(),
        facets: maybe(fc.constant(ALL_FACETS)),
        prefix: maybe(fc.boolean()),
      }),
      fc.array(
        fc.oneof(
          { weight: 10, arbitrary: fc.record({ q: several(fc.oneof(value(titleAndText), words)) }) },
          fc.record({ minPrice: bound, maxPrice: bound }),
          fc.record({ minUpdateDate: day, maxUpdateDate: day }),
          fc.record({
            minInStock: maybe(fc.integer({ min: -1, max: 6 })),
            maxInStock: maybe(fc.integer({ min: -1, max: 200 })),
          }),
          fc.record({
            tdCategoryId: several(fc.constantFrom(...network.categories.map(({ id }) => Number(id)), 999)),
          }),
          fc.record({ currency: fc.constantFrom('EUR', 'sek', 'USD') }),
          fc.record({ language: fc.constantFrom('de', 'SV', 'fr', 'en') }),
          fc.record({ spId: several(value(({ sourceProductId }) => [sourceProductId])) }),
          ...Object.entries(TEXT_KEYS).map(([key, pick]) =>
            fc.record({ [key]: key === 'field' ? value(pick).map(asField) : several(value(pick)) }),
          ),
          ...CODES.map((key) => fc.record({ [key]: several(value((product) => [product[key]])) })),
        ),
        { maxLength: 2 },
      ),
    )
    .map(([shape, keys]) => Object.assign({}, shape, ...keys) as Asked);
}

/** What finds nothing is asked for as a field that nobody has: it must look like one (decisions X22). */
function asField(value: string): readonly string[] {
  return [value.includes('=') ? value : `${value}=`];
}

type Value = string | number | boolean;

/** The matrix keys of a search; within a list, `%` and `,` of a value are escaped first (decisions A2). */
function toKeys(asked: Asked): string {
  return (Object.entries(asked) as [string, Value | readonly Value[] | undefined][])
    .flatMap(([key, value]) => {
      if (value === undefined) return [];
      if (typeof value === 'number' && key.endsWith('UpdateDate')) return [`;${key}=${toDate(key, value)}`];
      if (typeof value !== 'object') return [`;${key}=${value}`];
      const inList = (one: Value) =>
        encodeURIComponent(
          key === 'field' ? String(one) : String(one).replaceAll('%', '%25').replaceAll(',', '%2C'),
        );
      return [`;${key}=${value.map(inList).join(',')}`];
    })
    .join('');
}

const DAY = 86_400_000;

/**
 * A bound that a date expresses as that date: a lower one begins with its day, an upper one
 * includes it (decisions A17).
 */
function toDate(key: string, time: number): string | number {
  const isDate = key === 'maxUpdateDate' ? (time + 1) % DAY === 0 : time % DAY === 0;
  return isDate ? new Date(time).toISOString().slice(0, 10) : time;
}

/** Offers with the ids that the service gives them, and the categories that it must map them to. */
export async function knownOffers(
  posted: readonly Omit<KnownOffer, 'id' | 'categories'>[],
  network: KnownNetwork,
  search: Search,
): Promise<readonly KnownOffer[]> {
  const keyOf = (feedId: number, sourceProductId: string) => `${feedId} ${sourceProductId}`;
  const ids = new Map<string, string>();
  const feeds = [...new Set(posted.map(({ feedId }) => feedId))].join(',');
  const names = [...new Set(posted.map(({ product }) => product.sourceProductId))];
  for (let at = 0; at < names.length; at += 300) {
    const { products } = await search(
      `;fid=${feeds};pageSize=1000;spId=${names.slice(at, at + 300).join(',')}`,
    );
    for (const { offers } of products)
      for (const { id, feedId, sourceProductId } of offers) ids.set(keyOf(feedId, sourceProductId), id);
  }
  return posted.map((one) => ({
    ...one,
    id: ids.get(keyOf(one.feedId, one.product.sourceProductId)) ?? '',
    categories: categoriesOf(one, network),
  }));
}

type Search = ReturnType<typeof clientOf>['search'];

/** A search, and who asks. */
interface RandomSearch {
  readonly asked: Asked;
  /** As the target has them. */
  readonly keys: string;
  readonly by: Client;
}

/** The same ones each time while the seed is the same. */
export function randomSearches(searched: Searched): readonly RandomSearch[] {
  const callers: fc.Arbitrary<Client> = fc.constantFrom('nord', 'preisblickAll', 'deals');
  const cases = fc.tuple(searchesOf(searched), callers);
  return fc
    .sample(cases, { numRuns: SEARCHES, seed: SEED })
    .map(([asked, by]) => ({ asked, keys: toKeys(asked), by }));
}

/** Names of feeds are not known here. */
function withoutName(one: object): object {
  return { ...one, name: undefined };
}

/** Asks random searches of the service and of the oracle; gives how many have found something. */
export async function expectAnswers(
  search: Search,
  offers: readonly KnownOffer[],
  searched: Searched,
): Promise<number> {
  let found = 0;
  for (const { asked, keys, by } of randomSearches(searched)) {
    const { totalHits, products, facets } = await search(keys, by);
    const answered = {
      totalHits,
      products: products.map((one) => one.offers.map(({ id }) => id)),
      ...(facets === undefined ? {} : { facets: { ...facets, feed: facets['feed']?.map(withoutName) } }),
    };
    const expected = answerOf(asked, by === 'nord' ? 'advertiser' : 'publisher', offers, searched.network);
    expect({ keys, by, ...answered }).toEqual({ keys, by, ...expected });
    found += totalHits > 0 ? 1 : 0;
  }
  return found;
}
