import { PROJECTIONS } from '../../projections';
import { rebuild } from '../../src/projector/rebuild';
import { generateProducts } from '../../bench/generate';
import { type PostedProduct } from '../../src/demo/products';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { TestApp } from '../support/app';
import { OVER_SERVERS } from '../support/engines';
import { toJson, toXml } from '../support/products';
import { REAL_PRODUCTS, realFeeds } from '../support/real-products';
import { ADVERTISER, NETWORK, PUBLISHER } from '../support/server';

type Products = readonly PostedProduct[];

const GENERATED: readonly Products[] = [
  [...generateProducts({ count: 400 })],
  [...generateProducts({ count: 400, seed: 2, prefix: 'q' })],
];

/** What a product looks like is no matter of engines: over servers every third has to do. */
const real = realFeeds()?.map(({ products }) => products.filter((_, at) => !OVER_SERVERS || at % 3 === 0));
const SOURCES = [['generated', GENERATED] as const, ...(real === undefined ? [] : [['real', real] as const])];
if (real === undefined)
  process.stderr.write(`left out: the same over real products, since there is no ${REAL_PRODUCTS}\n`);

describe.each(SOURCES)('the life of two feeds of %s products', (_, [first = [], second = []]) => {
  let app: TestApp;
  let clock = Date.parse('2026-03-01T08:00:00Z');

  beforeAll(async () => {
    const names = new Set(
      [...first, ...second].flatMap(({ categories }) => categories.map(({ name = '' }) => name)),
    );
    const mappings = [22, 23].flatMap((feedId) =>
      [...names].map((name) => ({ feedId, name, categoryId: '1' })),
    );
    app = await TestApp.start({ network: { ...NETWORK, mappings }, now: () => new Date(clock) });
  });
  afterAll(() => app.close());

  async function post(feed: number, products: Products, format: 'json' | 'xml', mode = ''): Promise<void> {
    clock += 60_000;
    const body = format === 'json' ? toJson(products) : toXml(products);
    const headers = { 'content-type': `application/${format}; charset=utf-8` };
    const answer = await app.post(`/1.0/products.json;fid=${feed}${mode}`, {
      token: ADVERTISER,
      headers,
      body,
    });
    expect([answer.statusCode, answer.body]).toEqual([200, '{"errors":[]}']);
    await app.settled();
  }

  async function hits(keys: string): Promise<number> {
    const answer = await app.get(`/1.0/products${keys}`, { token: PUBLISHER });
    return answer.json<{ productHeader: { totalHits: number } }>().productHeader.totalHits;
  }

  /** The product events of a feed, without their times. */
  async function events(feed: number): Promise<string[]> {
    const found: string[] = [];
    for await (const batch of app.engines.log.readStream(`feed-${feed}`)) {
      for (const { type, data, meta } of batch) {
        if (type === 'FeedImported' || type === 'ProductsDeleted') continue;
        found.push(`${type} ${JSON.stringify({ ...(JSON.parse(data) as object), at: '' })} ${meta}`);
      }
    }
    return found;
  }

  const dearer = (products: Products): Products =>
    products.map((one) => ({ ...one, price: Math.round(one.price * 100 + 100) / 100 }));

  test('as JSON and as XML, they give the same events', async () => {
    await post(22, first, 'json');
    await post(23, first, 'xml');
    expect(await events(23)).toEqual(await events(22));
    expect(await events(22)).toHaveLength(first.length);
  });

  test('posted again in the other format, they change nothing', async () => {
    await post(22, first, 'xml');
    await post(23, first, 'json', ';mode=replace');
    expect(await events(22)).toHaveLength(first.length);
    expect(await events(23)).toHaveLength(first.length);
  });

  test('they are found by searches', async () => {
    expect(await hits(';fid=22')).toBe(first.length);
    expect(await hits(';fid=22,23')).toBe(2 * first.length);
    const { sourceProductId, brand } = first[7]!;
    expect(await hits(`;fid=22;spId=${sourceProductId}`)).toBe(1);
    const sameBrand = first.filter((one) => one.brand?.toLowerCase() === brand?.toLowerCase());
    expect(
      await hits(
        `;fid=22;brand=${encodeURIComponent((brand ?? '').replaceAll('%', '%25').replaceAll(',', '%2C'))}`,
      ),
    ).toBe(sameBrand.length);
  });

  test('repriced, they give small events of their own and have both prices', async () => {
    await post(22, dearer(first), 'json');
    await post(23, dearer(first), 'xml');
    const all = await events(22);
    expect(all).toHaveLength(2 * first.length);
    expect(
      all.slice(first.length).every((event) => event.startsWith('ProductRepriced ') && event.length < 200),
    ).toBe(true);
    expect(await events(23)).toEqual(all);
    const { sourceProductId, price } = first[3]!;
    const answer = await app.get(`/1.0/products;fid=22;spId=${sourceProductId};priceHistory=true`, {
      token: PUBLISHER,
    });
    const [found] = answer.json<{
      products: { offers: { priceHistory: { price: { value: string } }[] }[] }[];
    }>().products;
    expect(found?.offers[0]?.priceHistory.map((entry) => entry.price.value)).toEqual([
      (price + 1).toFixed(2),
      price.toFixed(2),
    ]);
  });

  test('replaced, the feed has exactly the posted products', async () => {
    await post(23, second, 'json', ';mode=replace');
    expect(await hits(';fid=23')).toBe(second.length);
    expect(await hits(';fid=22')).toBe(first.length);
  });

  test('a rebuild gives the same answers', async () => {
    const searches = [
      ';fid=22,23;pageSize=1000',
      ';fid=22,23;pageSize=1000;page=2;orderBy=priceAsc',
      ';fid=22,23;orderBy=priceDesc;pageSize=50;priceHistory=true',
      ';fid=22,23;groupOffersByProduct=true;pageSize=200',
      `;fid=22,23;q=${encodeURIComponent(first[0]!.name.split(' ')[0] ?? '')}`,
    ];
    const answers = async () =>
      Promise.all(
        searches.map(async (keys) => (await app.get(`/1.0/products${keys}`, { token: PUBLISHER })).body),
      );
    const before = await answers();
    const { log, store } = app.engines;
    const rebuilt = await rebuild(log, store, PROJECTIONS, {
      clock: SYSTEM_CLOCK,
      owner: 'test',
      code: 'test',
    });
    const products = rebuilt.find(({ generation }) => generation.collection === 'products');
    expect(products?.documents).toBe(first.length + second.length);
    expect(await answers()).toEqual(before);
  });

  test('deleted, they are gone', async () => {
    const [a, b, c] = first.map(({ sourceProductId }) => sourceProductId);
    const some = await app.delete(`/1.0/products;fid=22;spId=${a ?? ''},${b ?? ''};spId=${c ?? ''}`, {
      token: ADVERTISER,
    });
    expect([some.statusCode, some.body]).toEqual([200, '{"errors":[]}']);
    await app.settled();
    expect(await hits(';fid=22')).toBe(first.length - 3);
    await app.delete('/1.0/products;fid=22;deleteAll=true', { token: ADVERTISER });
    await app.settled();
    expect(await hits(';fid=22')).toBe(0);
    expect(await hits(';fid=22,23')).toBe(second.length);
  });
});
