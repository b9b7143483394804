import { TestApp } from '../support/app';
import { offerId } from '../../src/domain/products/offer';
import { FEEDS, NETWORK } from './network';
import { clientOf, product } from './posted';

describe('search order', () => {
  const { german, swedish, shared, secret, italian } = FEEDS;

  let app: TestApp;
  let now = new Date('2026-03-01');
  const { post, search } = clientOf(() => app);

  beforeAll(async () => {
    app = await TestApp.start({ network: NETWORK, now: () => now });
  });
  afterAll(() => app.close());

  const onDay = (day: number) => (now = new Date(Date.UTC(2026, 2, day)));
  const byOfferId = (feedId: number) => (a: string, b: string) =>
    offerId(feedId, a) < offerId(feedId, b) ? -1 : 1;

  describe('pages (decisions P3)', () => {
    const COUNT = 1100;
    beforeAll(async () => {
      await post(
        secret,
        Array.from({ length: COUNT }, (_, at) => product(`p${at}`, { price: at + 1 })),
      );
      await app.settled();
    });
    const page = async (keys: string) => {
      const { totalHits, ids } = await search(`;fid=${secret};orderBy=priceAsc${keys}`);
      const from = Number(ids[0]?.slice(1) ?? NaN);
      expect(ids).toEqual(ids.map((_, at) => `p${from + at}`));
      return [totalHits, from, ids.length];
    };

    it.each([
      ['', 0, 100],
      [';page=1', 0, 100],
      [';page=0', 0, 100],
      [';page=2', 100, 100],
      [';page=3;pageSize=7', 14, 7],
      [';pageSize=1000', 0, 1000],
      [';pageSize=5000', 0, 1000],
      [';page=2;pageSize=1000', NaN, 0],
      [';page=2;pageSize=900', 900, 100],
      [';page=11', NaN, 0],
      [';page=999999999', NaN, 0],
      [';limit=30', 0, 30],
      [';limit=0', NaN, 0],
      [';limit=30;pageSize=20;page=2', 20, 10],
      [';limit=30;pageSize=20;page=3', NaN, 0],
      [';limit=5000;pageSize=1000', 0, 1000],
    ])(
      '"%s" begins at %d and has %d (Document 1, Limits: Maximum products per search)',
      async (keys, from, length) => {
        expect(await page(keys)).toEqual([COUNT, from, length]);
      },
    );

    it('together have each product once', async () => {
      const ids: string[] = [];
      for (let at = 1; at <= 4; at += 1)
        ids.push(...(await search(`;fid=${secret};pageSize=250;page=${at}`)).ids);
      expect(new Set(ids).size).toBe(1000);
    });
  });

  describe('without an order (decisions P7)', () => {
    beforeAll(async () => {
      onDay(2);
      await post(german, [
        product('old-a', { name: 'Lamp', description: 'a desk' }),
        product('old-b', { name: 'Desk lamp', description: 'red' }),
      ]);
      onDay(3);
      await post(german, [
        product('new-a', { name: 'Red lamp lamp', description: 'desk' }),
        product('new-b', { name: 'Thing', description: 'lamp desk lamp desk red' }),
        product('new-c', { name: 'Thing', description: 'desk red' }),
      ]);
    });
    const ordered = async (keys: string) => (await search(`;fid=${german}${keys}`)).ids;
    const tied = (...ids: string[]) => ids.toSorted(byOfferId(german));

    it('the newest modification comes first, then the lowest offer id', async () => {
      expect(await ordered('')).toEqual([...tied('new-a', 'new-b', 'new-c'), ...tied('old-a', 'old-b')]);
    });

    it('with q, products with the most distinct words in the title come first, then the newest', async () => {
      expect(await ordered(';q=lamp desk')).toEqual(['old-b', 'new-a', 'old-a', 'new-b']);
      expect(await ordered(';q=lamp,desk red')).toEqual([
        'new-a',
        'old-b',
        'old-a',
        ...tied('new-b', 'new-c'),
      ]);
    });

    it('with orderBy, relevance is ignored, and ties are ordered by offer id', async () => {
      expect(await ordered(';q=lamp desk;orderBy=modificationDateAsc')).toEqual([
        ...tied('old-a', 'old-b'),
        ...tied('new-a', 'new-b'),
      ]);
      expect(await ordered(';orderBy=priceAsc')).toEqual(tied('new-a', 'new-b', 'new-c', 'old-a', 'old-b'));
      expect(await ordered(';orderBy=priceDesc')).toEqual(tied('new-a', 'new-b', 'new-c', 'old-a', 'old-b'));
    });

    it('a new price is a modification, an unchanged post is not (decisions X15)', async () => {
      onDay(4);
      await post(german, [
        product('old-a', { name: 'Lamp', description: 'a desk' }),
        product('old-b', { name: 'Desk lamp', description: 'red', price: 11 }),
      ]);
      expect((await ordered(''))[0]).toBe('old-b');
      expect((await ordered('')).at(-1)).toBe('old-a');
      expect(await ordered(';minUpdateDate=2026-03-04')).toEqual(['old-b']);
    });
  });

  describe('groupOffersByProduct (decisions P8)', () => {
    const EAN = '4012345678901';
    beforeAll(async () => {
      onDay(5);
      await post(swedish, [
        product('g-dear', { name: 'Dear lamp', ean: EAN, price: 30, brand: 'B', inStock: 1 }),
        product('alone', { name: 'Alone', price: 20 }),
        product('other-id', { name: 'By sku', sku: EAN, price: 21 }),
      ]);
      onDay(6);
      await post(shared, [
        product('g-cheap', { name: 'Cheap lamp', ean: `0${EAN}`, price: 10, brand: 'C' }),
        product('g-upc', { name: 'Thing', upc: '12345678905', price: 25 }),
        product('g-unmapped', { name: 'Unmapped', ean: EAN, price: 1, categories: [{ name: 'Nowhere' }] }),
      ]);
      onDay(7);
      await post(german, [product('g-upc2', { name: 'Thing too', ean: '012345678905', price: 26 })], {
        keys: ';mode=replace',
      });
      await post(italian, [product('g-foreign', { ean: EAN, price: 2 })], { by: 'casa' });
    });
    const FIDS = `;fid=${swedish},${shared},${german}`;
    const groups = async (keys: string, by: 'nord' | 'deals' = 'deals') => {
      const { totalHits, products } = await search(`${FIDS};groupOffersByProduct=true${keys}`, by);
      const ids = products.map(({ offers }) =>
        offers.map(({ sourceProductId }) => sourceProductId).join(' '),
      );
      return [totalHits, ...ids];
    };

    it('groups offers with the same GTIN, cheapest first; products are counted', async () => {
      expect(await groups(';orderBy=priceAsc')).toEqual([
        4,
        'g-cheap g-dear',
        'alone',
        'other-id',
        'g-upc g-upc2',
      ]);
    });

    it('has the product of the first offer, and its grouping id', async () => {
      const { products } = await search(`${FIDS};groupOffersByProduct=true;q=lamp`, 'deals');
      expect(products).toMatchObject([
        { name: 'Cheap lamp', brand: 'C', language: 'en', groupingId: 'ean04012345678901' },
      ]);
      expect(products[0]).not.toHaveProperty('inStock');
      const [alone] = (await search(`${FIDS};groupOffersByProduct=true;spId=alone`, 'deals')).products;
      expect(alone?.groupingId).toBe(offerId(swedish, 'alone'));
    });

    it('includes only offers that match and that the caller may see', async () => {
      expect(await groups(';brand=B')).toEqual([1, 'g-dear']);
      expect(await groups(`;ean=${EAN},0${EAN}`)).toEqual([1, 'g-cheap g-dear']);
      expect(await groups(`;ean=${EAN},0${EAN}`, 'nord')).toEqual([1, 'g-unmapped g-cheap g-dear']);
    });

    it('orders products by their cheapest, newest or best offer', async () => {
      expect(await groups(';orderBy=priceDesc')).toEqual([
        4,
        'g-upc g-upc2',
        'other-id',
        'alone',
        'g-cheap g-dear',
      ]);
      const lone = ['alone', 'other-id'].toSorted(byOfferId(swedish));
      expect(await groups(';orderBy=modificationDateDesc')).toEqual([
        4,
        'g-upc g-upc2',
        'g-cheap g-dear',
        ...lone,
      ]);
      expect(await groups(';orderBy=modificationDateAsc')).toEqual([
        4,
        ...lone,
        'g-cheap g-dear',
        'g-upc g-upc2',
      ]);
      expect(await groups('')).toEqual([4, 'g-upc g-upc2', 'g-cheap g-dear', ...lone]);
      expect(await groups(';q=dear,alone,thing')).toEqual([3, 'g-upc g-upc2', 'g-dear', 'alone']);
      expect(await groups(';q=dear lamp,thing,alone')).toEqual([3, 'g-dear', 'g-upc g-upc2', 'alone']);
    });

    it('is paged by product', async () => {
      expect(await groups(';orderBy=priceAsc;pageSize=1')).toEqual([4, 'g-cheap g-dear']);
      expect(await groups(';orderBy=priceAsc;pageSize=1;page=4')).toEqual([4, 'g-upc g-upc2']);
      expect(await groups(';orderBy=priceAsc;limit=2')).toEqual([4, 'g-cheap g-dear', 'alone']);
    });

    it('is off by default', async () => {
      const { totalHits, products } = await search(
        `${FIDS};groupOffersByProduct=false;ean=${EAN},0${EAN}`,
        'deals',
      );
      expect([totalHits, products.map(({ offers }) => offers.length)]).toEqual([2, [1, 1]]);
      expect(products[0]?.groupingId).toBe('ean04012345678901');
    });
  });
});
