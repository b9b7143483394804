import { pino } from 'pino';
import { type Response, TestApp } from '../support/app';
import { IMPORT_REPORT, type ReportedImport } from '../../src/domain/products/import-report';
import { answerIn } from '../support/openapi';
import { faultsBySchema } from '../support/xml-schemas';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, outcome, product, XML_UTF8 } from './posted';

describe('load answers', () => {
  const { german, swedish, shared } = FEEDS;
  const token = TOKENS.nord;

  let app: TestApp;
  const { post, search } = clientOf(() => app);
  beforeAll(async () => {
    app = await TestApp.start({ network: NETWORK });
  });
  afterAll(() => app.close());
  beforeEach(() => app.delete(`/1.0/products;fid=${german};deleteAll=true`, { token }));

  async function report(feedId: number = german): Promise<readonly ReportedImport[]> {
    const { body } = await app.get(`/1.0/products/imports;fid=${feedId}`, { token });
    return answerIn(IMPORT_REPORT, JSON.parse(body)).imports;
  }

  /** The counts that are not 0. */
  function counts({ headers }: Response): string {
    return String(headers['x-load-counts'])
      .split(', ')
      .filter((count) => !count.endsWith('=0'))
      .join(' ');
  }

  const unmapped = { categories: [{ name: 'Nobody’s' }] };
  const ids = async (): Promise<readonly string[]> => [...(await search(`;fid=${german}`)).ids].sort();

  describe('the answer to a post (decisions A15)', () => {
    it('has the id of the load and its counts, as the load report has them', async () => {
      const first = await post(german, [
        product('a'),
        product('b', unmapped),
        product('c', { price: 'x' }),
        product('d'),
      ]);
      expect(first.headers['x-load-counts']).toBe(
        'new=3, revised=0, repriced=0, unchanged=0, removed=0, refused=1, unmapped=1',
      );
      const again = await post(
        german,
        [product('a', { price: 11 }), product('b', { ...unmapped, brand: 'New' }), product('e')],
        { keys: ';mode=replace' },
      );
      expect(counts(again)).toBe('new=1 revised=1 repriced=1 removed=1 unmapped=1');
      expect(counts(await post(german, [product('e')]))).toBe('unchanged=1');
      const [, last, before] = await report();
      expect([last?.importId, before?.importId]).toEqual([
        again.headers['x-load-id'],
        first.headers['x-load-id'],
      ]);
      expect([last?.unmapped, before?.unmapped, before?.new]).toEqual([1, 1, 3]);
      expect(first.headers['access-control-expose-headers']).toMatch(/X-Load-Counts, X-Load-Id/);
    });

    it('has them for a deletion too; one that removes nothing has no id', async () => {
      await post(german, [product('a'), product('b')]);
      const removed = await app.delete(`/1.0/products;fid=${german};spId=a,never`, { token });
      expect(counts(removed)).toBe('removed=1');
      const [event] = await eventsOfType('ProductsDeleted');
      expect(event).toMatchObject({ removed: 1, importId: removed.headers['x-load-id'] });
      const none = await app.delete(`/1.0/products;fid=${german};spId=a`, { token });
      expect([counts(none), none.headers['x-load-id']]).toEqual(['', undefined]);
    });

    it.each([
      ['a name mapped by the feed', [{ name: 'Over-Ear' }], ''],
      ['an id of the platform', [{ id: '11', name: 'x "] y' }], ''],
      ['an unknown id with a name', [{ id: '999', name: 'x \\"] y' }], 'unmapped=1'],
      ['one of several', [{ name: 'x]' }, { name: 'categories":[' }, { id: '11' }], ''],
    ])(
      'counts a product as mapped as publishers see it: %s (decisions P13)',
      async (_, categories, expected) => {
        const answer = await post(german, [product('a', { name: '"categories":[]', categories })]);
        expect(counts(answer).replace('new=1', '').trim()).toBe(expected);
        const seen = (await search(`;fid=${german}`, 'preisblickAll')).totalHits;
        expect(seen).toBe(expected === '' ? 1 : 0);
      },
    );
  });

  async function eventsOfType(type: string): Promise<readonly object[]> {
    const found: object[] = [];
    for await (const batch of app.engines.log.readStream(`feed-${german}`, { backwards: true }))
      found.push(
        ...batch.filter((event) => event.type === type).map(({ data }) => JSON.parse(data) as object),
      );
    return found;
  }

  describe('dryRun=true (decisions A15)', () => {
    /** Everything that could be stored. */
    const state = async () => [await app.engines.log.head(), await ids()];

    it.each([
      ['an update', ''],
      ['a replacement', ';mode=replace'],
    ])('counts and refuses as %s would, and stores nothing', async (_, mode) => {
      await post(german, [product('a'), product('b'), product('c')]);
      const before = await state();
      const body = [
        product('a', { price: 3 }),
        product('b'),
        product('d', unmapped),
        product('e', { name: '' }),
      ];
      const tried = await post(german, [...body, product('f', { colour: 'red' })], {
        keys: `${mode};dryRun=true`,
      });
      expect(await state()).toEqual(before);
      expect([tried.headers['x-dry-run'], tried.headers['x-load-id']]).toEqual(['true', undefined]);
      const done = await post(german, [...body, product('f', { colour: 'red' })], {
        keys: `${mode};dryRun=false`,
      });
      expect([
        tried.statusCode,
        tried.body,
        tried.headers['x-load-counts'],
        tried.headers['x-ignored-fields'],
      ]).toEqual([
        ...[done.statusCode, done.body, done.headers['x-load-counts'], done.headers['x-ignored-fields']],
      ]);
      expect(done.headers).not.toHaveProperty('x-dry-run');
      expect(counts(done)).toBe(
        mode === ''
          ? 'new=2 repriced=1 unchanged=1 refused=1 unmapped=1'
          : 'new=2 repriced=1 unchanged=1 removed=1 refused=1 unmapped=1',
      );
    });

    it('stores no refusal of a body as a whole, and marks its answer too', async () => {
      const before = [await app.engines.log.head(), await report()];
      const answer = await app.post(`/1.0/products;fid=${german};dryRun=true`, {
        token,
        body: '{"products":[',
      });
      expect([outcome(answer), answer.headers['x-dry-run']]).toEqual(['400 PF_210', 'true']);
      expect([await app.engines.log.head(), await report()]).toEqual(before);
    });

    it('stores no deletion', async () => {
      await post(german, [product('a'), product('b')]);
      const before = await state();
      const answer = await app.delete(`/1.0/products;fid=${german};deleteAll=true;dryRun=true`, { token });
      expect([counts(answer), answer.headers['x-dry-run'], answer.headers['x-load-id']]).toEqual([
        ...['removed=2', 'true', undefined],
      ]);
      expect(await state()).toEqual(before);
    });

    it('counts more products than one append has, each once', async () => {
      const many = Array.from({ length: 1200 }, (_, at) => product(`p${at}`));
      expect(counts(await post(swedish, [...many, many[0]!], { keys: ';dryRun=true' }))).toBe('new=1200');
      await post(swedish, many);
      expect(counts(await post(swedish, [], { keys: ';mode=replace;dryRun=true' }))).toBe('removed=1200');
      expect(counts(await post(swedish, many))).toBe('unchanged=1200');
    });
  });

  describe('unknown fields of a product (decisions A15, X10)', () => {
    const odd = {
      colour: 'red',
      size: 'L',
      productImage: { url: 'https://img.example/1.jpg', alt: 'Lamp' },
      categories: [
        { id: '11', path: 'a' },
        { id: '11', path: 'b' },
      ],
      fields: [{ name: 'a', value: 'b', unit: 'c' }],
      identifiers: { sku: '1', gtin: '2' },
    };

    it('are named in the answer, and counted in the load report with an example', async () => {
      const answer = await post(german, [
        product('a', odd),
        product('b', { colour: null, Zoll: 1 }),
        product('c', { price: 'x', colour: 1 }),
        product('d'),
      ]);
      expect(answer.headers['x-ignored-fields']).toBe(
        'Zoll, categories.path, colour, fields.unit, identifiers.gtin, productImage.alt',
      );
      const [last] = await report();
      expect(last?.ignoredFields).toEqual([
        { field: 'Zoll', products: 1, sourceProductId: 'b' },
        { field: 'categories.path', products: 1, sourceProductId: 'a' },
        { field: 'colour', products: 3, sourceProductId: 'a' },
        { field: 'fields.unit', products: 1, sourceProductId: 'a' },
        { field: 'identifiers.gtin', products: 1, sourceProductId: 'a' },
        { field: 'productImage.alt', products: 1, sourceProductId: 'a' },
      ]);
      const { body } = await app.get(`/1.0/products/imports.xml;fid=${german}`, { token });
      expect(body).toContain('<ignoredField field="colour" products="3" sourceProductId="a"/>');
      expect(await faultsBySchema(app, 'Imports_v1_0.xsd', [body])).toEqual([]);
    });

    it('are found in XML, attributes too', async () => {
      const xml = (id: string) =>
        `<product sourceProductId="${id}" sku="1"><name>Lamp</name><description>A</description><colour>red</colour>` +
        '<productUrl>https://shop.example/1</productUrl><price currency="EUR">1</price>' +
        '<productImage alt="x">https://img.example/1.jpg</productImage>' +
        '<categories><category id="11" path="a"/><group/></categories>' +
        '<fields><field name="a" value="b"/></fields></product>';
      const body = `<products version="3.0">${xml('a')}${xml('b')}</products>`;
      const answer = await app.post(`/1.0/products;fid=${german}`, { token, headers: XML_UTF8, body });
      expect([answer.statusCode, counts(answer)]).toEqual([200, 'new=2']);
      expect(decodeURIComponent(String(answer.headers['x-ignored-fields'])).split(', ')).toEqual([
        ...['@sku', 'categories.@path', 'categories.group', 'colour', 'fields.@value'],
        ...['price.@currency', 'productImage.@alt'],
      ]);
      expect((await report())[0]?.ignoredFields?.map(({ products }) => products)).toEqual([
        2, 2, 2, 2, 2, 2, 2,
      ]);
    });

    it('are counted of large bodies as of small ones, the first 100 different ones', async () => {
      const products = Array.from({ length: 5_000 }, (_, at) =>
        product(`p${at}`, { colour: 'red', ['ö'.repeat(200)]: 1 }),
      );
      const answer = await post(shared, [...products, product('many', fieldsNamed(150))]);
      // A large load is not waited for (decisions X8).
      await app.settled();
      const fields = (await report(shared))[0]?.ignoredFields ?? [];
      expect(fields).toHaveLength(100);
      expect(fields.filter(({ products: n }) => n > 1)).toEqual([
        { field: 'colour', products: 5_000, sourceProductId: 'p0' },
        { field: 'ö'.repeat(100), products: 5_000, sourceProductId: 'p0' },
      ]);
      expect(String(answer.headers['x-ignored-fields']).split(', ')).toHaveLength(20);
    });

    it('of a product that is recognised by its bytes are not counted again (decisions X4)', async () => {
      await post(german, [product('a', { colour: 'red' })]);
      const again = await post(german, [product('a', { colour: 'red' })]);
      expect([counts(again), again.headers['x-ignored-fields']]).toEqual(['unchanged=1', undefined]);
    });
  });

  function fieldsNamed(count: number): object {
    return Object.fromEntries(Array.from({ length: count }, (_, at) => [`x${at}`, at]));
  }

  describe('a replacement that removes most of a feed (decisions X89)', () => {
    const many = (count: number) => Array.from({ length: count }, (_, at) => product(`p${at}`));

    it.each([
      ['more than half of over 100 products', 101, 50, ';mode=replace', true],
      ['half of them', 102, 51, ';mode=replace', undefined],
      ['all of 100 products', 100, 0, ';mode=replace', undefined],
      ['nothing, by an update', 101, 0, '', undefined],
    ])('is done, marked in the load report, and logged: %s', async (_, before, after, keys, marked) => {
      await post(german, many(before));
      const lines: string[] = [];
      const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
      const http = await app.again({ log });
      const answer = await http.inject({
        method: 'POST',
        url: `/1.0/products;fid=${german}${keys}?token=${token}`,
        headers: { 'content-type': 'application/json; charset=utf-8' },
        payload: JSON.stringify({ products: many(after) }),
      });
      await http.close();
      expect(answer.statusCode).toBe(200);
      expect((await search(`;fid=${german}`)).totalHits).toBe(keys === '' ? before : after);
      expect((await report())[0]?.largeRemoval).toBe(marked);
      const loadId = String(answer.headers['x-load-id']);
      const logged = lines.map((line) => JSON.parse(line) as { level: number; msg: string });
      expect(logged).toMatchObject(
        marked === undefined ? [] : [{ level: 40, feedId: german, loadId, removed: before - after }],
      );
      for (const { msg } of logged)
        expect(msg).toContain(`affilog feeds restore ${german} --before ${loadId}`);
    });
  });
});
