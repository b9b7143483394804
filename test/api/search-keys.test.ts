import { offerId } from '../../src/products/offer-id';
import { type Response, TestApp } from '../support/app';
import { missingFrom, SEARCH_KEYS } from './document-tables';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, product, refusals } from './posted';

const { german, swedish } = FEEDS;
const token = TOKENS.nord;
const DAYS = ['2026-03-01', '2026-03-02', '2026-03-03'] as const;

let app: TestApp;
let now = new Date(DAYS[0]);
const { post, search } = clientOf(() => app);

/** Products that differ in everything that can be looked for. */
const LAMP = product('lamp', {
  name: 'Crème-Lampe GRÖSSE 2',
  description: 'Straße, foo_bar 4-fold naïve',
  price: 9.99,
  categories: [{ id: '21', name: 'Lampen & Licht' }],
  brand: 'Ørsted',
  ean: '0401234567890',
  sku: 'S1',
  inStock: 5,
  availability: 'In Stock',
  condition: 'New',
  model: 'L-1',
  manufacturer: 'Ørsted A/S',
  shippingCost: 'Free',
  promoText: 'Two, for one',
  warranty: '2 Years',
  deliveryTime: '1-2 Days',
  weight: '250 G',
  size: 'XL',
  techSpecs: '5 W; 230 V',
  fields: [
    { name: 'Colour', value: 'Dark red' },
    { name: 'a=b', value: 'c' },
  ],
});
const PHONES = product('phones', {
  name: 'Headphones, grosse',
  description: 'A lampe on top? No.',
  price: 10,
  categories: [{ id: '111' }, { name: 'In-Ear, wired' }],
  brand: 'Straße',
  mpn: 'M/1',
  upc: '012345678905',
  isbn: '3-16-148410-X',
  inStock: 0,
});
const SOFA = product('so,fa', { name: 'Sofa', price: 10.01, categories: [{ id: '2' }] });
const LJUD = product('ljud', { name: 'Högtalare', price: 500, categories: [{ id: '12' }], inStock: 9 });

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

const ALL = ['lamp', 'phones', 'so,fa', 'ljud'];
const GERMAN = ['lamp', 'phones', 'so,fa'];
/** Seconds after midnight, UTC, of the second day. */
const second = (time: string) => encodeURIComponent(`${DAYS[1]}T${time}`);

/** Of each key: what is sent, and what is found of both feeds. */
const FINDS: readonly (readonly [key: string, sent: string, found: readonly string[]])[] = [
  ['q', 'q=sofa', ['so,fa']],
  ['q', 'q=SOFA%20lampe', []],
  ['q', 'q=creme', ['lamp']],
  ['q', 'q=lampe', ['lamp', 'phones']],
  ['q', 'q=grosse', ['lamp', 'phones']],
  ['q', 'q=GR%C3%96%C3%9FE', ['lamp', 'phones']],
  ['q', 'q=strasse+naive', ['lamp']],
  ['q', 'q=foo', []],
  ['q', 'q=foo_bar', ['lamp']],
  ['q', 'q=lamp', []],
  ['q', 'q=%22fold%204%22', ['lamp']],
  ['q', 'q=headphones,sofa', ['phones', 'so,fa']],
  ['q', 'q=headphones;q=sofa', ['phones', 'so,fa']],
  ['q', 'q=headphones%2Csofa', ['phones', 'so,fa']],
  ['q', 'q=headphones%252Csofa', []],
  ['q', 'q=*', ALL],
  ['q', 'q=', ALL],
  ['q', 'q=-!', ALL],
  ['q', 'q=hogtalare', ['ljud']],
  ['currency', 'currency=EUR', GERMAN],
  ['currency', 'currency=sek', ['ljud']],
  ['currency', 'currency=USD', []],
  ['minPrice', 'minPrice=10', ['phones', 'so,fa', 'ljud']],
  ['minPrice', 'pricemin=10.01', ['so,fa', 'ljud']],
  ['minPrice', 'minPrice=10.001', ['so,fa', 'ljud']],
  ['maxPrice', 'maxPrice=10', ['lamp', 'phones']],
  ['maxPrice', 'priceMax=10.009', ['lamp', 'phones']],
  ['maxPrice', 'maxPrice=9.98', []],
  ['minUpdateDate', 'minUpdateDate=2026-03-02', ['phones', 'so,fa', 'ljud']],
  ['minUpdateDate', `minUpdateDate=${Date.parse(DAYS[1]) + 1}`, ['so,fa', 'ljud']],
  ['minUpdateDate', `minUpdateDate=${second('01:00:00+01:00')}`, ['phones', 'so,fa', 'ljud']],
  ['minUpdateDate', `minUpdateDate=${DAYS[1]}T01:00:00+01:00`, ['phones', 'so,fa', 'ljud']],
  ['minUpdateDate', `minUpdateDate=${second('00:00:00.001Z')}`, ['so,fa', 'ljud']],
  ['maxUpdateDate', 'maxUpdateDate=2026-03-02', ['lamp', 'phones']],
  ['maxUpdateDate', `maxUpdateDate=${Date.parse(DAYS[1]) - 1}`, ['lamp']],
  ['maxUpdateDate', `maxUpdateDate=${second('00:00Z')}`, ['lamp', 'phones']],
  ['maxUpdateDate', `maxUpdateDate=${second('00:59:59+0100')}`, ['lamp']],
  ['tdCategoryId', 'tdCategoryId=2', ['lamp', 'so,fa']],
  ['tdCategoryId', 'tdCategoryId=1', ['phones', 'ljud']],
  ['tdCategoryId', 'tdCategoryId=11', ['phones']],
  ['tdCategoryId', 'tdCategoryId=12,21', ['lamp', 'ljud']],
  ['tdCategoryId', 'tdCategoryId=12;tdCategoryId=21', ['lamp', 'ljud']],
  ['tdCategoryId', 'tdCategoryId=999', []],
  ['category', 'category=lampen%20%26%20LICHT', ['lamp']],
  ['category', 'category=Lampen', []],
  ['category', 'category=in-ear%252C%20wired', ['phones']],
  ['category', 'category=in-ear,%20wired', []],
  ['brand', 'brand=%C3%B8RSTED', ['lamp']],
  ['brand', 'brands=orsted', []],
  ['brand', 'BRAND=strasse,%C3%98rsted', ['lamp', 'phones']],
  ['brand', 'brand=strasse;brands=x', ['phones']],
  ['spId', 'spId=lamp,ljud', ['lamp', 'ljud']],
  ['spId', 'spId=Lamp', []],
  ['spId', 'spId=so%252Cfa', ['so,fa']],
  ['tdId', `tdId=${offerId(german, 'lamp')},${offerId(swedish, 'ljud')}`, ['lamp', 'ljud']],
  ['tdId', `tdId=${offerId(swedish, 'lamp')}`, []],
  ['ean', 'ean=0401234567890', ['lamp']],
  ['ean', 'ean=401234567890', []],
  ['mpn', 'mpn=M%2F1', ['phones']],
  ['mpn', 'mpn=m%2F1', []],
  ['sku', 'sku=S2,S1', ['lamp']],
  ['upc', 'upc=012345678905', ['phones']],
  ['isbn', 'isbn=3-16-148410-X', ['phones']],
  ['language', 'language=SV', ['ljud']],
  ['language', 'language=de', GERMAN],
  ['language', 'language=fr', []],
  ['field', 'field=colour%3Ddark+RED', ['lamp']],
  ['field', 'field=Colour%3DDark', []],
  ['field', 'field=a%3Db%3Dc', ['lamp']],
  ['availability', 'availability=in%20stock', ['lamp']],
  ['availability', 'availability=stock', []],
  ['condition', 'condition=new,used', ['lamp']],
  ['model', 'model=l-1', ['lamp']],
  ['manufacturer', 'manufacturer=%C3%B8rsted%20a%2Fs', ['lamp']],
  ['shippingCost', 'shippingCost=FREE', ['lamp']],
  ['promoText', 'promoText=two%252C%20for%20one', ['lamp']],
  ['promoText', 'promoText=two,for%20one', []],
  ['warranty', 'warranty=2%20years', ['lamp']],
  ['deliveryTime', 'deliveryTime=1-2%20days', ['lamp']],
  ['weight', 'weight=250%20g', ['lamp']],
  ['size', 'size=xl', ['lamp']],
  ['techSpec', 'techSpec=5%20w%3B%20230%20v', ['lamp']],
  ['techSpec', 'techSpec=5%20w', []],
  ['minInStock', 'minInStock=5', ['lamp', 'ljud']],
  ['minInStock', 'minInStock=0', ['lamp', 'phones', 'ljud']],
  ['maxInStock', 'maxInStock=5', ['lamp', 'phones']],
  ['maxInStock', 'maxInStock=-1', []],
  ['fid', `fid=${german}`, ALL],
];

describe('a search key (Document 1, Search products; decisions P4, P5, P6)', () => {
  it.each(FINDS)('%s: ;%s finds %j', async (_, sent, found) => {
    const { ids, totalHits } = await search(`;fid=${german},${swedish};${sent}`);
    expect([ids.toSorted(), totalHits]).toEqual([found.toSorted(), found.length]);
  });

  it.each([false, true])(
    'q may have 1,000 words, and no more (decisions X14), grouped: %s',
    async (grouped) => {
      const words = (count: number) => Array.from({ length: count }, (_, at) => `w${at}`).join('+');
      const keys = `;fid=${german};groupOffersByProduct=${grouped};q=sofa,`;
      expect((await search(keys + words(999))).ids).toEqual(['so,fa']);
      const refused = await app.get(`/1.0/products${keys}${words(1000)}`, { token });
      expect(refusals(refused)).toMatchObject([{ code: 'PF_430' }]);
    },
  );

  it('holds together with all others, whatever their order and spelling (decisions A2, P5)', async () => {
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
    'of iso8601 gives ISO dates, of anything else milliseconds (decisions A2)',
    async () => {
      const modified = async (format: string) =>
        (await search(`;fid=${german};spId=lamp;dateOutputFormat=${format}`)).products[0]?.offers[0]
          ?.modified;
      expect(await modified('iso8601')).toBe('2026-03-01T00:00:00.000Z');
      for (const format of ['epoch', 'nonsense', ''])
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

describe('a key of the answer (Document 1, Search products)', () => {
  it.each(OTHERS)('%s %s', (_key, _what, test) => test());
});

describe('where keys stand (decisions A2, A3)', () => {
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
