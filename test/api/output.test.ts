import { offerId } from '../../src/domain/products/offer';
import { TestApp } from '../support/app';
import { missingFrom, OFFER_FIELDS, OUTPUT_FIELDS } from './document-tables';
import { type Client, FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, FULL, product } from './posted';
import { COMMON, el, OUTPUT, parse } from './xml-elements';

describe('output', () => {
  const { german, shared } = FEEDS;
  const FIRST = '2026-03-01T12:00:00.000Z';
  const SECOND = '2026-03-02T12:30:00.500Z';

  let app: TestApp;
  let now = new Date(FIRST);
  const { post, search } = clientOf(() => app);

  beforeAll(async () => {
    app = await TestApp.start({ network: NETWORK, now: () => now });
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
      const always = await TestApp.start({
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
      const named = await TestApp.start({
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
