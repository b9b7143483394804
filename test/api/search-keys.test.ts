import { type Response, TestApp } from '../support/app';
import { missingFrom, SEARCH_KEYS } from './document-tables';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, product, refusals } from './posted';
import { ALL, DAYS, FINDS, LAMP, LJUD, PHONES, SOFA } from './search-cases';

const { german, swedish, unconnected } = FEEDS;
const token = TOKENS.nord;

let app: TestApp;
let now = new Date(DAYS[0]);
const { post, search } = clientOf(() => app);

beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK, now: () => now });
  await post(german, [LAMP]);
  now = new Date(DAYS[1]);
  await post(german, [PHONES]);
  now = new Date(DAYS[2]);
  await post(german, [SOFA]);
  await post(swedish, [LJUD]);
});
afterAll(() => app.close());

describe('a search key (Document 1, Search products; decisions P4, P5, P6, X12, X13)', () => {
  it.each(FINDS)('%s: ;%s finds %j', async (_, sent, found) => {
    const { ids, totalHits } = await search(`;fid=${german},${swedish};${sent}`);
    expect([ids.toSorted(), totalHits]).toEqual([found.toSorted(), found.length]);
  });

  it('as an upper bound includes the day of a date, to its last millisecond (decisions A17)', async () => {
    for (const [id, time] of [
      ['first', '2026-03-05T00:00:00.000Z'],
      ['last', '2026-03-05T23:59:59.999Z'],
      ['after', '2026-03-06T00:00:00.000Z'],
    ] as const) {
      now = new Date(time);
      await post(unconnected, [product(id)]);
    }
    const found = async (keys: string) => (await search(`;fid=${unconnected};${keys}`)).ids.toSorted();
    expect(await found('minUpdateDate=2026-03-05;maxUpdateDate=2026-03-05')).toEqual(['first', 'last']);
    expect(await found('maxUpdateDate=2026-03-04')).toEqual([]);
    expect(await found('minUpdateDate=2026-03-06;maxUpdateDate=2026-03-06')).toEqual(['after']);
  });

  it.each([false, true])('q may have at most 1,000 words (decisions X14), grouped: %s', async (grouped) => {
    const words = (count: number) => Array.from({ length: count }, (_, at) => `w${at}`).join('+');
    const keys = `;fid=${german};groupOffersByProduct=${grouped};q=sofa,`;
    expect((await search(keys + words(999))).ids).toEqual(['so,fa']);
    const refused = await app.get(`/1.0/products${keys}${words(1000)}`, { token });
    expect(refusals(refused)).toMatchObject([{ code: 'PF_430' }]);
  });

  it('combines with all others, in any order and spelling (decisions A2, P5)', async () => {
    const { ids } = await search(`;MAXPRICE=10;;brand=;unknown=1;q=lampe;fid=${german};fid=${swedish};`);
    expect(ids.toSorted()).toEqual(['lamp', 'phones']);
    expect((await search(`;fid=${german};q=lampe;maxPrice=10;brand=x`)).ids).toEqual([]);
  });
});

const get = (target: string) => app.get(target, { token });
const hits = (response: Response) =>
  response.json<{ productHeader: { totalHits: number } }>().productHeader.totalHits;

/** Keys that do not choose what is found. */
const OTHERS: readonly (readonly [key: string, what: string, test: () => Promise<void>])[] = [
  [
    'token',
    'is required',
    async () => expect((await app.get(`/1.0/products;fid=${german}`)).statusCode).toBe(400),
  ],
  [
    'fid',
    'is required, and takes several feeds',
    async () => {
      expect(refusals(await get('/1.0/products'))).toMatchObject([{ code: 'PF_200' }]);
      expect((await search(`;fid=${swedish}`)).ids).toEqual(['ljud']);
      expect((await search(`;fid=${swedish};fid=${german},${swedish}`)).totalHits).toBe(4);
    },
  ],
  [
    'sourceproducturl',
    'is for publishers, behind ? too (decisions A3), and ignored of advertisers (decisions P27)',
    async () => {
      const offers = async (keys: string, by: 'nord' | 'preisblick') =>
        (await search(`;fid=${german};spId=lamp${keys}`, by)).products[0]?.offers[0];
      expect(await offers(';sourceProductURL=true', 'preisblick')).toMatchObject({
        sourceProductUrl: 'https://shop.example/lamp',
      });
      expect(await offers('?sourceproducturl=true', 'preisblick')).toHaveProperty('sourceProductUrl');
      expect(await offers(';sourceproducturl=false', 'preisblick')).not.toHaveProperty('sourceProductUrl');
      expect(await offers('', 'preisblick')).not.toHaveProperty('sourceProductUrl');
      expect(await offers(';sourceproducturl=true', 'nord')).not.toHaveProperty('sourceProductUrl');
    },
  ],
  [
    'orderBy',
    'orders',
    async () => {
      const ordered = async (by: string) => (await search(`;fid=${german},${swedish};orderBy=${by}`)).ids;
      expect(await ordered('priceAsc')).toEqual(ALL);
      expect(await ordered('PRICEDESC')).toEqual(ALL.toReversed());
      expect((await ordered('modificationDateAsc')).slice(0, 2)).toEqual(['lamp', 'phones']);
      expect((await ordered('modificationDateDesc')).slice(2)).toEqual(['phones', 'lamp']);
    },
  ],
  [
    'page',
    'and pageSize cut out a part',
    async () => {
      const page = async (keys: string) => (await search(`;fid=${german};orderBy=priceAsc;${keys}`)).ids;
      expect(await page('page=1;pageSize=2')).toEqual(['lamp', 'phones']);
      expect(await page('page=2;pageSize=2')).toEqual(['so,fa']);
    },
  ],
  [
    'pageSize',
    'is the most that is returned',
    async () =>
      expect(await search(`;fid=${german};pageSize=1`)).toMatchObject({ totalHits: 3, products: [{}] }),
  ],
  [
    'limit',
    'ends the whole, not the count (decisions P3)',
    async () =>
      expect(await search(`;fid=${german};limit=2`)).toMatchObject({ totalHits: 3, products: [{}, {}] }),
  ],
  [
    'groupOffersByProduct',
    'groups',
    async () => {
      const { products } = await search(`;fid=${german};groupoffersbyproduct=TRUE;q=headphones`);
      expect(products).toMatchObject([{ groupingId: 'ean00012345678905' }]);
    },
  ],
  [
    'priceHistory',
    'adds prices',
    async () => {
      const offer = async (keys: string) =>
        (await search(`;fid=${german};spId=lamp${keys}`)).products[0]?.offers[0];
      expect(await offer(';priceHistory=true')).toHaveProperty('priceHistory');
      expect(await offer(';priceHistory=false')).not.toHaveProperty('priceHistory');
      expect(await offer('')).not.toHaveProperty('priceHistory');
    },
  ],
  [
    'dateOutputFormat',
    'of iso8601 gives ISO dates, of anything else milliseconds (decisions A2, X20)',
    async () => {
      const modified = async (format: string) =>
        (await search(`;fid=${german};spId=lamp;dateOutputFormat=${format}`)).products[0]?.offers[0]
          ?.modified;
      expect(await modified('iso8601')).toBe('2026-03-01T00:00:00.000Z');
      for (const format of ['epoch', 'nonsense', '%ff', 'a;dateOutputFormat=b', ''])
        expect(await modified(format)).toBe(Date.parse(DAYS[0]));
    },
  ],
  [
    'pretty',
    'adds line breaks (Document 1, Conventions 6)',
    async () => {
      const { body } = await get(`/1.0/products;fid=${german};spId=lamp;pretty=true`);
      expect(body).toContain('{\n  "productHeader": {\n');
      expect((await get(`/1.0/products;fid=${german};spId=lamp`)).body).not.toContain('\n');
      expect((await get(`/1.0/products.xml;fid=${german};pretty=true`)).body).toMatch(
        />\n +<productHeader>\n/,
      );
    },
  ],
  [
    'jsonp',
    'calls a function (Document 1, Conventions 5; decisions A5)',
    async () => {
      const plain = await get(`/1.0/products;fid=${german}`);
      const called = await get(`/1.0/products.json;fid=${german}?jsonp=my.call`);
      expect(called.body).toBe(`/**/my.call(${plain.body}, undefined, undefined);`);
      expect(called.headers['content-type']).toBe('application/javascript; charset=utf-8');
      const failed = await get(`/1.0/products;fid=99?jsonp=f`);
      expect([failed.statusCode, failed.body]).toEqual([
        200,
        '/**/f(undefined, 400, "fid=99: the feed does not belong to a program of the caller");',
      ]);
      expect(refusals(await get(`/1.0/products.json;fid=${german}?jsonp=f(`))).toMatchObject([
        { code: 'PF_430' },
      ]);
      expect((await get(`/1.0/products.xml;fid=${german}?jsonp=f`)).body).toContain('<code>PF_430</code>');
    },
  ],
];

describe('a key for the answer (Document 1, Search products)', () => {
  it.each(OTHERS)('%s %s', (_key, _what, test) => test());
});

describe('positions of keys (decisions A2, A3)', () => {
  it.each([
    ['behind the extension', `/1.0/products.json;fid=${german}`],
    ['behind another segment', `/1.0;fid=${german}/products`],
    ['before a slash', `/1.0/products;fid=${german}/`],
    ['with a slash before ?', `/1.0/products;fid=${german}/?x=1`],
  ])('%s', async (_, target) => {
    expect(hits(await get(target))).toBe(3);
  });
});

it('this file has each key of the document', () => {
  expect(
    missingFrom(
      SEARCH_KEYS,
      [...FINDS, ...OTHERS].map(([key]) => key),
    ),
  ).toEqual([]);
});
