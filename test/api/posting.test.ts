import { TestApp } from '../support/app';
import { toXml } from '../support/products';
import { missingFrom, POSTED_FIELDS } from './document-tables';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, FULL, outcome, product, refused, XML_UTF8 } from './posted';

describe('posting', () => {
  const { german, swedish } = FEEDS;
  const token = TOKENS.nord;
  const EMPTY_XML =
    '<?xml version="1.0" encoding="UTF-8"?><Response xmlns="https://api.example/1.0/products"><errors/></Response>';

  let app: TestApp;
  let now = new Date('2026-03-01T12:00:00Z');
  const { post, search } = clientOf(() => app);
  const remove = (keys: string) => app.delete(`/1.0/products${keys}`, { token });
  const listed = async (fid = german) => [...(await search(`;fid=${fid}`)).ids].sort();

  beforeAll(async () => {
    app = await TestApp.start({ network: NETWORK, now: () => now });
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    now = new Date('2026-03-01T12:00:00Z');
    await remove(`;fid=${german};deleteAll=true`);
  });

  describe('POST create (Document 1, Behaviour rules for posting)', () => {
    it('creates products with a new sourceProductId, and leaves the others unchanged', async () => {
      await post(german, [product('a'), product('b')]);
      await post(german, [product('c')]);
      expect(await listed()).toEqual(['a', 'b', 'c']);
    });

    it('updates a product whose sourceProductId is in the feed', async () => {
      await post(german, [product('a', { brand: 'Old', size: 'XL' })]);
      await post(german, [product('a', { brand: 'New', price: 11 })]);
      const { totalHits, products } = await search(`;fid=${german}`);
      expect([totalHits, products[0]]).toMatchObject([1, { brand: 'New', offers: [{ price: 11 }] }]);
      expect(products[0]).not.toHaveProperty('size');
    });

    it('treats the same sourceProductId in another feed as another product', async () => {
      await post(german, [product('a', { name: 'German' })]);
      await post(swedish, [product('a', { name: 'Swedish' })]);
      const { products } = await search(`;fid=${german},${swedish};orderBy=priceAsc`);
      expect(products.map(({ name }) => name).sort()).toEqual(['German', 'Swedish']);
      expect(new Set(products.map(({ offers }) => offers[0]?.id)).size).toBe(2);
      await remove(`;fid=${swedish};deleteAll=true`);
    });

    it('changes nothing when the same is posted again (decisions X4)', async () => {
      await post(german, [product('a')]);
      const { products: before } = await search(`;fid=${german};priceHistory=true`);
      now = new Date('2026-03-02T12:00:00Z');
      const again = await post(german, [product('a', { price: 10.0 })]);
      expect([again.statusCode, again.body]).toEqual([200, '{"errors":[]}']);
      expect((await search(`;fid=${german};priceHistory=true`)).products).toEqual(before);
    });

    it('accepts every field, in XML as in JSON (decisions X5)', async () => {
      await post(german, [FULL]);
      const [asJson] = (await search(`;fid=${german};dateOutputFormat=iso8601`)).products;
      await remove(`;fid=${german};deleteAll=true`);
      const answer = await app.post(`/1.0/products;fid=${german}`, {
        token,
        headers: XML_UTF8,
        body: toXml([{ ...FULL, categories: [...FULL.categories] }]),
      });
      expect(answer.statusCode).toBe(200);
      const [asXml] = (await search(`;fid=${german};dateOutputFormat=iso8601`)).products;
      expect(asXml).toEqual(asJson);
      expect(missingFrom(POSTED_FIELDS, [...Object.keys(FULL), 'identifiers'])).toEqual([]);
    });

    it('accepts identifiers under identifiers as well as on the product (decisions P9)', async () => {
      const { ean, sku, upc, isbn, mpn } = FULL;
      const identifiers = { ean, sku, upc, isbn, mpn };
      await post(german, [
        product('a', { identifiers }),
        product('b', identifiers),
        product('c', { ean: 4012345678901 }),
      ]);
      const { products } = await search(`;fid=${german}`);
      const found = Object.fromEntries(
        products.map((one) => [one.offers[0]?.sourceProductId, one.identifiers]),
      );
      expect(found).toEqual({ a: identifiers, b: identifiers, c: { ean: '4012345678901' } });
    });

    it('accepts integers for identifiers and digits for integers, and preserves texts exactly (decisions A11)', async () => {
      const name = ' \u00a0 a  &amp; b\t';
      await post(german, [
        product('1', { sourceProductId: 77, name, categories: [{ id: 11 }], inStock: '5', sku: 9 }),
      ]);
      const { ids, products } = await search(`;fid=${german}`);
      expect(ids).toEqual(['77']);
      expect(products[0]).toMatchObject({
        name,
        inStock: 5,
        identifiers: { sku: '9' },
        categories: [{ id: '11' }],
      });
    });

    it.each([
      ['12', '12.00'],
      ['12.50', '12.50'],
      [12, '12.00'],
      [12.5, '12.50'],
      [12.34, '12.34'],
      [0, '0.00'],
    ])('takes the price %j (Document 1, Limits: Price format; decisions P25)', async (price, value) => {
      await post(german, [product(`${typeof price} ${price}`, { price })]);
      const { products } = await search(`;fid=${german};priceHistory=true`);
      expect(products[0]?.offers).toMatchObject([
        { price: Number(value), priceHistory: [{ price: { value } }] },
      ]);
    });
  });

  describe('POST with mode=replace (Document 1, Behaviour rules for posting)', () => {
    it('replaces all products; price history continues', async () => {
      await post(german, [product('a'), product('kept')]);
      now = new Date('2026-03-02T12:00:00Z');
      await post(german, [product('kept', { price: 12 }), product('c')], { keys: ';mode=replace' });
      expect(await listed()).toEqual(['c', 'kept']);
      const { products } = await search(
        `;fid=${german};spId=kept;priceHistory=true;dateOutputFormat=iso8601`,
      );
      expect(products[0]?.offers).toMatchObject([
        {
          priceHistory: [
            { price: { value: '12.00', currency: 'EUR' }, date: '2026-03-02T12:00:00.000Z' },
            { price: { value: '10.00', currency: 'EUR' }, date: '2026-03-01T12:00:00.000Z' },
          ],
        },
      ]);
    });

    it('empties the feed when an explicit empty list is posted (decisions P27)', async () => {
      await post(german, [product('a')]);
      expect((await post(german, [], { keys: ';mode=replace' })).body).toBe('{"errors":[]}');
      expect(await listed()).toEqual([]);
    });

    it('retains the old version of a product that was refused (decisions P1)', async () => {
      await post(german, [product('a', { brand: 'Old' }), product('b')]);
      const answer = await post(german, [product('a', { brand: 'New', description: '' })], {
        keys: ';MODE=REPLACE',
      });
      expect([answer.statusCode, refused(answer)]).toEqual([400, ['PF_240 a']]);
      expect((await search(`;fid=${german}`)).products).toMatchObject([{ brand: 'Old' }]);
    });

    it('refuses any other mode: PF_430', async () => {
      expect(outcome(await post(german, [], { keys: ';mode=delete' }))).toBe('400 PF_430');
    });
  });

  describe('DELETE (Document 1, Delete products)', () => {
    beforeEach(() =>
      post(
        german,
        ['a', 'b', 'c', 'd,e', 'f/g'].map((id) => product(id)),
      ),
    );

    it.each([
      ['one spId', ';spId=a', ['b', 'c', 'd,e', 'f/g']],
      ['spId repeated', ';spId=a;spId=c', ['b', 'd,e', 'f/g']],
      ['a list of spId', ';spId=a,b', ['c', 'd,e', 'f/g']],
      ['spId repeated, of lists', ';spId=a,b;SPID=c%2Cf%2Fg', ['d,e']],
      ['an spId with a comma in it (decisions A2)', ';spId=d%252Ce', ['a', 'b', 'c', 'f/g']],
      ['ids that are not there (decisions P27)', ';spId=nobody,a', ['b', 'c', 'd,e', 'f/g']],
      ['deleteAll=true', ';deleteAll=true', []],
      ['deleteAll=true, whatever spId says', ';spId=a;deleteAll=TRUE', []],
      ['spId, as deleteAll is false', ';spId=a;deleteAll=false', ['b', 'c', 'd,e', 'f/g']],
    ])('removes by %s', async (_, keys, left) => {
      const answer = await remove(`;fid=${german}${keys}`);
      expect([answer.statusCode, answer.body]).toEqual([200, '{"errors":[]}']);
      expect(await listed()).toEqual(left);
    });

    it('removes exactly the one of two ids that differ in an escape (decisions A2)', async () => {
      const ids = ['a,b', 'a%2Cb', 'a%252Cb'];
      await post(
        german,
        ids.map((id) => product(id)),
        { keys: ';mode=replace' },
      );
      for (const [sent, left] of [
        ['a%252Cb', ['a%252Cb', 'a%2Cb']],
        ['a%25252Cb', ['a%252Cb']],
        ['a%2525252Cb', []],
      ] as const) {
        expect((await remove(`;fid=${german};spId=${sent}`)).statusCode).toBe(200);
        expect(await listed()).toEqual(left);
      }
    });

    it.each([
      ['', '400 PF_200'],
      [';deleteAll=false', '400 PF_200'],
      [';spId=;deleteAll=', '400 PF_200'],
      [';deleteAll=maybe', '400 PF_430'],
    ])('of no products named by "%s" is refused: %s (decisions P2, P27)', async (keys, expected) => {
      expect(outcome(await remove(`;fid=${german}${keys}`))).toBe(expected);
      expect(await listed()).toHaveLength(5);
    });

    it('preserves the price history of a product that is listed again (decisions P10)', async () => {
      await post(german, [product('same'), product('other')]);
      await remove(`;fid=${german};spId=same,other`);
      now = new Date('2026-03-03T00:00:00Z');
      await post(german, [product('same'), product('other', { price: 5 })]);
      const prices = async (id: string) =>
        (await search(`;fid=${german};spId=${id};priceHistory=true`)).products[0]?.offers[0];
      expect(await prices('same')).toMatchObject({ priceHistory: [{ price: { value: '10.00' } }] });
      expect(await prices('other')).toMatchObject({
        priceHistory: [
          { price: { value: '5.00' }, date: Date.parse('2026-03-03') },
          { price: { value: '10.00' }, date: Date.parse('2026-03-01T12:00:00Z') },
        ],
      });
    });
  });

  describe('the answer of a write (Document 1, Endpoints and Errors)', () => {
    const json = JSON.stringify({ products: [product('a')] });
    const xml = toXml([]);

    it.each([
      ['JSON to JSON', '', {}, json, '{"errors":[]}'],
      ['XML to XML (decisions A1)', '', XML_UTF8, xml, EMPTY_XML],
      ['XML to .xml', '.xml', {}, json, EMPTY_XML],
      ['JSON to .json', '.json', XML_UTF8, xml, '{"errors":[]}'],
      ['JSON with line breaks', '.json', { pretty: 'true' }, json, '{\n  "errors": []\n}'],
    ])(
      'of success is an empty list: %s',
      async (_, extension, { pretty, ...headers }: Record<string, string>, body, expected) => {
        const keys = pretty === undefined ? '' : `;pretty=${pretty}`;
        const answer = await app.post(`/1.0/products${extension};fid=${german}${keys}`, {
          token,
          headers,
          body,
        });
        expect([answer.statusCode, answer.body]).toEqual([200, expected]);
        expect(answer.headers['content-type']).toBe(
          `application/${expected.startsWith('<') ? 'xml' : 'json'}; charset=utf-8`,
        );
      },
    );

    it('is an empty list for DELETE, in both formats', async () => {
      expect((await app.delete(`/1.0/products.xml;fid=${german};spId=a`, { token })).body).toBe(EMPTY_XML);
      expect((await remove(`;fid=${german};spId=a`)).body).toBe('{"errors":[]}');
    });

    it('has a position, even if nothing has changed (decisions A7)', async () => {
      const first = await post(german, [product('a')]);
      const second = await post(german, [product('b')]);
      const third = await post(german, [product('b')]);
      const positions = [first, second, third].map(({ headers }) => String(headers['x-log-position']));
      for (const position of positions) expect(position).toMatch(/^\d{19}$/);
      expect(positions[1]! > positions[0]!).toBe(true);
      expect(positions[2]! >= positions[1]!).toBe(true);
      const removed = await remove(`;fid=${german};deleteAll=true`);
      expect(String(removed.headers['x-log-position']) > positions[2]!).toBe(true);
    });
  });

  it('a post of 1,200 products is found as a whole', async () => {
    const products = Array.from({ length: 1200 }, (_, at) => product(`p${at}`));
    expect((await post(german, products)).statusCode).toBe(200);
    await app.settled();
    expect((await search(`;fid=${german};pageSize=1`)).totalHits).toBe(1200);
  });
});
