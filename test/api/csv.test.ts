import { parse as parseCsv } from 'csv-parse/sync';
import { type Response, TestApp } from '../support/app';
import { pauseRendering } from '../support/pause-call';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, FULL, product, refusals } from './posted';

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
