import { type Response, TestApp } from '../support/app';
import { missingFrom, SEARCH_KEYS } from './document-tables';
import { type Client, CLIENTS, FEEDS, NETWORK, TOKENS, VISIBLE } from './network';
import { clientOf, outcome, product, refusals } from './posted';
import { ALL, DAYS, FINDS, LAMP, LJUD, PHONES, SOFA } from './search-cases';

describe('search keys', () => {
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
      const run = (count: number) =>
        encodeURIComponent(
          Array.from({ length: count }, (_, at) => String.fromCodePoint(0x4e00 + at)).join(''),
        );
      expect((await search(keys + run(1002))).ids).toEqual(['so,fa']);
      const long = await app.get(`/1.0/products${keys}${run(5000)}`, { token });
      expect(refusals(long)).toMatchObject([
        { code: 'PF_430', message: expect.stringContaining('q has 4998 different words') as string },
      ]);
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
});

describe('a search without fid', () => {
  /** A product of each feed, with the name of the feed as its id. */
  async function startWith(settings: Readonly<Record<string, string>>): Promise<TestApp> {
    const app = await TestApp.start({ network: NETWORK, settings });
    const { post } = clientOf(() => app);
    for (const [name, fid] of Object.entries(FEEDS))
      await post(fid, [product(name)], { by: name === 'italian' ? 'casa' : 'nord' });
    await app.settled();
    return app;
  }

  let app: TestApp;
  const { search } = clientOf(() => app);

  const paths = ['products', 'products.xml', 'products.csv', 'products;fid='];

  afterEach(() => app.close());

  it('is refused by default: PF_200 (Document 1, Search products; decisions X13)', async () => {
    app = await startWith({});
    for (const path of ['products', 'products;q=x', 'products;fid=', 'products;format=csv']) {
      const answer = await app.get(`/1.0/${path}`, { token: TOKENS.preisblick });
      expect([path, outcome(answer)]).toEqual([path, '400 PF_200']);
      expect(answer.body).toContain('fid is missing');
    }
  });

  it('covers all feeds of the caller with SEARCH_ALL_FEEDS=true, and no other (decisions X13)', async () => {
    app = await startWith({ SEARCH_ALL_FEEDS: 'true' });
    const idsFor = async (client: Client, keys = ''): Promise<readonly string[]> =>
      (await search(keys, client)).ids.toSorted();
    for (const client of CLIENTS)
      expect([client, await idsFor(client)]).toEqual([client, VISIBLE[client].toSorted()]);
    expect(await idsFor('preisblick', ';currency=SEK')).toEqual(['shared']);
    expect(await idsFor('preisblick', ';language=it')).toEqual(['italian']);
    expect(await idsFor('preisblick', ';groupOffersByProduct=true')).toEqual(VISIBLE.preisblick.toSorted());
    expect(await idsFor('preisblick', `;fid=${FEEDS.german}`)).toEqual(['german']);
    for (const path of paths) {
      const { statusCode, body } = await app.get(`/1.0/${path}`, { token: TOKENS.preisblick });
      expect([path, statusCode]).toEqual([path, 200]);
      for (const name of VISIBLE.preisblick) expect(body).toContain(`Product ${name}`);
    }
    const foreign = await app.get(`/1.0/products;fid=${FEEDS.swedish}`, { token: TOKENS.preisblick });
    expect(outcome(foreign)).toBe('400 PF_392');
    const download = await app.get('/1.0/productsUnlimited', { token: TOKENS.preisblick });
    expect(outcome(download)).toBe('400 PF_200');
  });

  it('is paged by cursor like any other (decisions P28, X13)', async () => {
    app = await startWith({ SEARCH_ALL_FEEDS: 'true' });
    const found: string[] = [];
    for (let cursor = '*'; cursor !== '';) {
      const answer = await app.get(`/1.0/products;pageSize=3;cursor=${encodeURIComponent(cursor)}`, {
        token: TOKENS.nord,
      });
      const { productHeader, products } = answer.json<{
        productHeader: { nextCursor?: string };
        products: readonly { offers: readonly { sourceProductId: string }[] }[];
      }>();
      found.push(...products.flatMap(({ offers }) => offers.map(({ sourceProductId }) => sourceProductId)));
      cursor = productHeader.nextCursor ?? '';
    }
    expect(found.toSorted()).toEqual(VISIBLE.nord.toSorted());
  });
});

const FEED = FEEDS.german;
const WORDS = Array.from({ length: 900 }, (_, n) => `word${n}`);

describe('a search for very many words (decisions X14, X71)', () => {
  let app: TestApp;
  const { post, search } = clientOf(() => app);
  const q = WORDS.map((word) => `;q=${word}`).join('');
  const start = async (time: string): Promise<void> => {
    app = await TestApp.start({ network: NETWORK, settings: { SEARCH_TIME: time } });
    const products = Array.from({ length: 1_000 }, (_, n) =>
      product(`p${n}`, {
        name: WORDS.slice(n % 800, (n % 800) + 1 + (n % 50)).join(' '),
        description: WORDS.slice(n % 700, (n % 700) + 100).join(' '),
      }),
    );
    await post(FEED, products);
    await app.settled();
  };
  afterEach(() => app.close());

  it('finds the products with the most of them in the title first', async () => {
    await start('60s');
    const { totalHits, products } = await search(`;fid=${FEED}${q};pageSize=1000`);
    expect(totalHits).toBe(1_000);
    const counts = products.map(({ name }) => name.split(' ').length);
    expect(counts).toEqual(counts.toSorted((a, b) => b - a));
    expect(counts[0]).toBe(50);
  });

  it('is stopped after SEARCH_TIME, and the next search succeeds', async () => {
    await start('1ms');
    const answer = await app.get(`/1.0/products;fid=${FEED}${q}`, { token: TOKENS.nord });
    expect(outcome(answer)).toBe('400 PF_430');
    expect(refusals(answer)[0]?.message).toContain('stopped after 0.001 s: use fewer words');
    // Over a server the time may be too short for this one too: it has its answer all the same.
    const next = await app.get(`/1.0/products;fid=${FEED};spId=p7`, { token: TOKENS.nord });
    expect([200, 400]).toContain(next.statusCode);
    if (next.statusCode === 400) expect(outcome(next)).toBe('400 PF_430');
    else expect(next.json<{ productHeader: unknown }>().productHeader).toMatchObject({ totalHits: 1 });
  });
});

describe('a page of products that are 8 MB together (decisions X72)', () => {
  const PRODUCTS = 60;
  const ids = Array.from({ length: PRODUCTS }, (_, n) => `p${n}`);
  let app: TestApp;
  const { post, search } = clientOf(() => app);
  beforeAll(async () => {
    app = await TestApp.start({ network: NETWORK });
    const products = ids.map((id, n) =>
      product(id, {
        price: 10 + n,
        description: `${id} ${'& '.repeat(70_000)}`,
        ean: String(4_000_000 + (n % 6)),
        fields: [{ name: `field ${n}`, value: id }],
      }),
    );
    for (let from = 0; from < PRODUCTS; from += 20) await post(FEED, products.slice(from, from + 20));
    await app.settled();
  });
  afterAll(() => app.close());

  const asked = `;fid=${FEED};orderBy=priceAsc;pageSize=1000`;

  it('has all of them, in order', async () => {
    const { products, totalHits } = await search(asked);
    expect(totalHits).toBe(PRODUCTS);
    expect(products.map(({ name }) => name)).toEqual(ids.map((id) => `Product ${id}`));
    expect(products.every(({ description }) => String(description).length > 140_000)).toBe(true);
  });

  it('has them in XML, and all columns in CSV', async () => {
    const xml = await app.get(`/1.0/products.xml${asked}`, { token: TOKENS.nord });
    expect([...xml.body.matchAll(/<ns2:name>Product (p\d+)</g)].map(([, id]) => id)).toEqual(ids);
    expect(xml.body.endsWith('</products></result>')).toBe(true);
    const csv = await app.get(`/1.0/products.csv${asked};csvFlattenFields=true`, { token: TOKENS.nord });
    const [header = '', ...rows] = csv.body.split('\r\n').slice(0, -1);
    expect(rows).toHaveLength(PRODUCTS);
    expect(ids.every((_, n) => header.includes(`(field)field ${n}"`))).toBe(true);
  });

  it('has whole groups; of a single group above 4 MB the cheapest offers (decisions X7)', async () => {
    const { products, totalHits } = await search(`${asked};groupOffersByProduct=true`);
    expect(totalHits).toBe(6);
    const offers = products.map((one) => one.offers.map(({ sourceProductId }) => sourceProductId));
    expect(offers).toEqual(ids.slice(0, 6).map((_, n) => ids.filter((__, at) => at % 6 === n)));
  });
});
