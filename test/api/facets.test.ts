import { TestApp } from '../support/app';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, product, refusals } from './posted';

const { german, shared } = FEEDS;

let app: TestApp;
const { post, search } = clientOf(() => app);

const ALL = 'facets=brand,tdCategoryId,category,priceRange(10,50,100),feed';

beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK });
  await post(german, [
    product('a', {
      brand: 'Sony',
      price: 9.99,
      ean: '4012345678901',
      categories: [{ id: '11', name: 'Köpfe' }],
    }),
    product('b', { brand: 'SONY', price: 10, categories: [{ id: '11' }, { id: '12' }, { name: 'köpfe' }] }),
    product('c', { brand: 'Ørsted', price: 49.99, categories: [{ id: '12', name: 'Licht' }] }),
    product('unmapped', { brand: 'Hidden', price: 50, categories: [{ name: 'Nowhere' }] }),
  ]);
  await post(shared, [
    product('a', { brand: 'Sony', price: 100, ean: '4012345678901', categories: [{ id: '11' }] }),
    product('d', { brand: undefined, price: 500, categories: [{ id: '21' }] }),
  ]);
});
afterAll(() => app.close());

const counted = (value: string | number, count: number, name?: string) => ({
  value,
  ...(name === undefined ? {} : { name }),
  count,
});

describe('facets (decisions P31)', () => {
  it('count what the caller may see, within the whole result, most first, equal counts by value', async () => {
    const { totalHits, facets } = await search(`;fid=${german},${shared};${ALL};pageSize=1`, 'preisblickAll');
    expect(totalHits).toBe(5);
    expect(facets).toEqual({
      brand: [counted('sony', 3), counted('ørsted', 1)],
      tdCategoryId: [counted('11', 3, 'Headphones'), counted('12', 2, 'Speakers'), counted('21', 1, 'Lamps')],
      category: [counted('köpfe', 2), counted('licht', 1)],
      priceRange: [
        { to: 10, count: 1 },
        { from: 10, to: 50, count: 2 },
        { from: 50, to: 100, count: 0 },
        { from: 100, count: 2 },
      ],
      feed: [counted(german, 3, 'Germany'), counted(shared, 2, 'Shared')],
    });
    const { facets: own } = await search(`;fid=${german};facets=brand,feed`);
    expect(own).toEqual({
      brand: [counted('sony', 2), counted('hidden', 1), counted('ørsted', 1)],
      feed: [counted(german, 4, 'Germany')],
    });
  });

  it('follow the other keys, and each value finds as many as it counts', async () => {
    const keys = `;fid=${german},${shared};minPrice=10`;
    const { facets } = await search(`${keys};facets=brand`);
    expect(facets).toEqual({ brand: [counted('sony', 2), counted('hidden', 1), counted('ørsted', 1)] });
    for (const { value, count } of facets!['brand'] as { value: string; count: number }[])
      expect([value, (await search(`${keys};brand=${encodeURIComponent(value)}`)).totalHits]).toEqual([
        value,
        count,
      ]);
    expect((await search(`${keys};q=nothing;${ALL}`)).facets).toMatchObject({
      brand: [],
      tdCategoryId: [],
      feed: [],
    });
  });

  it('count offers, also where these are grouped by product', async () => {
    const { totalHits, facets } = await search(
      `;fid=${german},${shared};groupOffersByProduct=true;facets=brand`,
    );
    expect(totalHits).toBe(5);
    expect(facets?.['brand']?.[0]).toEqual(counted('sony', 3));
  });

  it('list at most 20 values of each', async () => {
    const many = Array.from({ length: 25 }, (_, at) =>
      product(`p${at}`, { brand: `brand ${String(at).padStart(2, '0')}` }),
    );
    await post(FEEDS.unconnected, many);
    const { facets } = await search(`;fid=${FEEDS.unconnected};facets=brand`);
    expect(facets?.['brand']).toEqual(
      Array.from({ length: 20 }, (_, at) => counted(`brand ${String(at).padStart(2, '0')}`, 1)),
    );
  });

  it('are the same on every page of a cursor', async () => {
    const keys = `;fid=${german};facets=brand;orderBy=priceAsc;pageSize=2`;
    const first = await app.get(`/1.0/products${keys};cursor=*`, { token: TOKENS.nord });
    const { nextCursor, facets } = first.json<{ productHeader: { nextCursor: string; facets: object } }>()
      .productHeader;
    const second = await search(`${keys};cursor=${nextCursor}`);
    expect(second.ids).toEqual(['c', 'unmapped']);
    expect(second.facets).toEqual(facets);
  });

  it('are in the header of XML', async () => {
    const { body } = await app.get(`/1.0/products.xml;fid=${german};q=nothing;${ALL}`, {
      token: TOKENS.nord,
    });
    expect(body).toContain(
      '<productHeader><totalHits>0</totalHits><facets><brand/><tdCategoryId/><category/>' +
        '<priceRange><range to="10" count="0"/><range from="10" to="50" count="0"/><range from="50" to="100" count="0"/>' +
        '<range from="100" count="0"/></priceRange><feed/></facets></productHeader>',
    );
    const found = await app.get(`/1.0/products.xml;fid=${german};facets=brand,feed`, { token: TOKENS.nord });
    expect(found.body).toContain(
      '<facets><brand><value count="2">sony</value><value count="1">hidden</value><value count="1">ørsted</value></brand>' +
        `<feed><value name="Germany" count="4">${german}</value></feed></facets>`,
    );
  });

  it.each(['.csv', ';format=csv'])('are refused for CSV: %s', async (how) => {
    const [path, key] = how.startsWith('.') ? [how, ''] : ['', how];
    const answer = await app.get(`/1.0/products${path};fid=${german};facets=brand${key}`, {
      token: TOKENS.nord,
    });
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toContain('facets: allowed for JSON and XML only, the format is csv');
  });

  it.each([
    'colour',
    'brand,,feed',
    'brand,',
    'brand(1)',
    'priceRange',
    'priceRange()',
    'priceRange(10,5)',
    'priceRange(5,5)',
    'priceRange(-1)',
    'priceRange(1.234)',
    'priceRange(1),priceRange(2)',
    `priceRange(${Array.from({ length: 21 }, (_, at) => at).join(',')})`,
  ])('refuse %s', async (facets) => {
    const answer = await app.get(`/1.0/products;fid=${german};facets=${facets}`, { token: TOKENS.nord });
    expect(refusals(answer)).toMatchObject([{ code: 'PF_430' }]);
    expect(answer.body).toContain(
      `facets=${facets}: expected some of brand, tdCategoryId, category, priceRange(10,50,100), feed`,
    );
  });

  it.each([
    ['brand,brand', ['brand']],
    ['FEED, Brand', ['brand', 'feed']],
    [`priceRange(${Array.from({ length: 20 }, (_, at) => at).join(',')})`, ['priceRange']],
    ['pricerange( 1 , 2.5 )', ['priceRange']],
  ])('accept %s', async (sent, names) => {
    const { facets } = await search(`;fid=${german};facets=${encodeURIComponent(sent)}`);
    expect(Object.keys(facets!)).toEqual(names);
  });
});
