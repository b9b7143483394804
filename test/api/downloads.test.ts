import { gunzipSync } from 'node:zlib';
import { parse as parseCsv } from 'csv-parse/sync';
import { type Response, TestApp } from '../support/app';
import { generateProducts } from '../../bench/generate';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, type FoundProduct, FULL, outcome, product } from './posted';
import { parse } from './xml-elements';

describe('downloads', () => {
  const { german, swedish, shared, unconnected } = FEEDS;

  let now = new Date('2026-05-01T12:00:00Z');
  let app: TestApp;
  const { post, search } = clientOf(() => app);
  const get = (keys: string, headers = {}, token: string = TOKENS.preisblick) =>
    app.get(`/1.0/productsUnlimited${keys}`, { token, headers });

  interface Download {
    readonly productHeader: { readonly totalHits: number };
    readonly products: readonly FoundProduct[];
  }
  const idsOf = ({ products }: Download) =>
    products.flatMap(({ offers }) => offers.map(({ sourceProductId }) => sourceProductId));

  const FEW = [FULL, ...Array.from({ length: 24 }, (_, at) => product(`p${at}`, { price: at }))];
  const HIDDEN = product('hidden', { categories: [{ name: 'mapped to nothing' }] });

  beforeAll(async () => {
    app = await TestApp.start({ network: NETWORK, now: () => now });
    await post(german, FEW);
    await post(german, [HIDDEN]);
  });
  afterAll(() => app.close());

  describe('bulk download (Document 1, Bulk download of a feed)', () => {
    it('has all products that a search finds, in the same shape, by offer id, one per line (decisions P17)', async () => {
      const found = await search(`;fid=${german};pageSize=1000`, 'preisblick');
      const answer = await get(`.json;fid=${german}`);
      expect(answer.statusCode).toBe(200);
      expect(answer.headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'x-content-type-options': 'nosniff',
      });
      const { productHeader, products } = answer.json<Download>();
      expect(productHeader).toEqual({ totalHits: FEW.length });
      const byId = (one: FoundProduct, other: FoundProduct) =>
        one.offers[0]!.id < other.offers[0]!.id ? -1 : 1;
      expect(products).toEqual([...found.products].sort(byId));
      const lines = answer.body.split('\n');
      expect(lines[0]).toBe(`{"productHeader":{"totalHits":${FEW.length}},"products":[`);
      expect(lines.slice(1, -1).map((line) => JSON.parse(line.replace(/,$/, '')) as object)).toEqual(
        products,
      );
      expect(lines.at(-1)).toBe(']}');
    });

    it('shows the advertiser its own unmapped products too (decisions P13)', async () => {
      const { productHeader } = (await get(`;fid=${german}`, {}, TOKENS.nord)).json<Download>();
      expect(productHeader.totalHits).toBe(FEW.length + 1);
    });

    it('is the same text as a search in XML', async () => {
      const one = await app.get(`/1.0/products.xml;fid=${german};spId=p3`, { token: TOKENS.preisblick });
      const [, element] = /(<product .*<\/product>)/.exec(one.body) ?? [];
      for (const keys of ['', ';pretty=true']) {
        const answer = await get(`.xml;fid=${german}${keys}`);
        expect(answer.headers['content-type']).toBe('application/xml; charset=utf-8');
        const root = await parse(answer.body);
        expect(root.children[0]!.children[0]!.text).toBe(String(FEW.length));
        expect(root.children[1]!.children).toHaveLength(FEW.length);
        if (keys === '') expect(answer.body).toContain(element);
      }
    });

    it.each([
      ['.csv', 'TDProductId'],
      [';format=csv', 'sourceProductId'],
      [';format=csv;csvSeparators=%7C%2C%3B;csvEmbrace=%27;csvFlattenFields=true', 'sourceProductId'],
    ])('is CSV by %s (decisions P14, P15, P16)', async (keys, id) => {
      const [extension, ...rest] = keys.split(';');
      const answer = await get(`${extension};${[`fid=${german}`, ...rest].join(';')}`);
      expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8');
      const isOwn = keys.includes('csvEmbrace');
      const options = isOwn ? { delimiter: '|', quote: "'", escape: "'" } : {};
      const rows: Record<string, string>[] = parseCsv(answer.body, { columns: true, ...options });
      const ids = idsOf((await get(`;fid=${german}`)).json<Download>());
      expect(rows.map((row) => row[id])).toEqual(ids);
      const full = rows.find((row) => row[id] === FULL.sourceProductId);
      expect(isOwn ? [full?.['(field)Colour'], full?.fields] : full?.fields).toEqual(
        isOwn ? ['Black', ''] : 'Colour:Black;Cable:',
      );
    });

    it('has line breaks with pretty=true, and the same data', async () => {
      const pretty = await get(`;fid=${german};pretty=true`);
      expect(pretty.body).toContain('\n    {\n      "name"');
      expect(pretty.json()).toEqual((await get(`;fid=${german}`)).json());
      expect((await get(`;fid=${swedish};pretty=true`, {}, TOKENS.preisblickAll)).json()).toEqual({
        productHeader: { totalHits: 0 },
        products: [],
      });
    });

    it('supports jsonp (Document 1, Conventions 5; decisions A5)', async () => {
      await post(shared, [product('\u2028')]);
      const script = await app.get(`/1.0/productsUnlimited;fid=${shared}?jsonp=take.it`, {
        token: TOKENS.preisblick,
      });
      expect(script.headers['content-type']).toBe('application/javascript; charset=utf-8');
      const json = await get(`;fid=${shared}`);
      expect(script.body).toBe(`/**/take.it(${json.body}, undefined, undefined);`);
      expect(script.body).toContain('"sourceProductId":"\\u2028"');
      const csv = await app.get(`/1.0/productsUnlimited.csv;fid=${shared}?jsonp=f`, {
        token: TOKENS.preisblick,
      });
      expect(csv.body).toMatch(/^\/\*\*\/f\(undefined, 400, "jsonp=f: allowed for JSON only/);
    });

    it('has the URL without tracking for publishers on request (decisions A3, P27)', async () => {
      const urlOf = (answer: Response) =>
        answer.json<{ products: { offers: { sourceProductUrl?: string }[] }[] }>().products[0]!.offers[0]!
          .sourceProductUrl;
      expect(urlOf(await get(`;fid=${german};sourceproducturl=true`))).toContain('https://shop.example/');
      expect(urlOf(await get(`;fid=${german}`))).toBeUndefined();
      expect(urlOf(await get(`;fid=${german};sourceproducturl=true`, {}, TOKENS.nord))).toBeUndefined();
    });

    it('has past prices and ISO dates on request (decisions P10)', async () => {
      const { products } = (
        await get(`;fid=${german};priceHistory=true;dateOutputFormat=iso8601`)
      ).json<Download>();
      expect(products.find(({ name }) => name === 'Product p3')?.offers).toMatchObject([
        {
          modified: now.toISOString(),
          priceHistory: [{ price: { value: '3.00', currency: 'EUR' }, date: now.toISOString() }],
        },
      ]);
    });

    it.each([
      [';compress=gz', {}],
      ['', { 'accept-encoding': 'br, gzip;q=0.5' }],
    ])('is compressed by %s %j (decisions P17)', async (keys, headers) => {
      const answer = await get(`;fid=${german}${keys}`, headers);
      expect(answer.headers).toMatchObject({ 'content-encoding': 'gzip' });
      expect(gunzipSync(answer.rawPayload).toString()).toBe((await get(`;fid=${german}`)).body);
      expect((await get(`;fid=${german}`, { 'accept-encoding': 'gzip;q=0' })).headers).not.toHaveProperty(
        'content-encoding',
      );
    });

    it('is refused for unusable keys and for feeds of others', async () => {
      const cases: readonly (readonly [string, string])[] = [
        ['', '400 PF_200'],
        [';fid=x', '400 PF_260'],
        [`;fid=${unconnected}`, '400 PF_392'],
        [`;fid=${german};page=0`, '400 PF_430'],
        [`;fid=${german};pageSize=0`, '400 PF_430'],
        [`;fid=${german};page=one`, '400 PF_260'],
        [`;fid=${german};compress=zip`, '400 PF_430'],
        [`;fid=${german};format=csv;csvSeparators=%2C%2C%3A`, '400 PF_430'],
      ];
      for (const [keys, expected] of cases)
        expect([keys, outcome(await get(keys))]).toEqual([keys, expected]);
      const beforeFirst = await get(`;fid=${german};page=0`);
      expect(beforeFirst.json()).toMatchObject({
        errors: [{ message: 'page=0: expected an integer of at least 1, pages start at 1' }],
      });
      expect(outcome(await app.get(`/1.0/productsUnlimited;fid=${german}`))).toBe('400 1');
      expect(outcome(await app.delete('/1.0/productsUnlimited', { token: TOKENS.nord }))).toBe('405 405');
    });
  });

  describe('pages of a download (decisions P17, X50)', () => {
    it.each(['.json', '.xml', '.csv'])('together are the whole feed in %s', async (format) => {
      const count = async (answer: Response): Promise<string[]> => {
        if (format === '.json') return idsOf(answer.json<Download>());
        if (format === '.csv')
          return parseCsv<Record<string, string>>(answer.body, { columns: true }).map(
            ({ TDProductId = '' }) => TDProductId,
          );
        const [, products] = (await parse(answer.body)).children;
        return products!.children.map(
          ({ children }) => children.at(-1)!.children[0]!.attributes.sourceProductId!,
        );
      };
      const whole = await count(await get(`${format};fid=${german}`));
      for (const size of [1, 7, FEW.length]) {
        const pages: string[] = [];
        for (let page = 1; page <= Math.ceil(FEW.length / size) + 1; page += 1) {
          const some = await count(await get(`${format};fid=${german};page=${page};pageSize=${size}`));
          expect(some.length).toBeLessThanOrEqual(size);
          pages.push(...some);
        }
        expect(pages).toEqual(whole);
      }
      expect(await count(await get(`${format};fid=${german};pageSize=4`))).toEqual(whole.slice(0, 4));
      expect(await count(await get(`${format};fid=${german};page=2`))).toEqual([]);
    });
  });

  it('pages of a download in CSV have the columns of the whole feed, custom fields too (decisions P16)', async () => {
    const headerOf = async (keys: string): Promise<string> => {
      const { body } = await get(`;fid=${german};format=csv;csvFlattenFields=true${keys}`);
      return body.slice(0, body.indexOf('\r\n'));
    };
    const whole = await headerOf('');
    expect(whole).toContain('"(field)Cable","(field)Colour","fields"');
    // One product alone has custom fields.
    for (let page = 1; page <= 4; page += 1) expect(await headerOf(`;page=${page};pageSize=7`)).toBe(whole);
  });

  describe('the ETag of a download (decisions P17)', () => {
    const etagOf = async (keys: string, headers = {}, token: string = TOKENS.preisblick) =>
      String((await get(keys, headers, token)).headers.etag);

    it('stays while the content stays, and If-None-Match is then answered 304', async () => {
      const etag = await etagOf(`;fid=${german}`);
      await post(german, FEW);
      expect(await etagOf(`;fid=${german}`)).toBe(etag);
      const headers = { 'if-none-match': `"other", W/${etag}` };
      const answer = await get(`;fid=${german}`, headers);
      expect([answer.statusCode, answer.body, answer.headers.etag]).toEqual([304, '', etag]);
      await post(german, [product('p1', { price: 77 })]);
      expect((await get(`;fid=${german}`, headers)).statusCode).toBe(200);
    });

    it('differs by site, format and keys', async () => {
      const etags = await Promise.all([
        etagOf(`;fid=${german}`),
        etagOf(`;fid=${german}`, {}, TOKENS.nord),
        etagOf(`;fid=${german}`, {}, TOKENS.deals),
        etagOf(`.xml;fid=${german}`),
        etagOf(`.csv;fid=${german}`),
        etagOf(`;fid=${german};format=csv`),
        etagOf(`;fid=${german};sourceproducturl=true`),
        etagOf(`;fid=${german};page=1`),
        etagOf(`;fid=${german};page=2`),
        etagOf(`;fid=${german};pretty=true`),
        etagOf(`;fid=${german};compress=gz`),
        etagOf(`;fid=${german};priceHistory=true`),
        etagOf(`;fid=${shared}`),
      ]);
      expect(new Set(etags).size).toBe(etags.length);
    });

    it('changes with joined data and with categories', async () => {
      const seen = new Set([await etagOf(`;fid=${german}`)]);
      const programs = NETWORK.programs.map((one) =>
        'id' in one && one.id === 101 ? { ...one, name: 'Nordlicht' } : one,
      );
      await app.import({ ...NETWORK, programs });
      seen.add(await etagOf(`;fid=${german}`));
      const [first, ...others] = NETWORK.categories;
      const categories = [{ ...first, names: { en: 'All' } }, ...others];
      await app.import({ ...NETWORK, programs, categories });
      await app.settled();
      const answer = await get(`;fid=${german}`);
      seen.add(String(answer.headers.etag));
      expect(answer.body).toContain('"tdCategoryName":"All"');
      expect(answer.body).toContain('"programName":"Nordlicht"');
      const mappings = [{ feedId: german, name: 'mapped to nothing', categoryId: '1' }];
      await app.import({ ...NETWORK, programs, categories, mappings });
      await app.settled();
      const mapped = await get(`;fid=${german}`);
      expect(mapped.json<Download>().productHeader.totalHits).toBe(FEW.length + 1);
      seen.add(String(mapped.headers.etag));
      expect(seen.size).toBe(4);
    });

    it('is returned to HEAD, without a body', async () => {
      const url = `/1.0/productsUnlimited;fid=${german}?token=${TOKENS.preisblick}`;
      const answer = await app.http.inject({ method: 'HEAD', url });
      expect([answer.statusCode, answer.body]).toEqual([200, '']);
      expect(answer.headers.etag).toBe(await etagOf(`;fid=${german}`));
    });
  });

  describe('the time of the last update (Document 1, Feed last-updated time; decisions P19)', () => {
    const timeOf = async (format = '', fid: number = german) =>
      (await get(`/lastUpdated${format};fid=${fid}`, {}, TOKENS.nord)).body;

    it('is that of the last load with changes, in UTC without an offset', async () => {
      now = new Date('2026-06-02T15:57:00.47Z');
      await post(german, [product('p2', { price: 9 })]);
      const changed = `{"feedIds":[${german}],"lastUpdatedTime":"2026-06-02T15:57:00.470"}`;
      expect(await timeOf()).toBe(changed);
      now = new Date('2026-06-03T15:57:00Z');
      await post(german, [product('p2', { price: 9 })]);
      expect(await timeOf('.json')).toBe(changed);
      expect(await timeOf('.xml')).toContain(
        `<result><feedIds><feedId>${german}</feedId></feedIds><lastUpdatedTime>2026-06-02T15:57:00.470</lastUpdatedTime></result>`,
      );
    });

    it('is null for a feed never loaded', async () => {
      expect(await timeOf('', unconnected)).toBe(`{"feedIds":[${unconnected}],"lastUpdatedTime":null}`);
      expect(await timeOf('.xml', unconnected)).toContain('<lastUpdatedTime/>');
    });

    it('is available to everyone who may see the feed', async () => {
      expect(outcome(await get(`/lastUpdated;fid=${unconnected}`))).toBe('400 PF_392');
      expect(outcome(await get('/lastUpdated'))).toBe('400 PF_200');
    });
  });
});

describe('download formats', () => {
  const { german } = FEEDS;

  /** Columns of CSV that hold one value each, and where JSON has them. */
  const ON_PRODUCT = [
    ...[
      'name',
      'description',
      'shortDescription',
      'brand',
      'manufacturer',
      'model',
      'size',
      'weight',
      'warranty',
    ],
    ...['techSpecs', 'promoText', 'inStock'],
  ];
  const ON_OFFER = [
    'feedId',
    'productUrl',
    'programName',
    'availability',
    'deliveryTime',
    'condition',
    'shippingCost',
  ];
  const IDENTIFIERS = ['ean', 'upc', 'isbn', 'mpn', 'sku'];

  /** A product of one offer as texts, whatever the format it came in; what is missing is an empty text. */
  type Row = Readonly<Record<string, string>>;

  const texts = (names: readonly string[], valueOf: (name: string) => unknown): Row =>
    Object.fromEntries(
      names.map((name) => {
        const value = valueOf(name);
        return [name, typeof value === 'number' ? String(value) : typeof value === 'string' ? value : ''];
      }),
    );

  let app: TestApp;
  const { post } = clientOf(() => app);

  beforeAll(async () => {
    app = await TestApp.start({ network: NETWORK });
    const odd = [
      product('a;b', {
        name: 'Lamp; "red", <small> & co: \r\n\tNo. 1',
        inStock: -3,
        categories: [{ id: '1' }, { name: 'x' }],
      }),
      product("'", { description: '\'\';:,""', brand: '=1+1', ean: '0' }),
    ];
    await post(german, [...generateProducts({ count: 400, categories: [{ id: '11' }] }), FULL, ...odd]);
  });
  afterAll(() => app.close());

  const download = async (keys: string): Promise<string> =>
    (await app.get(`/1.0/productsUnlimited${keys};fid=${german}`, { token: TOKENS.preisblick })).body;

  type Json = Readonly<Record<string, unknown>>;

  async function ofJson(): Promise<readonly Row[]> {
    const { products } = JSON.parse(await download('')) as {
      products: (Json & { identifiers?: Json; productImage: Json; offers: Json[] })[];
    };
    return products.map((one) => {
      const [offer = {}] = one.offers;
      return {
        ...texts(ON_PRODUCT, (name) => one[name]),
        ...texts(ON_OFFER, (name) => offer[name]),
        ...texts(IDENTIFIERS, (name) => one.identifiers?.[name]),
        ...texts(['url', 'width', 'height'], (name) => one.productImage[name]),
        ...texts(['id', 'sourceProductId', 'modified'], (name) => offer[name]),
        price: Number(offer.price).toFixed(2),
        language: String(one.language),
      };
    });
  }

  async function ofXml(): Promise<readonly Row[]> {
    const [, products] = (await parse(await download('.xml'))).children;
    return products!.children.map(({ attributes, children }) => {
      const own = new Map(children.map((child) => [child.name.replace('common ', ''), child]));
      const offer = own.get('offers')!.children[0]!;
      const ofOffer = new Map(offer.children.map((child) => [child.name.replace('common ', ''), child.text]));
      const image = own.get('productImage')!;
      return {
        ...texts([...ON_PRODUCT, ...IDENTIFIERS], (name) => own.get(name)?.text),
        ...texts(ON_OFFER, (name) => ofOffer.get(name)),
        ...texts(['width', 'height'], (name) => image.attributes[name]),
        ...texts(['id', 'sourceProductId'], (name) => offer.attributes[name]),
        url: image.text,
        modified: offer.attributes.modifiedDate!,
        price: ofOffer.get('price')!,
        language: attributes.language!,
      };
    });
  }

  async function ofCsv(): Promise<readonly Row[]> {
    const rows: Row[] = parseCsv(await download('.csv'), { columns: true });
    return rows.map((row) => ({
      ...texts(
        [...ON_PRODUCT, ...ON_OFFER, ...IDENTIFIERS, 'id', 'modified', 'price', 'language'],
        (name) => row[name],
      ),
      ...texts(['width', 'height'], (name) => row[name]),
      url: row.imageUrl!,
      sourceProductId: row.TDProductId!,
    }));
  }

  it('JSON, XML and CSV of a feed hold the same data (Document 1, Bulk download of a feed; decisions P14, P17)', async () => {
    const [json, xml, csv] = [await ofJson(), await ofXml(), await ofCsv()];
    expect(json).toHaveLength(403);
    expect(xml).toEqual(json);
    expect(csv).toEqual(json);
  });
});
