import { catalogue, ean13 } from '../../src/demo/catalogue';
import { demoFeed, demoPriceChanges, type PostedProduct } from '../../src/demo/products';
import { demoNetwork, FEEDS } from '../../src/demo/network';
import { Directory } from '../../src/network/directory';
import { networkFacts, networkOf, readNetwork } from '../../src/network/network-facts';
import { mappedCategory } from '../../src/network/categories/mapped-category';
import { gtinOf } from '../../src/domain/products/offer';
import { checkProduct } from '../../src/services/products/product-check';

const NOW = new Date('2026-11-21T12:00:00Z');
const directory = new Directory();
const network = readNetwork(demoNetwork(), networkOf(directory));
for (const { event } of networkFacts(network, NOW.toISOString())) directory.evolve(event);

const feeds = FEEDS.map((feed) => ({ ...feed, products: demoFeed(feed.id) }));
const products = feeds.flatMap((feed) => feed.products);

describe('The demo products', () => {
  it('are about 3,000, all of them valid', () => {
    expect(products.length).toBeGreaterThan(2800);
    expect(products.length).toBeLessThan(3200);
    const refused = products.filter(
      (product) => 'faults' in checkProduct({ ...product }, (id) => directory.category(id) !== undefined),
    );
    expect(refused).toEqual([]);
  });

  it('are the same every time', () => {
    expect(JSON.stringify(demoFeed(1001))).toBe(JSON.stringify(demoFeed(1001)));
    expect(JSON.stringify(demoPriceChanges(NOW))).toBe(JSON.stringify(demoPriceChanges(NOW)));
  });

  it('have unique ids within a feed', () => {
    for (const feed of feeds) {
      expect(new Set(feed.products.map(({ sourceProductId }) => sourceProductId)).size).toBe(
        feed.products.length,
      );
    }
  });

  it('have unique EANs with a valid check digit', () => {
    const eans = catalogue().map(({ ean }) => ean);
    expect(eans.filter((ean) => ean13(ean.slice(0, 12)) !== ean)).toEqual([]);
    expect(new Set(eans).size).toBe(eans.length);
  });

  it('are sold by several feeds with the same GTIN, as EAN and as UPC (decisions P8)', () => {
    const sellers = new Map<string, Set<number>>();
    for (const feed of feeds) {
      for (const { ean, upc } of feed.products) {
        const gtin = gtinOf({ ...(ean === undefined ? {} : { ean }), ...(upc === undefined ? {} : { upc }) });
        if (gtin !== undefined) sellers.set(gtin, (sellers.get(gtin) ?? new Set()).add(feed.id));
      }
    }
    expect([...sellers.values()].filter(({ size }) => size > 1).length).toBeGreaterThan(500);
    expect(products.some(({ upc }) => upc !== undefined)).toBe(true);
  });

  it('are mapped in each of the three ways, and a few are unmapped (decisions P13)', () => {
    for (const feed of feeds) {
      const unmapped = feed.products.filter(
        ({ categories }) =>
          !categories.some((posted) => mappedCategory(posted, feed.id, directory) !== undefined),
      );
      expect(unmapped.length).toBeGreaterThan(5);
      expect(unmapped.length).toBeLessThan(feed.products.length / 8);
    }
    expect(new Set(FEEDS.map(({ maps }) => maps)).size).toBe(3);
  });

  it('have umlauts in German', () => {
    expect(demoFeed(1001).filter(({ name }) => /[äöüß]/.test(name)).length).toBeGreaterThan(100);
  });
});

describe('The demo price changes', () => {
  const rounds = demoPriceChanges(NOW);

  it('were posted in the previous year, in order', () => {
    const times = rounds.map(({ at }) => at.getTime());
    expect(times).toEqual([...times].sort((one, other) => one - other));
    expect(NOW.getTime() - (times[0] ?? 0)).toBeLessThan(360 * 86_400_000);
    expect(times.at(-1)).toBeLessThan(NOW.getTime());
  });

  it('change only the price of each product posted again', () => {
    const present = new Map(
      feeds.flatMap((feed) => feed.products.map((product) => [keyOf(feed.id, product), product] as const)),
    );
    const changes = new Map<string, number>();
    const wrong: PostedProduct[] = [];
    for (const { feedId, products: again } of rounds) {
      for (const product of again) {
        const key = keyOf(feedId, product);
        const before = present.get(key);
        if (product.price === before?.price || contentOf(product) !== contentOf(before)) wrong.push(product);
        present.set(key, product);
        changes.set(key, (changes.get(key) ?? 0) + 1);
      }
    }
    expect(wrong).toEqual([]);
    expect(Math.max(...changes.values())).toBeGreaterThan(4);
    expect(changes.size).toBeGreaterThan(2000);
  });
});

function keyOf(feedId: number, { sourceProductId }: PostedProduct): string {
  return `${feedId}:${sourceProductId}`;
}

function contentOf(product: PostedProduct | undefined): string {
  return JSON.stringify({ ...product, price: 0 });
}
