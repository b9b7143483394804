import fc from 'fast-check';
import { type ProductCriteria } from '../../projections/product-search';
import { tokensOf } from '../../src/wire/words';
import { FEEDS, type Offer, offers, searchedOffers } from './searched-offers';

const { search } = searchedOffers();

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
    const all = tokensOf(`${product.name} ${product.description}`);
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
