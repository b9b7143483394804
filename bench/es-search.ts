import { searchGroupedProducts, searchProducts, searchWindow } from '../projections/product-search';
import { type PostedProduct } from '../src/demo/products';
import { openElasticsearch } from '../src/engines/elasticsearch/open-store';
import { foldCase, tokensOf } from '../src/wire/words';
import { BareBulk } from './bare/es-bulk';
import { anywhere, type BareRequest, BareSearches, BY_PRICE, NEWEST } from './bare/es-search';
import { ownStore } from './es-server';
import { type Bench, compareLatencies, type Figure, quantile, timed } from './harness';
import { sampleOf } from './products';
import { openLoaded, projected } from './read-models';

type Criteria = Parameters<typeof searchProducts>[1];
type Keys = Omit<Criteria, 'feedIds' | 'visibleOnly' | 'window'>;

/** One search, in the read model and on the server. */
interface Asked {
  readonly keys: Keys;
  readonly bare: BareRequest;
}

/** The feed searched. */
const FEED = 1;
/** Measured searches of each kind, after a warm-up. */
const COUNTED = 100;
const WARM_UP = 10;

/** Ten kinds of search in one feed, the first page of 100: derived from a product of it, so that they match. */
const KINDS: Readonly<Record<string, (product: PostedProduct) => Asked>> = {
  'a word': ({ description }) => {
    const word = wordOf(description, 5);
    return { keys: { q: [word] }, bare: { filter: [anywhere(word)], sort: [...NEWEST], relevant: word } };
  },
  'a word, by price': ({ description }) => {
    const word = wordOf(description, 7);
    return {
      keys: { q: [word], orderBy: 'priceAsc' },
      bare: { filter: [anywhere(word)], sort: [...BY_PRICE] },
    };
  },
  'two words, by price': ({ description }) => {
    const words = [wordOf(description, 9), wordOf(description, 11)];
    return {
      keys: { q: [words.join(' ')], orderBy: 'priceAsc' },
      bare: { filter: words.map(anywhere), sort: [...BY_PRICE] },
    };
  },
  'a word and a brand': ({ description, brand = '' }) => {
    const word = wordOf(description, 13);
    return {
      keys: { q: [word], brand: [brand], orderBy: 'priceAsc' },
      bare: { filter: [anywhere(word), { term: { f_brand: foldCase(brand) } }], sort: [...BY_PRICE] },
    };
  },
  'a category': ({ categories: [category] }) => ({
    keys: { category: [category?.name ?? ''] },
    bare: { filter: [{ term: { f_category: category?.name ?? '' } }], sort: [...NEWEST] },
  }),
  'a custom field, by price': ({ fields: [field] = [] }) => {
    const value = `${field?.name ?? ''}=${field?.value ?? ''}`;
    return {
      keys: { field: [value], orderBy: 'priceAsc' },
      bare: { filter: [{ term: { f_field: foldCase(value) } }], sort: [...BY_PRICE] },
    };
  },
  'prices, by price': ({ price }) => {
    const [least, most] = [Math.round(price * 100), Math.round((price + 10) * 100)];
    return {
      keys: { minPrice: least, maxPrice: most, orderBy: 'priceAsc' },
      bare: { filter: [{ range: { f_price: { gte: least, lte: most } } }], sort: [...BY_PRICE] },
    };
  },
  'all, newest first': () => ({ keys: {}, bare: { filter: [], sort: [...NEWEST] } }),
  'an ean': ({ ean = '' }) => ({
    keys: { ean: [ean] },
    bare: { filter: [{ term: { f_ean: ean } }], sort: [...NEWEST] },
  }),
  'a word, grouped, by price': ({ description }) => {
    const word = wordOf(description, 15);
    return {
      keys: { q: [word], orderBy: 'priceAsc' },
      bare: { filter: [anywhere(word)], sort: [...BY_PRICE], isGrouped: true },
    };
  },
};

/** Searches of all products, grouped, and the time (ms) that the median is to stay within at 200,000 products. */
const ALL_GROUPED: Readonly<Record<string, readonly [Keys, number]>> = {
  'cheapest first': [{ orderBy: 'priceAsc' }, 300],
  'newest first': [{}, 300],
  'dearest first': [{ orderBy: 'priceDesc' }, 2_000],
  'oldest first': [{ orderBy: 'modificationDateAsc' }, 2_000],
};
/** Measured searches of all products, grouped, of each order. */
const GROUPED = 20;

/**
 * Ten kinds of search in a feed of all products in Elasticsearch, and all products grouped, against fixed times.
 *
 * Ours: the query of the read model, from its criteria to the offers of the answer.
 * Bare: the same search by the client alone. The server collapses and counts groups, with less exact order and counts
 * than we guarantee.
 */
export async function esSearch(bench: Bench): Promise<readonly Figure[]> {
  const { server, prefix, url } = ownStore();
  const loaded = await openLoaded(bench, 'es-search');
  const store = openElasticsearch(url);
  const bare = new BareSearches(server, `${prefix}.products.live`);
  const indices = new BareBulk(server);
  const figures: Figure[] = [];
  try {
    await projected({ log: loaded.engines.log, store });
    for (const [kind, made] of Object.entries(KINDS)) {
      const times: { ours: number[]; bare: number[] } = { ours: [], bare: [] };
      let searches = 0;
      for (const product of sampleOf(
        bench.count,
        WARM_UP + Math.min(COUNTED, Math.ceil(bench.count / 100)),
      )) {
        const { keys, bare: request } = made(product);
        const criteria = { ...keys, feedIds: [FEED], visibleOnly: true, window: searchWindow() };
        const searched = request.isGrouped === true ? searchGroupedProducts : searchProducts;
        const feed = { term: { f_feedId: FEED } };
        let found: { readonly total: number } = { total: NaN };
        let total = NaN;
        const ask = {
          ours: async () => (found = await searched(store, criteria)),
          bare: async () => (total = await bare.run({ ...request, filter: [feed, ...request.filter] })),
        };
        // Alternate, since the second search profits from warm caches.
        const sides = searches % 2 === 0 ? (['ours', 'bare'] as const) : (['bare', 'ours'] as const);
        searches += 1;
        for (const side of sides) {
          const ms = await timed(ask[side]);
          if (searches > WARM_UP) times[side].push(ms);
        }
        if (request.isGrouped !== true && total !== found.total)
          throw new Error(`${kind}: ${found.total} hits, expected ${total} as in Elasticsearch`);
      }
      figures.push(...compareLatencies(`es-search ${kind}`, times.ours, times.bare));
    }
    for (const [order, [keys, limit]] of Object.entries(ALL_GROUPED)) {
      const criteria = { ...keys, feedIds: [FEED], visibleOnly: true, window: searchWindow() };
      const times: number[] = [];
      for (let n = 0; n < GROUPED; n += 1)
        times.push(await timed(() => searchGroupedProducts(store, criteria)));
      const measured = quantile(times, 0.5);
      figures.push({
        figure: `es-search all, grouped, ${order} p50`,
        measured,
        limit,
        ratio: limit / measured,
        goal: 1,
        unit: 'ms',
      });
    }
    return figures;
  } finally {
    await indices.remove(prefix);
    await Promise.all([indices.close(), bare.close(), store.close(), loaded.engines.close()]);
  }
}

function wordOf(text: string, at: number): string {
  return tokensOf(text)[at] ?? '';
}
