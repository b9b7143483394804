import { gzipSync } from 'node:zlib';
import { smallNetwork, tokenNamed } from '../support/small-network';
import { type Response, TestApp } from '../support/app';
import { toJson } from '../support/products';
import { type PostedProduct } from '../../src/demo/products';

const [JSON_FEED, CSV_FEED] = [301, 302];
const token = tokenNamed('fjord');

let app: TestApp;
beforeAll(async () => {
  app = await TestApp.start({ network: smallNetwork() });
});
afterAll(() => app.close());

async function post(keys: string, type: string, body: string | Buffer, headers = {}): Promise<Response> {
  return await app.post(`/1.0/products${keys}`, {
    token,
    body,
    headers: { 'content-type': type, ...headers },
  });
}

function product(sourceProductId: string, change: Partial<PostedProduct> = {}): PostedProduct {
  return {
    sourceProductId,
    name: 'Lamp',
    description: 'A lamp',
    productUrl: 'https://fjord.example/lamp?a=1&b=2;c=3',
    price: 1250.5,
    productImage: { url: 'https://img.example/lamp.png' },
    categories: [{ name: 'Lamps' }],
    ...change,
  };
}

/** With what is difficult in CSV. */
const NASTY = [
  product('quotes "1"', { name: '"', description: 'a "lamp",\r\nof ""glass""\n', brand: '""' }),
  product('=HYPERLINK("x")', { name: '=1+1', brand: '@SUM(A1)', size: '-1', weight: '+2', model: "'=3" }),
  product('日本語', {
    name: 'ランプ',
    description: 'שלום, مرحبا 😀 e\u0301',
    categories: [{ name: 'Lys; röd: grön' }],
  }),
  product(' spaces ', { name: ' \t;,:| ', techSpecs: '\n', promoText: 'a;b,c:d' }),
  product('all', {
    productImage: { url: 'https://img.example/a;b.png', width: 500, height: 300 },
    categories: [{ name: 'Lys & reflekser' }, { id: '81', name: 'Desk' }, { id: '421' }],
    ...{ ean: '4006381333931', sku: 'A;1', inStock: -3, shippingCost: 'free', condition: 'new' },
    fields: [
      { name: 'colour', value: 'red: dark' },
      { name: 'page', value: 'https://fjord.example/?a=1,2' },
      { name: 'empty', value: '' },
    ],
  }),
];

/** The products of a feed, without what depends on the feed. */
async function productsOf(feed: number): Promise<object[]> {
  const { body } = await app.get(`/1.0/productsUnlimited.json;fid=${feed}`, { token });
  const { products } = JSON.parse(body) as {
    products: { offers: { sourceProductId: string; price: { value: string } }[] }[];
  };
  return products
    .map(({ offers: [offer], ...rest }) => ({
      ...rest,
      offer: { ...offer, id: '', feedId: 0, modified: 0, programName: '', priceHistory: [] },
      groupingId: '',
    }))
    .sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
}

describe('a downloaded CSV that is posted back (decisions P14, P15, P16, P35)', () => {
  it.each([
    ['.csv', '', '', ''],
    ['', ';format=csv', '', ''],
    ['.csv', ';csvSeparators=%3B%7C~;csvEmbrace=%27', ';csvSeparators=%3B%7C~;csvEmbrace=%27', ''],
    ['.csv', ';csvSeparators=%09%7C~', ';csvSeparators=%09%7C~', ''],
    ['.csv', ';sourceproducturl=true;priceHistory=true', '', ''],
  ])('gives equal products: %s%s', async (extension, keys, posted) => {
    const stored = await post(`;fid=${JSON_FEED};mode=replace`, 'application/json', toJson(NASTY));
    expect(stored.json()).toEqual({ errors: [] });
    await app.settled();
    const csv = await app.get(`/1.0/productsUnlimited${extension};fid=${JSON_FEED}${keys}`, { token });
    expect(csv.headers['content-type']).toContain('text/csv');
    await app.delete(`/1.0/products;fid=${CSV_FEED};deleteAll=true`, { token });
    for (const body of [
      csv.rawPayload,
      Buffer.concat([Buffer.from('\ufeff'), csv.rawPayload]),
      gzipSync(csv.rawPayload),
    ]) {
      const answer = await post(`;fid=${CSV_FEED};mode=replace${posted}`, 'text/csv', body);
      expect(answer.json()).toEqual({ errors: [] });
      expect(answer.headers['x-load-counts']).toMatch(/^new=(5, .*|0, revised=0, repriced=0, unchanged=5, )/);
    }
    await app.settled();
    const products = await productsOf(JSON_FEED);
    expect(products).toHaveLength(NASTY.length);
    expect(await productsOf(CSV_FEED)).toEqual(products);
  });
});

describe('POST of a CSV', () => {
  const HEADER = 'sourceProductId;name;description;productUrl;price;currency;imageUrl;categories';
  const row = (id: string, price: string, currency = 'NOK') =>
    `${id};Lykt;En lykt;https://fjord.example/1;${price};${currency};https://img.example/1.png;Lykter`;

  it('stores the valid rows, lists the others with line and column, and reports columns that are not read', async () => {
    const body = `${HEADER};Farge\n${row('a', '10')};x\n${row('b', '1,555')};x\n${row('c', '20', 'EUR')};x\n`;
    const answer = await post(`;fid=${CSV_FEED};mode=replace`, 'text/csv; charset=utf-8', body);
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toEqual({
      errors: [
        expect.objectContaining({
          code: 'PF_280',
          sourceProductId: 'b',
          message: expect.stringContaining('line 3: column price: expected a price such as') as unknown,
        }),
        expect.objectContaining({
          code: 'PF_280',
          sourceProductId: 'c',
          message: expect.stringContaining(
            "line 4: column currency: expected NOK, the currency of the program, got 'EUR'",
          ) as unknown,
        }),
      ],
    });
    expect(answer.headers['x-load-counts']).toContain('new=1');
    expect(answer.headers['x-load-counts']).toContain('refused=2');
    expect(answer.headers['x-ignored-fields']).toBe('Farge');
  });

  it('takes TSV, gzip that is declared, a mapping, and a dry run', async () => {
    const body = `${HEADER}\n${row('d', '10')}\n`.replaceAll(';', '\t').replace('name', 'Navn');
    const target = `;fid=${CSV_FEED};map=name:Navn;dryRun=true`;
    const answer = await post(target, 'text/tab-separated-values', gzipSync(body), {
      'content-encoding': 'gzip',
    });
    expect([answer.json(), answer.headers['x-dry-run']]).toEqual([{ errors: [] }, 'true']);
    expect(answer.headers['x-load-counts']).toContain('new=1');
  });

  it.each(['application/rss+xml', 'application/atom+xml; charset=utf-8', 'text/xml'])(
    'takes a Google Merchant feed as %s (decisions P36)',
    async (type) => {
      const body = `<rss xmlns:g="u"><channel><item><g:id>r</g:id><title>Lykt</title><description>En lykt</description>
        <link>https://fjord.example/1</link><g:image_link>https://img.example/1.png</g:image_link>
        <g:price>10 NOK</g:price><g:product_type>Lykter</g:product_type></item></channel></rss>`;
      const answer = await post(`;fid=${CSV_FEED};dryRun=true`, type, body);
      expect(answer.statusCode).toBe(200);
      expect(answer.headers['x-load-counts']).toContain('new=1');
      expect(answer.headers['content-type']).toContain('xml');
    },
  );

  it.each([
    ['text/csv; charset=iso-8859-1', '', {}, 415, 'charset'],
    ['text/plain', '', {}, 415, 'expected application/json; charset=utf-8 or'],
    [
      'text/csv',
      '',
      { 'content-encoding': 'br' },
      415,
      'Content-Encoding: br: expected gzip, or an unencoded body',
    ],
    ['text/csv', ';map=title:Navn', {}, 400, 'map=title:Navn: expected one of its columns: sourceProductId'],
    ['text/csv', ';map=colour:Navn', {}, 400, 'map=colour:Navn: expected what a column is read as'],
    ['text/csv', ';csvSeparators=%2C%C3%A4:', {}, 200, ''],
    [
      'text/csv',
      ';csvSeparators=%C3%A4%3B:',
      {},
      400,
      'csvSeparators: expected ä to be a character of ASCII',
    ],
    ['application/json', ';map=name:Navn', {}, 400, 'map: allowed for CSV'],
  ])('of type %s with keys "%s" and headers %j: HTTP %i', async (type, keys, headers, status, message) => {
    const comma = keys.includes('%C3%A4:');
    const body = `${HEADER}\n${row('a', '10')}\n`.replaceAll(';', comma ? ',' : ';');
    const answer = await post(`;fid=${CSV_FEED};dryRun=true${keys}`, type, body, headers);
    expect(answer.body).toContain(message);
    expect(answer.statusCode).toBe(status);
  });
});
