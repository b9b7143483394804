import fc from 'fast-check';
import { type FeedEvent, type Product } from '../../src/domain/products/feed';
import { offerId } from '../../src/domain/products/offer';
import { type ProductCriteria, searchProducts } from '../../projections/product-search';
import { rebuild } from '../../src/projector/rebuild';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { defined, listed } from '../projector/sample-events';
import { PROJECTIONS, World } from '../projector/world';

export const FEEDS = [7, 22] as const;

export interface Offer {
  readonly id: string;
  readonly feedId: number;
  readonly spId: string;
  readonly price: number;
  readonly at: string;
  readonly product: Product;
}

/** Offers with few different words, prices, days and GTINs, so that there are many matches and ties. */
export const offers: readonly Offer[] = fc
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

/** Matches all offers. */
export const EVERYTHING: ProductCriteria = {
  feedIds: FEEDS,
  visibleOnly: false,
  window: { offset: 0, size: 1000 },
};

/** The offers in a read store, for all tests of a file. */
export function searchedOffers() {
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
    await rebuild(world.log, world.store, PROJECTIONS, { clock: SYSTEM_CLOCK, owner: 'test', code: 'test' });
  });
  afterAll(() => world.end());
  return {
    store: () => world.store,
    search: async (criteria: Partial<ProductCriteria>) => {
      const { total, groups } = await searchProducts(world.store, { ...EVERYTHING, ...criteria });
      return { total, ids: (await allOf(groups)).flat().map(({ id }) => id) };
    },
  };
}

export async function allOf<Item>(batches: AsyncIterable<readonly Item[]>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for await (const batch of batches) all.push(...batch);
  return all;
}
