import { type ProductOrder, searchGroupedProducts, searchWindow } from '../../projections/product-search';
import { groupingIdOf } from '../../src/domain/products/offer';
import { tokensOf } from '../../src/wire/words';
import { allOf, EVERYTHING, type Offer, offers, searchedOffers } from './searched-offers';

const { store, search } = searchedOffers();

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
      const title = tokensOf(product.name);
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
    const { total, groups } = await searchGroupedProducts(store(), { ...asked, window });
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
  const all = await searchGroupedProducts(store(), { ...EVERYTHING, window: { offset: 0, size: 10 } });
  const whole = await allOf(all.groups);
  expect(Math.max(...whole.map(({ length }) => length))).toBeGreaterThan(25);
  const { groups } = await searchGroupedProducts(store(), { ...EVERYTHING, window: { offset: 0, size } });
  expect((await allOf(groups)).slice(0, 10)).toEqual(whole.map((group) => group.slice(0, most)));
});

test('pages beyond the cap are empty but have the true total (decisions P3)', async () => {
  expect(await search({ window: searchWindow(2, 1000) })).toEqual({ total: offers.length, ids: [] });
  const grouped = await searchGroupedProducts(store(), { ...EVERYTHING, window: searchWindow(2, 1000) });
  expect(await allOf(grouped.groups)).toEqual([]);
  expect(grouped.total).toBeGreaterThan(0);
});
