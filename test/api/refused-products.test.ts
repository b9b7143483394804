import { TestApp } from '../support/app';
import { type Identifiers } from '../../src/domain/products/feed';
import { groupingIdOf } from '../../src/domain/products/offer';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, JSON_UTF8, outcome, product, refusals, refused, XML_UTF8 } from './posted';

describe('refused products', () => {
  const { german } = FEEDS;
  const token = TOKENS.nord;
  const target = `/1.0/products;fid=${german}`;

  let app: TestApp;
  const { post, search } = clientOf(() => app);
  beforeAll(async () => {
    app = await TestApp.start({ network: NETWORK });
  });
  afterAll(() => app.close());

  const productXml = (id: string): string =>
    `<product sourceProductId="${id}"><name>Lamp</name><description>Of glass</description>` +
    '<productUrl>https://shop.example/lamp</productUrl><productImage>https://img.example/lamp.jpg</productImage>' +
    '<price>12</price><categories><category id="1"/></categories></product>';

  describe('a product is refused separately', () => {
    it.each([
      ['name', undefined, 'PF_240'],
      ['name', '', 'PF_240'],
      ['name', null, 'PF_240'],
      ['name', 7, 'PF_430'],
      ['description', undefined, 'PF_240'],
      ['productUrl', undefined, 'PF_240'],
      ['productUrl', 'javascript:alert(1)', 'PF_391'],
      ['productUrl', 'https://a b.example/', 'PF_391'],
      ['productUrl', '/relative', 'PF_391'],
      ['price', undefined, 'PF_240'],
      ['price', '', 'PF_240'],
      ['price', '12.5', 'PF_280'],
      ['price', '12.505', 'PF_280'],
      ['price', 12.505, 'PF_280'],
      ['price', '-1', 'PF_280'],
      ['price', -1, 'PF_280'],
      ['price', '+1', 'PF_280'],
      ['price', '1e3', 'PF_280'],
      ['price', '1.000,00', 'PF_280'],
      ['price', 'free', 'PF_280'],
      ['price', true, 'PF_280'],
      ['productImage', undefined, 'PF_240'],
      ['productImage', {}, 'PF_240'],
      ['productImage', { url: 'img.png' }, 'PF_391'],
      ['productImage', { url: 'https://a.example/', width: 'wide' }, 'PF_260'],
      ['productImage', { url: 'https://a.example/', height: 1.5 }, 'PF_260'],
      ['categories', undefined, 'PF_240'],
      ['categories', [], 'PF_240'],
      ['categories', [{}], 'PF_240'],
      ['categories', [{ tdCategoryName: 'Lamps' }], 'PF_240'],
      ['categories', [{ id: '999' }], 'PF_430'],
      ['categories', 'Lamps', 'PF_430'],
      ['inStock', 'a few', 'PF_260'],
      ['inStock', 1.5, 'PF_260'],
      ['ean', '40-12', 'PF_260'],
      ['brand', { name: 'B' }, 'PF_430'],
      ['fields', [{ value: 'red' }], 'PF_240'],
      ['fields', { colour: 'red' }, 'PF_430'],
    ])('for %s = %j: %s (Document 1, Errors; decisions P2, P25)', async (field, value, code) => {
      const answer = await post(german, [product('refused', { [field]: value })]);
      expect([answer.statusCode, refused(answer)]).toEqual([400, [`${code} refused`]]);
      expect(refusals(answer)[0]?.message).toContain(field);
      expect((await search(`;fid=${german};spId=refused`)).totalHits).toBe(0);
    });

    it('without a sourceProductId, which the answer then lacks', async () => {
      const answer = await post(german, [product('', { name: 'nameless' })]);
      expect(refusals(answer)).toEqual([
        { code: 'PF_240', message: 'products[0]: sourceProductId must be set' },
      ]);
    });

    it.each(['json', 'xml'] as const)(
      'at its place in a post in %s of thousands, with the field that is meant by a misspelt one (decisions P1)',
      async (format) => {
        const [before, after] = [format === 'json' ? '"' : '', format === 'json' ? '":' : ''];
        const wrong = new Map([
          [17, [`${before}sourceProductId${after}`, `${before}sourceProductID${after}`]],
          [2500, [`${before}name${after}`, `${before}naem${after}`]],
          [4999, [`${before}price${after}`, `${before}cost${after}`]],
        ] as const);
        const parts = Array.from({ length: 5000 }, (_, at) => {
          const text = format === 'json' ? JSON.stringify(product(`${at}`)) : productXml(`${at}`);
          const [from = '', to = ''] = wrong.get(at as 17) ?? [];
          return text.replaceAll(from === '' ? '\0' : from, to);
        });
        const body =
          format === 'json' ? `{"products":[${parts.join()}]}` : `<products>${parts.join('')}</products>`;
        const answer = await app.post(`/1.0/products.json;fid=${german};dryRun=true`, {
          token,
          body,
          headers: format === 'json' ? JSON_UTF8 : XML_UTF8,
        });
        const attribute = format === 'xml' ? '@' : '';
        expect(refusals(answer)).toEqual([
          {
            code: 'PF_240',
            message: `products[17]: sourceProductId must be set; found ${attribute}sourceProductID; did you mean sourceProductId?`,
          },
          {
            code: 'PF_240',
            sourceProductId: '2500',
            message: 'products[2500]: name must be set; found naem; did you mean name?',
          },
          { code: 'PF_240', sourceProductId: '4999', message: 'products[4999]: price must be set' },
        ]);
      },
    );

    it('naming no field for an unknown one that is closer to another, or to none', async () => {
      const answer = await post(german, [
        { ...product('a'), name: '', nmae: 'x' },
        { ...product('b'), name: '', nothing: 'x', modell: 'x' },
      ]);
      expect(refusals(answer).map(({ message }) => message)).toEqual([
        'products[0]: name must be set; found nmae; did you mean name?',
        'products[1]: name must be set',
      ]);
    });

    it('for all of its faults, each listed', async () => {
      const answer = await post(german, [
        product('a', { name: '', price: 'x', productUrl: 'y', inStock: 'z' }),
      ]);
      expect(refused(answer).sort()).toEqual(['PF_240 a', 'PF_260 a', 'PF_280 a', 'PF_391 a']);
    });

    it('for more than 256 KB (decisions P27)', async () => {
      const answer = await post(german, [
        product('large', { description: 'x'.repeat(256 * 1024) }),
        product('small', { description: 'x'.repeat(250 * 1024) }),
      ]);
      expect([answer.statusCode, refused(answer)]).toEqual([400, ['PF_430 large']]);
      expect((await search(`;fid=${german};spId=large,small`)).ids).toEqual(['small']);
    });

    it('but not for an unknown category id with a name (decisions P13)', async () => {
      const answer = await post(german, [product('named', { categories: [{ id: '999', name: 'Curios' }] })]);
      expect(answer.statusCode).toBe(200);
    });
  });

  describe('a post with some invalid products (decisions P1)', () => {
    it('stores the valid products, lists each refused one and is 400', async () => {
      const answer = await post(german, [
        product('g1'),
        product('b1', { price: 'x' }),
        product('g2'),
        product('b2', { description: undefined }),
      ]);
      expect([answer.statusCode, refused(answer)]).toEqual([400, ['PF_280 b1', 'PF_240 b2']]);
      expect(String(answer.headers['x-log-position'])).toMatch(/^\d{19}$/);
      expect((await search(`;fid=${german};spId=g1,g2,b1,b2`)).ids.toSorted()).toEqual(['g1', 'g2']);
    });

    it('stores the last valid one of several products with the same id, and lists each refusal', async () => {
      const answer = await post(german, [
        product('twice', { brand: 'first' }),
        product('twice', { brand: 'second' }),
        product('twice', { brand: 'third', price: 'x' }),
        product('twice', { brand: 'fourth', name: '' }),
      ]);
      expect(refused(answer)).toEqual(['PF_280 twice', 'PF_240 twice']);
      expect((await search(`;fid=${german};spId=twice`)).products).toMatchObject([{ brand: 'second' }]);
    });

    it('answers in XML to products posted in XML', async () => {
      const answer = await app.post(target, {
        token,
        headers: XML_UTF8,
        body: `<products xmlns="urn:com:affilog:pf:model:xml:input" xmlns:cm="urn:com:affilog:pf:model:xml:common" version="3.0">
        <product sourceProductId="x&amp;y"><cm:name>N</cm:name><cm:description>D</cm:description>
          <cm:productUrl>https://a.example/</cm:productUrl><cm:productImage>https://a.example/</cm:productImage>
          <cm:price>cheap</cm:price><cm:categories><cm:category id="1"/></cm:categories></product></products>`,
      });
      expect(answer.body).toMatch(
        /^<\?xml [^>]*><Response xmlns="https:\/\/api\.example\/1\.0\/products"><errors><e><code>PF_280<\/code><message>products\[0\]: price: [^<]*<\/message><sourceProductId>x&amp;y<\/sourceProductId><\/e><\/errors><\/Response>$/,
      );
    });
  });

  describe('an unusable body stores nothing: PF_210 (decisions P1, X1, X11)', () => {
    const good = JSON.stringify(product('unstored'));
    const xml = `<product sourceProductId="unstored"><name>N</name><description>D</description><productUrl>https://a.example/</productUrl><productImage>https://a.example/</productImage><price>1</price><categories><category id="1"/></categories></product>`;

    it.each([
      ['nothing', ''],
      ['{}', '{}'],
      ['[]', '[]'],
      ['a list of products', `[${good}]`],
      ['products that is no list', `{"products":${good}}`],
      ['products that are null', '{"products":null}'],
      ['a product that is none', `{"products":[${good},7]}`],
      ['a second key', `{"products":[${good}],"more":1}`],
      ['products twice', `{"products":[${good}],"products":[]}`],
      ['broken off', `{"products":[${good}`],
      ['something behind', `{"products":[${good}]} x`],
      ['a comma too many', `{"products":[${good},]}`],
      [
        'a character that XML forbids (Document 1, Conventions 9)',
        `{"products":[${good},{"name":"\\u0000"}]}`,
      ],
      ['a lone surrogate', `{"products":[${good},{"name":"\\ud800"}]}`],
      [
        'bytes that are not UTF-8',
        Buffer.concat([
          Buffer.from(`{"products":[${good},{"name":"`),
          Buffer.from([0xff]),
          Buffer.from('"}]}'),
        ]),
      ],
      ['nesting without end', `{"products":[${good},{"a":${'['.repeat(5000)}${']'.repeat(5000)}}]}`],
    ])('JSON: %s', async (_, body) => {
      const answer = await app.post(target, { token, headers: JSON_UTF8, body });
      expect(outcome(answer)).toBe('400 PF_210');
      expect((await search(`;fid=${german};spId=unstored`)).totalHits).toBe(0);
    });

    it.each([
      ['nothing', ''],
      ['another root element', `<feed>${xml}</feed>`],
      ['another child', `<products>${xml}<offer/></products>`],
      ['broken off', `<products>${xml}`],
      ['two roots', `<products>${xml}</products><products/>`],
      ['a forbidden character', `<products>${xml}<product><name>&#1;</name></product></products>`],
      ['a DOCTYPE', `<!DOCTYPE products [<!ENTITY a "b">]><products>${xml}</products>`],
      ['an unknown entity', `<products>${xml}<product><name>&nbsp;</name></product></products>`],
      ['JSON', `{"products":[${good}]}`],
    ])('XML: %s', async (_, body) => {
      const answer = await app.post('/1.0/products.json;fid=22001', { token, headers: XML_UTF8, body });
      expect(outcome(answer)).toBe('400 PF_210');
      expect((await search(`;fid=${german};spId=unstored`)).totalHits).toBe(0);
    });

    it('of another major version of the XML format is PF_430 (Document 1, Versioning; decisions P24)', async () => {
      const answer = await app.post('/1.0/products.json;fid=22001', {
        token,
        headers: XML_UTF8,
        body: `<products version="4.0">${xml}</products>`,
      });
      expect(outcome(answer)).toBe('400 PF_430');
    });

    it('is read by local names, in any namespace (decisions P24)', async () => {
      const body = `<p:products xmlns:p="urn:any">${xml.replace('unstored', 'any')}</p:products>`;
      expect((await app.post(target, { token, headers: XML_UTF8, body })).statusCode).toBe(200);
      expect((await search(`;fid=${german};spId=any`)).totalHits).toBe(1);
    });
  });

  describe('Content-Type (Document 1, Conventions 8; decisions A10)', () => {
    it.each([
      ['application/json; charset=utf-8', '200'],
      ['application/json;charset=UTF-8', '200'],
      ['Application/JSON; Charset="Utf8"', '200'],
      ['application/json', '200'],
      ['application/json; charset=', '200'],
      ['application/json; charset=iso-8859-1', '415 415'],
      ['text/plain; charset=utf-8', '415 415'],
      ['', '415 415'],
    ])('"%s": %s', async (type, expected) => {
      const answer = await app.post(target, {
        token,
        headers: { 'content-type': type },
        body: '{"products":[]}',
      });
      expect(outcome(answer)).toBe(expected);
    });

    it('is not required for DELETE', async () => {
      expect((await app.delete(`${target};spId=a`, { token })).statusCode).toBe(200);
    });
  });
});

describe('spaces in the URL of a product or an image (decisions P27)', () => {
  const { german } = FEEDS;

  let app: TestApp;
  const { post, search } = clientOf(() => app);
  beforeAll(async () => {
    app = await TestApp.start({ network: NETWORK });
  });
  afterAll(() => app.close());

  const inXml = (productUrl: string, image: string): string =>
    `<products><product sourceProductId="a"><name>A</name><description>D</description><price>1</price>` +
    `<productUrl>${productUrl}</productUrl><productImage>${image}</productImage>` +
    '<categories><category id="1"/></categories></product></products>';

  const sent = {
    page: 'https://shop.example/a lamp?name=of glass#its top',
    image: ' \n https://img.example/a lamp.jpg ',
  };
  const answered = {
    page: 'https://shop.example/a%20lamp?name=of%20glass#its%20top',
    image: 'https://img.example/a%20lamp.jpg',
  };

  it.each(['json', 'xml'])('are accepted in %s, and sent encoded in every format', async (format) => {
    const posted = [product('a', { productUrl: sent.page, productImage: { url: sent.image } })];
    const answer =
      format === 'json'
        ? await post(german, posted)
        : await app.post(`/1.0/products;fid=${german}`, {
            token: TOKENS.nord,
            headers: XML_UTF8,
            body: inXml(sent.page, sent.image),
          });
    expect(answer.statusCode).toBe(200);
    expect((await search(`;fid=${german}`)).products).toMatchObject([
      { productImage: { url: answered.image }, offers: [{ productUrl: answered.page }] },
    ]);
    for (const path of ['products.xml', 'products.csv', 'productsUnlimited.xml', 'productsUnlimited.csv']) {
      const { body } = await app.get(`/1.0/${path};fid=${german}`, { token: TOKENS.nord });
      expect(body).toContain(answered.page);
      expect(body).toContain(answered.image);
    }
    const { products } = await search(`;fid=${german};sourceproducturl=true`, 'preisblick');
    const [offer] = products[0]!.offers;
    expect(offer).toMatchObject({ sourceProductUrl: answered.page });
    expect(offer?.productUrl).toContain(`url(${encodeURIComponent(answered.page)})`);
  });

  it('are the same as encoded ones: posting them again changes nothing', async () => {
    const other = { productUrl: answered.page, productImage: { url: answered.image } };
    await post(german, [product('same', { productUrl: sent.page, productImage: { url: sent.image } })]);
    const again = await post(german, [product('same', other)]);
    expect(again.headers['x-load-counts']).toContain('unchanged=1');
  });

  it.each([
    'https://a b.example/',
    'https:// shop.example/',
    'not a url',
    'a lamp',
    'ftp://a.example/a lamp',
    ' ',
  ])('do not make a URL of %j: PF_391', async (productUrl) => {
    const answer = await post(german, [product('refused', { productUrl })]);
    expect([outcome(answer), refused(answer)]).toEqual(['400 PF_391', ['PF_391 refused']]);
  });

  it('are no other white space: PF_391', async () => {
    const answer = await post(german, [product('refused', { productUrl: 'https://shop.example/a\tlamp' })]);
    expect(outcome(answer)).toBe('400 PF_391');
  });
});

describe('building decisions', () => {
  const { german } = FEEDS;
  const token = TOKENS.nord;

  let app: TestApp;
  let now = Date.parse('2026-03-01T12:00:00Z');
  const { post, search } = clientOf(() => app);
  beforeAll(async () => {
    // A clock that goes on each time somebody looks.
    app = await TestApp.start({ network: NETWORK, now: () => new Date((now += 1)) });
  });
  afterAll(() => app.close());

  it('a post that is refused 10,050 times lists 10,000 faults and counts the other 50 (decisions X2)', async () => {
    const bad = Array.from({ length: 10_050 }, (_, at) => product(`bad-${at}`, { price: 'x' }));
    const faults = refusals(await post(german, bad));
    expect(faults.filter(({ sourceProductId = '' }) => sourceProductId.startsWith('bad-'))).toHaveLength(
      10_000,
    );
    expect(faults.slice(10_000)).toEqual([{ code: 'PF_430', message: '50 more faults are not listed' }]);
  });

  it('white space is trimmed from numbers in XML, and preserved in texts (decisions A11, X3)', async () => {
    const body = `<products><product sourceProductId="spaced">
    <name> Lamp </name> <description>D</description> <productUrl>https://a.example/</productUrl>
    <productImage>https://a.example/</productImage> <price>
      12.50
    </price> <inStock> 7 </inStock> <ean>
      4012345678901 </ean> <categories><category id="1"/></categories>
  </product></products>`;
    const answer = await app.post(`/1.0/products.json;fid=${german}`, { token, headers: XML_UTF8, body });
    expect(outcome(answer)).toBe('200');
    const { products } = await search(`;fid=${german};spId=spaced`);
    expect(products).toMatchObject([
      { name: ' Lamp ', inStock: 7, identifiers: { ean: '4012345678901' }, offers: [{ price: 12.5 }] },
    ]);
  });

  it('all products of a load, and of a deletion, have the same time of change (decisions X6)', async () => {
    await post(german, [product('a'), product('b'), product('c')]);
    const { products } = await search(`;fid=${german};spId=a,b,c`);
    expect(new Set(products.flatMap(({ offers }) => offers.map(({ modified }) => modified))).size).toBe(1);
    await app.delete(`/1.0/products;fid=${german};spId=a,b,c`, { token });
    const times = new Set<string>();
    for await (const events of app.engines.log.readStream(`feed-${german}`))
      for (const { type, data } of events)
        if (type === 'ProductDelisted') times.add((JSON.parse(data) as { at: string }).at);
    expect(times.size).toBe(1);
  });

  describe('a GTIN (decisions P8, X9)', () => {
    it.each<[Identifiers, string]>([
      [{ ean: '4012345678901' }, 'ean04012345678901'],
      [{ ean: '0004012345678901' }, 'ean04012345678901'],
      [{ ean: '17' }, 'ean00000000000017'],
      [{ ean: '40170725' }, 'ean00000040170725'],
      // In-store numbers: any shop may use them for anything.
      ...['0212345678901', '0412345678901', '2012345678901', '2912345678901', '20123451', '29123451'].map(
        (ean): [Identifiers, string] => [{ ean }, 'the offer'],
      ),
      ...['212345678901', '412345678901'].map((upc): [Identifiers, string] => [{ upc }, 'the offer']),
      [{ ean: '12012345678901' }, 'the offer'],
      [{ ean: '2012345678901', upc: '012345678905' }, 'ean00012345678905'],
      [{ ean: '0112345678901' }, 'ean00112345678901'],
      [{ ean: '0312345678901' }, 'ean00312345678901'],
      [{ ean: '0512345678901' }, 'ean00512345678901'],
      [{ ean: '1912345678901' }, 'ean01912345678901'],
      [{ ean: '3012345678901' }, 'ean03012345678901'],
      // Dummies.
      ...['9999999999999', '1111111111111', '00000000', '7', '0001', '33333333'].map(
        (ean): [Identifiers, string] => [{ ean }, 'the offer'],
      ),
      [{ ean: '9999999999999', upc: '012345678905' }, 'ean00012345678905'],
      [{ ean: '4012345678902' }, 'ean04012345678902'],
      [{ ean: '000', upc: '12345678905' }, 'ean00012345678905'],
      [{ ean: '123456789012345', upc: '12345678905' }, 'ean00012345678905'],
      [{ upc: '1234-5678' }, 'the offer'],
      [{ ean: '0' }, 'the offer'],
      [{ sku: '4012345678901' }, 'the offer'],
    ])('of %j groups by %s', (identifiers, groupingId) => {
      expect(groupingIdOf(identifiers, 'the offer')).toBe(groupingId);
    });
  });

  it('a removed category remains the name of a product that has no other (decisions X21)', async () => {
    await post(german, [product('kept', { categories: [{ id: '22' }] })]);
    const { organisations, ...rest } = NETWORK;
    const categories = NETWORK.categories.filter(({ id }) => id !== '22');
    await app.import({ organisations, ...rest, categories }, { prune: true });
    await app.settled();
    const [found] = (await search(`;fid=${german};spId=kept`)).products;
    expect(found).toMatchObject({ categories: [{ id: '22', tdCategoryName: '22' }] });
    expect((await search(`;fid=${german};spId=kept`, 'preisblick')).totalHits).toBe(0);
  });
});
