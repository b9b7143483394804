import fc from 'fast-check';
import { type FeedEvent, type Product } from '../../src/products/feed';
import { groupingIdOf, offerId } from '../../src/products/offer';
import { wordsOf } from '../../src/wire/words';
import {
  type ProductCriteria,
  type ProductOrder,
  searchGroupedProducts,
  searchProducts,
  searchWindow,
} from '../../projections/product-search';
import { rebuild } from '../../src/projector/rebuild';
import { defined, listed } from '../projector/sample-events';
import { PROJECTIONS, World } from '../projector/world';

const FEEDS = [7, 22] as const;

interface Offer {
  readonly id: string;
  readonly feedId: number;
  readonly spId: string;
  readonly price: number;
  readonly at: string;
  readonly product: Product;
}

/** Offers with few different words, prices, days and GTINs, so that there are many matches and ties. */
const offers: readonly Offer[] = fc
  .sample(
    fc.record({
      feedId: fc.constantFrom(...FEEDS),
      price: fc.integer({ min: 1, max: 6 }),
      day: fc.integer({ min: 1, max: 5 }),
      name: fc.array(fc.constantFrom('Red', 'lamp', 'Größe', 'desk', 'mini'), { minLength: 1, maxLength: 4 }),
      description: fc.array(fc.constantFrom('LED', 'lamp', 'groesse', 'wood'), {
        minLength: 1,
        maxLength: 3,
      }),
      categories: fc.constantFrom([{ id: '1' }], [{ name: 'Garden' }], [{ id: '1' }, { id: '2' }]),
      brand: fc.constantFrom('Acme', 'ACME', 'Other', undefined),
      ean: fc.constantFrom('4012345678901', '04012345678901', '555', undefined),
      inStock: fc.constantFrom(0, 5, undefined),
    }),
    { numRuns: 120, seed: 4 },
  )
  .map(({ feedId, price, day, name, description, categories, brand, ean, inStock }, at) => ({
    feedId,
    price,
    spId: `p${at}`,
    id: offerId(feedId, `p${at}`),
    at: `2026-04-0${day}T00:00:00.000Z`,
    product: {
      name: name.join(' '),
      description: description.join(', '),
      productUrl: 'https://shop.example/',
      productImage: { url: 'https://shop.example/1.jpg' },
      categories,
      ...(brand === undefined ? {} : { brand }),
      ...(ean === undefined ? {} : { identifiers: { ean } }),
      ...(inStock === undefined ? {} : { inStock }),
      fields: [{ name: 'Colour', value: brand ?? 'none' }],
    },
  }));

let world: World;
beforeAll(async () => {
  world = await World.open();
  await world.emit(defined('1', 'Lamps'), defined('2', 'Desks'));
  await world.emit(
    ...offers.map(({ feedId, spId, price, at, product }) => ({
      feedId,
      event: listed(spId, price, product, at) satisfies FeedEvent,
    })),
  );
  await rebuild(world.log, world.store, PROJECTIONS, { owner: 'test', code: 'test' });
});
afterAll(() => world.end());

const EVERYTHING: ProductCriteria = { feedIds: FEEDS, visibleOnly: false, window: { offset: 0, size: 1000 } };

const allOf = async <Item>(batches: AsyncIterable<readonly Item[]>): Promise<readonly Item[]> => {
  const all: Item[] = [];
  for await (const batch of batches) all.push(...batch);
  return all;
};

const search = async (criteria: Partial<ProductCriteria>) => {
  const { total, groups } = await searchProducts(world.store, { ...EVERYTHING, ...criteria });
  return { total, ids: (await allOf(groups)).flat().map(({ id }) => id) };
};

/** Each key alone, with the expected matches. */
const KEYS: readonly [string, Partial<ProductCriteria>, (offer: Offer) => boolean][] = [
  ['feeds: only those asked for', { feedIds: [7] }, ({ feedId }) => feedId === 7],
  ['no feed', { feedIds: [] }, () => false],
  [
    'visible ones only (decisions P13)',
    { visibleOnly: true },
    ({ product }) => product.categories[0]?.id === '1',
  ],
  [
    'q: every word, in title and description together (decisions P4)',
    { q: ['LAMP, led'] },
    has('lamp', 'led'),
  ],
  ['q: marks and case do not count (decisions P4)', { q: ['grosse'] }, has('grosse')],
  [
    'q: values are alternatives (decisions P4)',
    { q: ['desk', 'wood led'] },
    (offer) => has('desk')(offer) || has('wood', 'led')(offer),
  ],
  ['q=* matches all (decisions P4)', { q: ['*', 'desk'] }, () => true],
  ['minPrice, inclusive (decisions P5)', { minPrice: 3 }, ({ price }) => price >= 3],
  ['maxPrice, inclusive (decisions P5)', { maxPrice: 3 }, ({ price }) => price <= 3],
  ['minUpdateDate', { minUpdateDate: Date.parse('2026-04-03') }, ({ at }) => at >= '2026-04-03'],
  [
    'maxUpdateDate',
    { maxUpdateDate: Date.parse('2026-04-03') },
    ({ at }) => at <= '2026-04-03T00:00:00.000Z',
  ],
  [
    'minInStock: not those without inStock (decisions P5)',
    { minInStock: 0 },
    ({ product }) => product.inStock !== undefined,
  ],
  [
    'maxInStock: not those without inStock (decisions P5)',
    { maxInStock: 4 },
    ({ product }) => product.inStock === 0,
  ],
  [
    'tdCategoryId: what is mapped to one of them',
    { tdCategoryId: ['2', '9'] },
    ({ product }) => product.categories.length === 2,
  ],
  [
    'category, case ignored',
    { category: ['gARDEN'] },
    ({ product }) => product.categories[0]?.name === 'Garden',
  ],
  [
    'brand, case ignored, alternatives (decisions P5)',
    { brand: ['acme', 'nobody'] },
    ({ product }) => product.brand?.toLowerCase() === 'acme',
  ],
  [
    'field as name=value, case ignored',
    { field: ['colour=OTHER'] },
    ({ product }) => product.brand === 'Other',
  ],
  ['spId', { spId: ['p3', 'p4'] }, ({ spId }) => spId === 'p3' || spId === 'p4'],
  [
    'tdId: the offer of this id (decisions P5)',
    { tdId: [offers[5]!.id, offers[6]!.id, 'nobody'] },
    ({ spId }) => spId === 'p5' || spId === 'p6',
  ],
  ['tdId of no offer', { tdId: ['nobody'] }, () => false],
  [
    'ean, exactly (decisions P5)',
    { ean: ['4012345678901'] },
    ({ product }) => product.identifiers?.ean === '4012345678901',
  ],
  ['sku that nobody has', { sku: ['1'] }, () => false],
];

function has(...words: readonly string[]): (offer: Offer) => boolean {
  return ({ product }) => {
    const all = wordsOf(`${product.name} ${product.description}`);
    return words.every((word) => all.includes(word));
  };
}

test.each(KEYS)('%s', async (_, criteria, matches) => {
  const expected = offers.filter(matches);
  const { total, ids } = await search(criteria);
  expect(total).toBe(expected.length);
  expect(ids.toSorted()).toEqual(expected.map(({ id }) => id).toSorted());
});

test('different keys must all match (decisions P5)', () =>
  fc.assert(
    fc.asyncProperty(fc.subarray([...KEYS], { minLength: 2, maxLength: 3 }), async (keys) => {
      const { feedIds = FEEDS } = keys.find(([, { feedIds: asked }]) => asked)?.[1] ?? {};
      fc.pre(keys.filter(([, { feedIds: asked }]) => asked).length < 2);
      fc.pre(new Set(keys.flatMap(([, criteria]) => Object.keys(criteria))).size === keys.length);
      const criteria = Object.assign({}, ...keys.map(([, one]) => one), { feedIds }) as ProductCriteria;
      const expected = offers.filter((offer) => keys.every(([, , matches]) => matches(offer)));
      expect((await search(criteria)).ids.toSorted()).toEqual(expected.map(({ id }) => id).toSorted());
    }),
    { numRuns: 60 },
  ));

/** Sort key and direction of each order; the offer id breaks ties. */
type By = (offer: Offer) => readonly number[];

const ORDERS: readonly [
  string,
  { orderBy?: ProductOrder; q?: readonly string[] },
  By,
  'least' | 'greatest',
][] = [
  ['priceAsc', { orderBy: 'priceAsc' }, ({ price }) => [price], 'least'],
  ['priceDesc', { orderBy: 'priceDesc', q: ['lamp'] }, ({ price }) => [-price], 'least'],
  ['modificationDateAsc', { orderBy: 'modificationDateAsc' }, ({ at }) => [Date.parse(at)], 'greatest'],
  ['modificationDateDesc', { orderBy: 'modificationDateDesc' }, ({ at }) => [-Date.parse(at)], 'greatest'],
  ['no order, without q: newest modification', {}, ({ at }) => [-Date.parse(at)], 'greatest'],
  [
    'no order, with q: distinct words of all values in the title, then newest modification',
    { q: ['red lamp', 'lamp Größe', 'led'] },
    ({ product, at }) => {
      const title = wordsOf(product.name);
      return [
        -['red', 'lamp', 'grosse', 'led'].filter((word) => title.includes(word)).length,
        -Date.parse(at),
      ];
    },
    'greatest',
  ],
];

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at < 0 ? 0 : a[at]! - b[at]!;
}

const byId = (a: { readonly id: string }, b: { readonly id: string }) =>
  a.id < b.id ? -1 : a.id > b.id ? 1 : 0;

test.each(ORDERS)('order %s, ties by offer id (decisions P7)', async (_, criteria, by) => {
  const found = new Set((await search(criteria)).ids);
  const expected = offers
    .filter(({ id }) => found.has(id))
    .sort((a, b) => compare(by(a), by(b)) || byId(a, b));
  expect((await search(criteria)).ids).toEqual(expected.map(({ id }) => id));
  const second = await search({ ...criteria, window: { offset: 10, size: 10 } });
  expect(second).toEqual({ total: expected.length, ids: expected.slice(10, 20).map(({ id }) => id) });
});

test.each(ORDERS)(
  'groups in order %s, each the cheapest first (decisions P8)',
  async (_, criteria, by, which) => {
    const asked = { ...EVERYTHING, ...criteria, maxPrice: 5, visibleOnly: true };
    const window = { offset: 0, size: 30 };
    const matching = new Set((await search(asked)).ids);
    const together = new Map<string, Offer[]>();
    for (const offer of offers.filter(({ id }) => matching.has(id))) {
      const key = groupingIdOf(offer.product.identifiers, offer.id);
      together.set(key, [...(together.get(key) ?? []), offer]);
    }
    const expected = [...together.values()].map((group) =>
      group.sort((a, b) => a.price - b.price || byId(a, b)),
    );
    expected.sort((a, b) => compare(keyOf(a), keyOf(b)) || byId(a[0]!, b[0]!));
    const { total, groups } = await searchGroupedProducts(world.store, { ...asked, window });
    const found = await allOf(groups);
    expect(total).toBe(expected.length);
    expect(found.map((group) => group.map(({ id }) => id))).toEqual(
      expected.slice(0, 30).map((group) => group.map(({ id }) => id)),
    );

    /** Groups are sorted by their cheapest, newest or best offer. */
    function keyOf(group: readonly Offer[]): readonly number[] {
      if (which === 'least') return by(group[0]!);
      const columns = group.map(by);
      return columns[0]!.map((_value, column) => {
        const values = columns.map((each) => each[column]!);
        return criteria.orderBy === 'modificationDateAsc' ? Math.max(...values) : Math.min(...values);
      });
    }
  },
);

test.each([
  ['the first 100 without keys', [], { offset: 0, size: 100 }],
  ['page 0 is the first', [0, 10], { offset: 0, size: 10 }],
  ['page 3', [3, 10], { offset: 20, size: 10 }],
  ['more than 1000 a page counts as 1000', [1, 5000], { offset: 0, size: 1000 }],
  [
    'nothing of page 2 of 1000 (Document 1, Limits: Maximum products per search)',
    [2, 1000],
    { offset: 1000, size: 0 },
  ],
  ['no further than the cap', [2, 600], { offset: 600, size: 400 }],
  ['no further than limit', [2, 10, 15], { offset: 10, size: 5 }],
  ['nothing past limit', [3, 10, 15], { offset: 15, size: 0 }],
] as const)('a page is %s (decisions P3)', (_, [page, pageSize, limit], expected) => {
  expect(searchWindow(page, pageSize, limit)).toEqual(expected);
});

test.each([
  [1000, 10],
  [400, 25],
])('groups of a page of %i have their %i cheapest offers (decisions X7)', async (size, most) => {
  const all = await searchGroupedProducts(world.store, { ...EVERYTHING, window: { offset: 0, size: 10 } });
  const whole = await allOf(all.groups);
  expect(Math.max(...whole.map(({ length }) => length))).toBeGreaterThan(25);
  const { groups } = await searchGroupedProducts(world.store, { ...EVERYTHING, window: { offset: 0, size } });
  expect((await allOf(groups)).slice(0, 10)).toEqual(whole.map((group) => group.slice(0, most)));
});

test('pages beyond the cap are empty but have the true total (decisions P3)', async () => {
  expect(await search({ window: searchWindow(2, 1000) })).toEqual({ total: offers.length, ids: [] });
  const grouped = await searchGroupedProducts(world.store, { ...EVERYTHING, window: searchWindow(2, 1000) });
  expect(await allOf(grouped.groups)).toEqual([]);
  expect(grouped.total).toBeGreaterThan(0);
});
