import { parse as parseCsv } from 'csv-parse/sync';
import { offerId } from '../../src/domain/products/offer';
import { type Response, TestApp, TestApp as App } from '../support/app';
import { pauseRendering } from '../support/pause-call';
import { missingFrom, OFFER_FIELDS, OUTPUT_FIELDS } from './document-tables';
import { type Client, FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, FULL, product, refusals } from './posted';
import { COMMON, el, OUTPUT, parse } from './xml-elements';

describe('output', () => {
  const { german, shared } = FEEDS;
  const FIRST = '2026-03-01T12:00:00.000Z';
  const SECOND = '2026-03-02T12:30:00.500Z';

  let app: TestApp;
  let now = new Date(FIRST);
  const { post, search } = clientOf(() => app);

  beforeAll(async () => {
    app = await App.start({ network: NETWORK, now: () => now });
    await post(german, [{ ...FULL, price: '1199' }]);
    now = new Date(SECOND);
    await post(german, [FULL]);
    await post(shared, [
      product('bare', { price: 3, categories: [{ name: 'Kopfhörer', tdCategoryName: 'Kopfhörer' }] }),
    ]);
  });
  afterAll(() => app.close());

  const LINK =
    'https://pdt.affilog.example/click?a(1101)p(101)product(22001-full%20%281%29)ttid(19)' +
    'url(https%3A%2F%2Fshop.example%2Fp%3Fa%3D1%26b%3D%282%29)';
  const ID = offerId(german, FULL.sourceProductId);

  /** What a publisher is answered that asks for everything. */
  const EVERYTHING = {
    name: FULL.name,
    description: FULL.description,
    productImage: FULL.productImage,
    categories: [{ id: '11', name: 'Over-Ear', tdCategoryName: 'Headphones' }, { name: 'Nowhere' }],
    language: 'de',
    identifiers: {
      ean: '0012345678905',
      sku: 'SKU-1',
      upc: '012345678905',
      isbn: '978-3-16-148410-0',
      mpn: 'MPN/1',
    },
    fields: FULL.fields,
    offers: [
      {
        id: ID,
        feedId: german,
        sourceProductId: FULL.sourceProductId,
        programName: 'Nordlicht DE',
        productUrl: LINK,
        sourceProductUrl: FULL.productUrl,
        price: 1249.5,
        priceHistory: [
          { price: { value: '1249.50', currency: 'EUR' }, date: SECOND },
          { price: { value: '1199.00', currency: 'EUR' }, date: FIRST },
        ],
        modified: SECOND,
        availability: 'in stock',
        deliveryTime: '1-2 days',
        condition: 'new',
        shippingCost: '4.95',
      },
    ],
    brand: FULL.brand,
    manufacturer: FULL.manufacturer,
    model: FULL.model,
    size: FULL.size,
    techSpecs: FULL.techSpecs,
    warranty: FULL.warranty,
    weight: FULL.weight,
    promoText: FULL.promoText,
    shortDescription: FULL.shortDescription,
    inStock: 7,
    programLogo: 'https://nord.example/de.png',
    groupingId: 'ean00012345678905',
  };

  const ALL_KEYS = ';sourceproducturl=true;priceHistory=true;dateOutputFormat=iso8601';

  describe('an answer in JSON (Document 1, Product (search and bulk output))', () => {
    it('has exactly the documented fields', async () => {
      const { headers, body } = await app.get(`/1.0/products;fid=${german}${ALL_KEYS}`, {
        token: TOKENS.preisblick,
      });
      expect(headers['content-type']).toBe('application/json; charset=utf-8');
      expect(JSON.parse(body)).toEqual({ productHeader: { totalHits: 1 }, products: [EVERYTHING] });
      expect(missingFrom(OUTPUT_FIELDS, Object.keys(EVERYTHING))).toEqual([]);
      expect(missingFrom(OFFER_FIELDS, Object.keys(EVERYTHING.offers[0]!))).toEqual([]);
    });

    it('omits fields that were not posted, and names the platform category in English (decisions P13)', async () => {
      const { products } = await search(`;fid=${shared}`, 'preisblick');
      expect(products).toEqual([
        {
          name: 'Product bare',
          description: 'As good as any.',
          productImage: { url: 'https://img.example/1.jpg' },
          categories: [{ id: '11', name: 'Kopfhörer', tdCategoryName: 'Headphones' }],
          language: 'en',
          offers: [
            {
              id: offerId(shared, 'bare'),
              feedId: shared,
              sourceProductId: 'bare',
              programName: 'Nordlicht DE',
              productUrl: `https://pdt.affilog.example/click?a(1101)p(101)product(${shared}-bare)ttid(19)url(https%3A%2F%2Fshop.example%2Fbare)`,
              price: 3,
              modified: Date.parse(SECOND),
            },
          ],
          programLogo: 'https://nord.example/de.png',
          groupingId: offerId(shared, 'bare'),
        },
      ]);
    });

    it('has the advertiser’s own URLs for the advertiser', async () => {
      const [found] = (await search(`;fid=${german}`)).products;
      expect(found?.offers[0]?.productUrl).toBe(FULL.productUrl);
    });

    it('has an empty list when nothing is found', async () => {
      const { body } = await app.get(`/1.0/products;fid=${german};q=nothing`, { token: TOKENS.nord });
      expect(body).toBe('{"productHeader":{"totalHits":0},"products":[]}');
    });
  });

  describe('an answer in XML (Document 1, Product (search and bulk output), XML response shape)', () => {
    const xmlOf = async (keys: string, by: Client = 'preisblick') =>
      (await app.get(`/1.0/products.xml;fid=${keys}`, { token: TOKENS[by] })).body;

    it('starts with the root result, its namespaces and version', async () => {
      const answer = await app.get(`/1.0/products.xml;fid=${german}`, { token: TOKENS.preisblick });
      expect(answer.headers['content-type']).toBe('application/xml; charset=utf-8');
      expect(answer.body).toMatch(
        new RegExp(
          `^<\\?xml version="1.0" encoding="UTF-8"\\?><result version="3.0" xmlns="${OUTPUT}" xmlns:ns2="${COMMON}">`,
        ),
      );
    });

    it('has every field in its place (decisions X18)', async () => {
      const root = await parse(await xmlOf(`${german}${ALL_KEYS}`));
      const date = { dateFormat: 'iso8601' };
      expect(root).toEqual(
        el(
          'result',
          { version: '3.0' },
          el('productHeader', {}, el('totalHits', {}, '1')),
          el(
            'products',
            {},
            el(
              'product',
              { language: 'de', groupingId: 'ean00012345678905' },
              el('common name', {}, FULL.name),
              el('common description', {}, FULL.description),
              el('common productImage', { width: '500', height: '300' }, FULL.productImage.url),
              el(
                'common categories',
                {},
                el('common category', { id: '11', name: 'Over-Ear', tdCategoryName: 'Headphones' }),
                el('common category', { name: 'Nowhere' }),
              ),
              el(
                'common fields',
                {},
                el('common field', { name: 'Colour' }, 'Black'),
                el('common field', { name: 'Cable' }),
              ),
              ...['brand', 'manufacturer', 'model', 'promoText', 'shortDescription', 'size', 'techSpecs'].map(
                (name) => el(`common ${name}`, {}, FULL[name as 'model']),
              ),
              ...['warranty', 'weight', 'inStock'].map((name) =>
                el(`common ${name}`, {}, String(FULL[name as 'inStock'])),
              ),
              el('common programLogo', {}, 'https://nord.example/de.png'),
              ...['ean', 'sku', 'upc', 'isbn', 'mpn'].map((name) =>
                el(`common ${name}`, {}, FULL[name as 'ean']),
              ),
              el(
                'offers',
                {},
                el(
                  'offer',
                  { id: ID, sourceProductId: FULL.sourceProductId, ...date, modifiedDate: SECOND },
                  el('common feedId', {}, String(german)),
                  el('common productUrl', {}, LINK),
                  el('common programName', {}, 'Nordlicht DE'),
                  el('common sourceProductUrl', {}, FULL.productUrl),
                  el('common price', { currency: 'EUR' }, '1249.50'),
                  el(
                    'priceHistory',
                    {},
                    el('common price', { ...date, date: SECOND, currency: 'EUR' }, '1249.50'),
                    el('common price', { ...date, date: FIRST, currency: 'EUR' }, '1199.00'),
                  ),
                  el('common availability', {}, 'in stock'),
                  el('common condition', {}, 'new'),
                  el('common deliveryTime', {}, '1-2 days'),
                  el('common shippingCost', {}, '4.95'),
                  el('common warranty', {}, '2 years'),
                  el('common inStock', {}, '7'),
                  el('common programLogo', {}, 'https://nord.example/de.png'),
                ),
              ),
            ),
          ),
        ),
      );
    });

    it('has dates in milliseconds as epoch, and omits fields that were not posted', async () => {
      const root = await parse(await xmlOf(`${shared};priceHistory=true`));
      const [found] = root.children[1]!.children;
      expect(found!.children.map(({ name }) => name)).toEqual([
        ...['name', 'description', 'productImage', 'categories', 'programLogo'].map(
          (name) => `common ${name}`,
        ),
        'offers',
      ]);
      const [offer] = found!.children.at(-1)!.children;
      const modified = String(Date.parse(SECOND));
      expect(offer!.attributes).toMatchObject({ dateFormat: 'epoch', modifiedDate: modified });
      const prices = offer!.children.find(({ name }) => name === 'priceHistory');
      // Of a feed of several programs the currency is that of the first (decisions P26).
      expect(prices?.children).toEqual([
        el('common price', { dateFormat: 'epoch', date: modified, currency: 'SEK' }, '3.00'),
      ]);
    });

    it('has empty products when nothing is found', async () => {
      const root = await parse(await xmlOf(`${german};q=nothing`));
      expect(root.children).toEqual([el('productHeader', {}, el('totalHits', {}, '0')), el('products')]);
    });
  });

  describe('PRICE_HISTORY=always (decisions P10)', () => {
    it('adds the current entry without the key, the whole history with it', async () => {
      const always = await App.start({
        network: NETWORK,
        now: () => now,
        settings: { PRICE_HISTORY: 'always' },
      });
      const other = clientOf(() => always);
      now = new Date(FIRST);
      await other.post(german, [product('a', { price: 1 })]);
      now = new Date(SECOND);
      await other.post(german, [product('a', { price: 2 })]);
      const history = async (keys: string) =>
        (await other.search(`;fid=${german}${keys}`)).products[0]?.offers;
      const current = { price: { value: '2.00', currency: 'EUR' }, date: Date.parse(SECOND) };
      const before = { price: { value: '1.00', currency: 'EUR' }, date: Date.parse(FIRST) };
      expect(await history('')).toMatchObject([{ priceHistory: [current] }]);
      expect(await history(';priceHistory=true')).toMatchObject([{ priceHistory: [current, before] }]);
      await always.close();
    });
  });

  describe('settings of names and hosts (decisions A9)', () => {
    it('are in namespaces and links', async () => {
      const named = await App.start({
        network: NETWORK,
        settings: {
          VENDOR: 'acme',
          BASE_URL: 'https://acme.example/feeds/',
          TRACKER_URL: 'https://track.example',
        },
      });
      await clientOf(() => named).post(german, [product('a')]);
      const { body } = await named.get(`/1.0/products.xml;fid=${german}`, { token: TOKENS.preisblick });
      expect(body).toContain(
        'xmlns="urn:com:acme:pf:model:xml:output" xmlns:ns2="urn:com:acme:pf:model:xml:common"',
      );
      expect(body).toContain('<ns2:productUrl>https://track.example/click?a(1101)');
      const headers = { host: 'evil.example' };
      const failed = await named.get(`/1.0/products.xml;fid=1`, { token: TOKENS.preisblick, headers });
      expect(failed.body).toContain('<Response xmlns="https://acme.example/feeds/1.0/products">');
      await named.close();
    });
  });
});

describe('csv', () => {
  const { german, shared, swedish } = FEEDS;
  const AT = '2026-03-01T12:00:00.000Z';

  let app: TestApp;
  const { post } = clientOf(() => app);
  beforeAll(async () => {
    app = await TestApp.start({ network: NETWORK, now: () => new Date(AT) });
    await post(german, [
      FULL,
      product('plain', { ean: '41', price: 2, fields: [{ name: 'Size', value: 'L' }] }),
    ]);
    await post(shared, [product('also plain', { ean: '41', price: 3 })]);
  });
  afterAll(() => app.close());

  const get = (target: string, headers = {}) => app.get(target, { token: TOKENS.preisblick, headers });

  type Row = Readonly<Record<string, string>>;

  /** The rows of an answer, by a strict parser. */
  function rowsOf({ headers, body }: Response, separator = ',', quote = '"'): readonly Row[] {
    expect(headers['content-type']).toBe('text/csv; charset=utf-8');
    const options = { delimiter: separator, quote, escape: quote, record_delimiter: '\r\n' };
    return parseCsv(body, { columns: true, ...options });
  }

  /** The columns of `docs/decisions.md#p14` and `docs/decisions.md#p15`, with what each holds of the product `FULL`. */
  const LINK =
    'https://pdt.affilog.example/click?a(1101)p(101)product(22001-full%20%281%29)ttid(19)' +
    'url(https%3A%2F%2Fshop.example%2Fp%3Fa%3D1%26b%3D%282%29)';
  const ID = expect.stringMatching(/^[\da-f-]{36}$/) as string;
  const FULL_BY_TYPE: readonly (readonly [column: string, cell: string])[] = [
    ['name', FULL.name],
    ['productImage', 'https://img.example/1.jpg?x=1&y=2;500;300'],
    ['productUrl', LINK],
    ['imageUrl', 'https://img.example/1.jpg?x=1&y=2'],
    ['height', '300'],
    ['width', '500'],
    ['categories', 'Over-Ear:11:Headphones;Nowhere::'],
    ['MerchantCategoryName', 'Over-Ear;Nowhere'],
    ['TDCategoryName', 'Headphones;'],
    ['TDCategoryId', '11;'],
    ['TDProductId', FULL.sourceProductId],
    ['description', FULL.description],
    ['feedId', String(german)],
    ['groupingId', 'ean00012345678905'],
    ['id', ID],
    ['language', 'de'],
    ['modified', String(Date.parse(AT))],
    ['price', '1249.50'],
    ['currency', 'EUR'],
    ['programName', 'Nordlicht DE'],
    ['availability', FULL.availability],
    ['brand', FULL.brand],
    ['condition', FULL.condition],
    ['deliveryTime', FULL.deliveryTime],
    ['ean', FULL.ean],
    ['upc', FULL.upc],
    ['isbn', FULL.isbn],
    ['mpn', FULL.mpn],
    ['sku', FULL.sku],
    ['identifiers', `${FULL.ean};${FULL.upc};${FULL.isbn};${FULL.sku};${FULL.mpn}`],
    ['inStock', '7'],
    ['manufacturer', FULL.manufacturer],
    ['model', FULL.model],
    ['programLogo', 'https://nord.example/de.png'],
    ['promoText', FULL.promoText],
    ['shippingCost', FULL.shippingCost],
    ['shortDescription', FULL.shortDescription],
    ['size', FULL.size],
    ['fields', 'Colour:Black;Cable:'],
    ['warranty', FULL.warranty],
    ['weight', FULL.weight],
    ['techSpecs', FULL.techSpecs],
    ['dateformat', 'EPOCH'],
  ];

  /** Columns that the other layout has another name for. */
  const RENAMED: Readonly<Record<string, string>> = {
    priceValue: 'price',
    priceCurrency: 'currency',
    dateFormat: 'dateformat',
    sourceProductId: 'TDProductId',
  };
  const COLUMNS_BY_KEY = [
    ...['name', 'productImage', 'description', 'categories', 'fields', 'weight', 'size', 'model', 'brand'],
    ...['manufacturer', 'techSpecs', 'shortDescription', 'promoText', 'ean', 'upc', 'isbn', 'mpn', 'sku'],
    ...['feedId', 'productUrl', 'priceValue', 'priceCurrency', 'modified', 'dateFormat', 'inStock'],
    ...['availability', 'deliveryTime', 'sourceProductId', 'warranty', 'condition', 'programLogo'],
    ...['programName', 'shippingCost', 'id'],
  ];

  describe('CSV by extension or Accept (decisions P14)', () => {
    it.each([
      ['.csv', `/1.0/products.csv;fid=${german};brand=%C3%98rsted`, {}],
      ['Accept', `/1.0/products;fid=${german};brand=%C3%98rsted`, { accept: 'text/csv' }],
    ])('by %s has its 43 columns in order', async (_, target, headers) => {
      const [row, ...others] = rowsOf(await get(target, headers));
      expect(others).toEqual([]);
      expect(Object.entries(row!)).toEqual(FULL_BY_TYPE);
      expect(FULL_BY_TYPE).toHaveLength(43);
    });

    it('gives way to another extension, and is not offered to posts', async () => {
      const { headers } = await get(`/1.0/products.json;fid=${german}`, { accept: 'text/csv' });
      expect(headers['content-type']).toBe('application/json; charset=utf-8');
      const posted = await app.post(`/1.0/products.csv;fid=${german}`, { token: TOKENS.nord, body: '{}' });
      expect([posted.statusCode, refusals(posted)[0]?.code]).toEqual([404, '404']);
    });
  });

  describe('CSV by key (Document 1, CSV export; decisions P15)', () => {
    it.each(['', '.json', '.xml', '.csv'])(
      'after the extension "%s" has its 34 columns in order',
      async (extension) => {
        const [row] = rowsOf(
          await get(`/1.0/products${extension};fid=${german};format=csv;brand=%C3%98rsted`),
        );
        const full = new Map(FULL_BY_TYPE);
        expect(Object.entries(row!)).toEqual(
          COLUMNS_BY_KEY.map((column) => [column, full.get(RENAMED[column] ?? column)]),
        );
        expect(COLUMNS_BY_KEY).toHaveLength(34);
      },
    );

    it('has ISO dates on request', async () => {
      const rows = rowsOf(
        await get(`/1.0/products;fid=${german};format=CSV;dateOutputFormat=iso8601;spId=plain`),
      );
      expect(rows).toMatchObject([{ dateFormat: 'ISO8601', modified: AT }]);
    });

    it('has the header even without results', async () => {
      const { body } = await get(`/1.0/products;fid=${german};format=csv;q=nothing`);
      expect(body).toBe(`${COLUMNS_BY_KEY.map((column) => `"${column}"`).join(',')}\r\n`);
    });
  });

  describe('separators and embrace (Document 1, CSV export)', () => {
    it('are as requested', async () => {
      const answer = await get(
        `/1.0/products;fid=${german};format=csv;csvSeparators=%3B|~;csvEmbrace=%27;brand=%C3%98rsted`,
      );
      expect(rowsOf(answer, ';', "'")).toMatchObject([
        { categories: 'Over-Ear~11~Headphones|Nowhere~~', fields: 'Colour~Black|Cable~' },
      ]);
    });

    it.each([
      ['csvSeparators', '%2C%2C%3A', ',,:: expected three different characters'],
      ['csvSeparators', '%2C%3B', ',;: expected three different characters'],
      ['csvSeparators', '%2C%3B%3A%7C', ',;:|: expected three different characters'],
      [
        'csvSeparators',
        '|,;',
        '|,: expected three different characters, none of them a line end or beyond U+FFFF; a semicolon is written %3B in an address',
      ],
      ['csvSeparators', '%2C%0A%3A', ',\n:: expected three different characters'],
      ['csvSeparators', '%2C%0D%3A', ',\r:: expected three different characters'],
      ['csvSeparators', '%2C%3B%F0%9F%98%80', ',;😀: expected three different characters'],
      ['csvSeparators', '%2C%3B%22', ',;": expected separators and an embrace that differ'],
      ['csvEmbrace', '%2C', ',: expected separators and an embrace that differ'],
      ['csvEmbrace', '%22%22', '"": expected one character'],
      ['csvEmbrace', '%0A', '\n: expected one character'],
      ['csvFlattenFields', 'maybe', 'maybe: expected true or false'],
      ['format', 'pdf', 'pdf: expected one of csv, json, xml'],
    ])('%s=%s is refused, saying why (decisions X26)', async (key, value, message) => {
      const answer = await get(`/1.0/products.csv;fid=${german};${key}=${value}`);
      expect(answer.statusCode).toBe(400);
      expect(refusals(answer)).toMatchObject([
        { code: 'PF_430', message: expect.stringContaining(`${key}=${message}`) as string },
      ]);
    });
  });

  describe('csvFlattenFields (Document 1, CSV export; decisions P16)', () => {
    it('has a column for each custom field of the whole result, the same on every page', async () => {
      const page = async (number: number) =>
        rowsOf(
          await get(
            `/1.0/products.csv;fid=${german};csvFlattenFields=true;orderBy=priceAsc;pageSize=1;page=${number}`,
          ),
        )[0];
      const [cheap, dear] = [await page(1), await page(2)];
      expect(Object.keys(cheap!)).toEqual(Object.keys(dear!));
      expect(Object.keys(cheap!).slice(38, 42)).toEqual([
        '(field)Cable',
        '(field)Colour',
        '(field)Size',
        'fields',
      ]);
      expect(cheap).toMatchObject({
        '(field)Cable': '',
        '(field)Colour': '',
        '(field)Size': 'L',
        fields: '',
      });
      expect(dear).toMatchObject({
        '(field)Cable': '',
        '(field)Colour': 'Black',
        '(field)Size': '',
        fields: '',
      });
    });

    it('leaves custom fields in the column fields if false or absent', async () => {
      for (const keys of ['', ';csvFlattenFields=false'])
        expect(rowsOf(await get(`/1.0/products.csv;fid=${german};spId=plain${keys}`))).toMatchObject([
          { fields: 'Size:L' },
        ]);
    });
  });

  it('grouped offers have a row each, with the product fields of the first offer (decisions P8)', async () => {
    const rows = rowsOf(
      await get(
        `/1.0/products.csv;fid=${german},${shared};ean=41;groupOffersByProduct=true;csvFlattenFields=true`,
      ),
    );
    expect(rows).toMatchObject([
      { name: 'Product plain', TDProductId: 'plain', price: '2.00', '(field)Size': 'L' },
      {
        name: 'Product plain',
        TDProductId: 'also plain',
        price: '3.00',
        currency: 'SEK',
        '(field)Size': 'L',
      },
    ]);
  });

  describe.each(['products', 'productsUnlimited'])('%s', (path) => {
    it.each(['.csv', ';format=csv'])('%s has columns for what keys add (decisions P16)', async (format) => {
      const keys = `;fid=${german}${format.startsWith(';') ? format : ''}`;
      const target = `/1.0/${path}${format.startsWith('.') ? format : ''}${keys}`;
      const plain = rowsOf(await get(target));
      const added = rowsOf(
        await get(`${target};sourceproducturl=true;priceHistory=true;dateOutputFormat=iso8601`),
      );
      expect(Object.keys(added[0]!)).toEqual([
        ...Object.keys(plain[0]!),
        ...['priceHistory', 'sourceProductUrl'],
      ]);
      const found = added.find(
        ({ sourceProductId, TDProductId = sourceProductId }) => TDProductId === 'plain',
      );
      expect(found).toMatchObject({
        priceHistory: `2.00:EUR:${AT}`,
        sourceProductUrl: expect.stringMatching(/^https:\/\/shop\.example\//) as string,
      });
      for (const without of [';sourceproducturl=false', ';priceHistory=false'])
        expect((await get(target + without)).body).toBe((await get(target)).body);
    });
  });

  describe('what fails', () => {
    it.each([
      ['/1.0/products.csv;fid=1', 'application/json; charset=utf-8'],
      ['/1.0/products.xml;fid=1;format=csv', 'application/json; charset=utf-8'],
      ['/1.0/products;fid=1;format=xml', 'application/xml; charset=utf-8'],
      ['/1.0/products.xml;fid=1;format=json', 'application/json; charset=utf-8'],
    ])('%s is told as %s (decisions A1, X27)', async (target, type) => {
      const { statusCode, headers, body } = await get(target);
      expect([statusCode, headers['content-type']]).toEqual([400, type]);
      expect(body).toContain('PF_392');
    });

    it.each([`/1.0/products.csv;fid=${german}`, `/1.0/products;fid=${german};format=csv`])(
      '%s with jsonp passes the failure to the function (decisions A5, P27)',
      async (target) => {
        const { body } = await get(`${target}?jsonp=f`);
        expect(body).toBe('/**/f(undefined, 400, "jsonp=f: allowed for JSON only, the format is csv");');
      },
    );
  });

  it('format=json and format=xml override the extension too (decisions X27)', async () => {
    for (const [extension, format] of [
      ['csv', 'json'],
      ['json', 'xml'],
    ]) {
      const { headers } = await get(`/1.0/products.${extension};fid=${german};format=${format}`);
      expect(headers['content-type']).toBe(`application/${format}; charset=utf-8`);
    }
  });

  it('a bulk download has the custom fields that its caller can see, as they appear and disappear (decisions P16, P13)', async () => {
    const fieldsFor = async (token: string): Promise<readonly string[]> => {
      const target = `/1.0/productsUnlimited;fid=${swedish};format=csv;csvFlattenFields=true`;
      const { body } = await app.get(target, { token });
      return [...body.slice(0, body.indexOf('\r\n')).matchAll(/"\(field\)([^"]*)"/g)].map(
        ([, name = '']) => name,
      );
    };
    const field = (...names: readonly string[]) => ({ fields: names.map((name) => ({ name, value: 'x' })) });
    const hidden = { categories: [{ name: 'mapped to nothing' }] };
    await post(swedish, [product('none'), product('a', field('B', 'A', 'B')), product('b', field('B', 'C'))]);
    await post(swedish, [product('hidden', { ...field('D'), ...hidden }), product('gone', field('E'))]);
    expect(await fieldsFor(TOKENS.preisblickAll)).toEqual(['A', 'B', 'C', 'E']);
    expect(await fieldsFor(TOKENS.nord)).toEqual(['A', 'B', 'C', 'D', 'E']);
    await app.delete(`/1.0/products;fid=${swedish};spId=gone`, { token: TOKENS.nord });
    await post(swedish, [product('b', field('Ä'))]);
    expect(await fieldsFor(TOKENS.preisblickAll)).toEqual(['A', 'B', 'Ä']);
  });

  it.each([1, 2])(
    'the columns of a download match its products, even if custom fields appear and disappear before part %i is written (decisions P16)',
    async (part) => {
      const target = `/1.0/productsUnlimited;fid=${german};format=csv;csvFlattenFields=true`;
      const before = (await get(target)).body;
      expect(before).toContain('"(field)Size"');
      const held = pauseRendering(app.exporter, part);
      const sent = get(target);
      await held.reached;
      await post(german, [product('plain', { fields: [{ name: `New before ${part}`, value: 'x' }] })]);
      held.release();
      expect((await sent).body).toBe(before);
      expect((await get(target)).body).toContain(`"(field)New before ${part}"`);
      await post(german, [product('plain', { fields: [{ name: 'Size', value: 'L' }] })]);
    },
  );
});
