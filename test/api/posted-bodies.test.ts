import { type Response } from '../support/app';
import { CLAIM_NETWORK, CLAIM_TOKENS, claimClientOf, claimOf, xmlOf } from './claim-network';
import { FEEDS, OTHER_TOKENS, TOKENS } from './network';
import { product, XML_UTF8 } from './posted';
import { subscription, SUBSCRIPTIONS } from './subscription-network';
import { CONVERSION_TOKENS, PATH, reportOf } from './transaction-network';
import { refusalOf, voucher, VOUCHER_TOKENS, voucherClientOf } from './voucher-network';
import { worldOf } from './world';
import { faultsBySchema } from '../support/xml-schemas';

const world = worldOf(CLAIM_NETWORK, voucherClientOf);

describe('identifiers that are the text of an XML element lose the white space at their ends (decisions A11, X3)', () => {
  const postXml = (path: string, token: string, body: string): Promise<Response> =>
    world.app.post(`${path}.json`, { token, headers: XML_UTF8, body });

  const elementsOf = (fields: object): string =>
    Object.entries(fields)
      .map(([name, value]) => `\n  <${name}>${String(value)}</${name}>`)
      .join('');

  const indented = (id: string): string => `\n\t  ${id}\r\n  `;

  /** Not the white space of XML: a character of the identifier. */
  const NBSP = '\u00a0';

  it('the order number of a transaction: the indented one is the same order', async () => {
    const post = (id: string) =>
      postXml(PATH, CONVERSION_TOKENS.nord, `<transaction>${elementsOf(reportOf(id))}</transaction>`);
    const json = await world.app.post(PATH, {
      token: CONVERSION_TOKENS.nord,
      body: JSON.stringify(reportOf('A 1')),
    });
    const xml = await post(indented('A 1'));
    expect([json.statusCode, xml.statusCode]).toEqual([201, 200]);
    expect(xml.json()).toEqual({ ...json.json<object>(), outcome: 'known' });
    expect((await post(`${NBSP}A 1`)).statusCode).toBe(201);
    expect((await post('<![CDATA[ A 1 ]]>')).statusCode).toBe(200);
  });

  it('of white space only they are missing', async () => {
    const body = `<transaction>${elementsOf(reportOf(indented('')))}</transaction>`;
    const answer = await postXml(PATH, CONVERSION_TOKENS.nord, body);
    expect([answer.statusCode, answer.body]).toEqual([
      400,
      expect.stringContaining('orderNumber must be set'),
    ]);
  });

  it('the ids of a transaction in a transition', async () => {
    const body = JSON.stringify(reportOf('A 2'));
    const created = await world.app.post(PATH, { token: CONVERSION_TOKENS.nord, body });
    const ids = created.json<{ transactionId: string; legacyTransactionId: string }>();
    for (const name of ['transactionId', 'legacyTransactionId'] as const) {
      const request = elementsOf({ [name]: indented(ids[name]), action: indented('approve') });
      const moved = await postXml(
        `${PATH}/transitions`,
        CONVERSION_TOKENS.nord,
        `<transition>${request}</transition>`,
      );
      expect(moved.json<object>()).toMatchObject({ transactionId: ids.transactionId });
    }
  });

  it('texts beside them do not, and in JSON no identifier does', async () => {
    const report = { ...reportOf(' J '), epi: ' e ' };
    const body = `<transaction>${elementsOf(report)}</transaction>`;
    const xml = await postXml(PATH, CONVERSION_TOKENS.nord, body);
    const json = await world.app.post(PATH, { token: CONVERSION_TOKENS.nord, body: JSON.stringify(report) });
    expect([xml.statusCode, json.statusCode]).toEqual([201, 201]);
    const { body: listed } = await world.app.get(`${PATH};orderNumber=J,%20J%20`, {
      token: CONVERSION_TOKENS.nord,
    });
    const found = JSON.parse(listed) as { orderNumber: string; epi: string }[];
    expect(found.map(({ orderNumber, epi }) => `${orderNumber}|${epi}`).sort()).toEqual([' J | e ', 'J| e ']);
  });

  it('the sourceId and the codes of a voucher: the indented ones edit the same voucher', async () => {
    const id = await world.create({ sourceId: 'spring' });
    const fields = {
      ...voucher(),
      sourceId: indented('spring'),
      languageId: indented('de'),
      title: ' Title ',
    };
    const answer = await postXml(
      '/1.0/vouchers',
      VOUCHER_TOKENS.nord,
      `<voucher>${elementsOf(fields)}</voucher>`,
    );
    expect(answer.json<number[]>()).toEqual([id]);
    const { body } = await world.app.get(`/1.0/vouchers;id=${id}`, { token: VOUCHER_TOKENS.nord });
    expect(JSON.parse(body)).toMatchObject([{ sourceId: 'spring', languageId: 'de', title: ' Title ' }]);
  });

  it('the order number of a claim', async () => {
    const claim = claimOf('C 1', { advertiserInformation: ' a ' });
    const body = xmlOf('claims', [claim]).replace('>C 1<', `>${indented('C 1')}<`);
    const answer = await world.app.post('/1.0/claims', {
      token: CLAIM_TOKENS.preisblick,
      headers: XML_UTF8,
      body,
    });
    expect(answer.statusCode).toBe(200);
    const list = await claimClientOf(() => world.app).list();
    expect(list).toMatchObject([{ orderNumber: 'C 1', advertiserInformation: ' a ' }]);
  });

  it('the identifiers of a product, while attributes and texts are as posted', async () => {
    const body = `<products><product sourceProductId=" p "><name> N </name><description>D</description>
      <productUrl>https://a.example/</productUrl><productImage>https://a.example/</productImage><price>1</price>
      <sku> s </sku><identifiers><mpn>${indented('m 1')}</mpn><isbn>${NBSP}i</isbn></identifiers>
      <category id="11"/></product></products>`;
    const path = `/1.0/products.json;fid=${FEEDS.german}`;
    const answer = await world.app.post(path, { token: TOKENS.nord, headers: XML_UTF8, body });
    expect(answer.statusCode).toBe(200);
    const { body: found } = await world.app.get(path, { token: TOKENS.nord });
    expect((JSON.parse(found) as { products: unknown }).products).toMatchObject([
      {
        name: ' N ',
        identifiers: { sku: 's', mpn: 'm 1', isbn: `${NBSP}i` },
        offers: [{ sourceProductId: ' p ' }],
      },
    ]);
  });
});

describe('xml lists', () => {
  const postXml = (path: string, token: string, body: string): Promise<Response> =>
    world.app.post(path, { token, headers: XML_UTF8, body });

  const voucherXml = (more: string, attributes = ''): string => {
    const fields = Object.entries(voucher()).map(([name, value]) => `<${name}>${String(value)}</${name}>`);
    return `<voucher${attributes}>${fields.join('')}${more}</voucher>`;
  };
  const postVoucher = (more: string, attributes = '') =>
    postXml('/1.0/vouchers.json', VOUCHER_TOKENS.nord, voucherXml(more, attributes));

  const ignoredIn = ({ headers }: Response): string =>
    decodeURIComponent(String(headers['x-ignored-fields']));

  /** Whether the publisher of site 1101, and that of 1202 and 1203, see a voucher. */
  const seenBy = async (): Promise<readonly boolean[]> =>
    Promise.all(
      (['preisblick', 'deals'] as const).map(async (as) => {
        const listed = await world.app.get('/1.0/vouchers', { token: VOUCHER_TOKENS[as] });
        return listed.json<unknown[]>().length > 0;
      }),
    );

  describe('a list in posted XML (decisions A18)', () => {
    beforeEach(async () => {
      for (let id = 1; id < 30; id += 1)
        await world.app.delete(`/1.0/vouchers/${id}`, { token: VOUCHER_TOKENS.nord });
    });

    it.each([
      ['items in place of the list', '<siteId>1202</siteId><siteId>1203</siteId>'],
      [
        'items in the list, as JAXB writes them',
        '<siteIds><siteId>1202</siteId><siteId> 1203 </siteId></siteIds>',
      ],
      [
        'items of its own name, as Jackson writes them',
        '<siteIds><siteIds>1202</siteIds><siteIds>1203</siteIds></siteIds>',
      ],
      ['repeated, without an element for it', '<siteIds>1202</siteIds><siteIds>1203</siteIds>'],
      ['both forms', '<siteId>1202</siteId><siteIds><siteId>1203</siteId></siteIds>'],
      ['another namespace', '<v:siteIds xmlns:v="urn:v"><v:siteId>1202</v:siteId></v:siteIds>'],
    ])('has %s: a voucher for one publisher is shown to nobody else', async (_, sites) => {
      const answer = await postVoucher(sites);
      expect([answer.statusCode, answer.headers['x-ignored-fields']]).toEqual([200, undefined]);
      expect(await seenBy()).toEqual([false, true]);
    });

    it('is none if it is empty (decisions V16)', async () => {
      expect((await postVoucher('<siteIds/>')).statusCode).toBe(200);
      expect(await seenBy()).toEqual([true, true]);
    });

    it.each([
      ['<siteIds><site>1101</site></siteIds>', 'siteIds.site'],
      ['<siteIds><siteId>1101</siteId><site>1102</site></siteIds>', 'siteIds.site'],
      ['<siteIds>1102<siteId>1101</siteId></siteIds>', 'siteIds.text()'],
      ['<siteIds id="1101"/>', 'siteIds.@id'],
      ['<siteIDs><siteId>1101</siteId></siteIDs>', 'siteIDs'],
      ['<site-ids>1101</site-ids>', 'site-ids'],
      ['<sites><siteId>1101</siteId></sites>', 'sites'],
      ['<onlyFor><siteId>1101</siteId></onlyFor>', 'onlyFor.siteId'],
      ['<publishstartdate>1</publishstartdate>', 'publishstartdate'],
      ['<publishEndDate value="1"/>', 'publishEndDate.@value'],
    ])('that restricts who sees a voucher is refused when it cannot be read: %s', async (more, path) => {
      const answer = await postVoucher(more);
      expect(refusalOf(answer)).toEqual({
        codes: '400 101',
        message: expect.stringMatching(
          new RegExp(
            `^${path.replace(/[().@]/g, '\\$&')}: cannot be read, and is not ignored .*: expected (siteIds|publish)`,
          ),
        ) as string,
      });
      expect(await seenBy()).toEqual([false, false]);
    });

    it.each([
      { siteId: 1101 },
      { siteid: [1101] },
      { site_ids: [1101] },
      { PublishEndDate: 1 },
      { site: 1101 },
      { sites: [1101] },
      { restriction: { siteIds: [1101] } },
    ])('or is refused in JSON, by another name: %j', async (odd) => {
      const [name = ''] = Object.keys(odd);
      const place = name === 'restriction' ? 'restriction.siteIds' : name;
      expect(refusalOf(await world.post(voucher(odd)))).toMatchObject({
        codes: '400 101',
        message: expect.stringContaining(`${place}: cannot be read, and is not ignored`) as string,
      });
      const bulk = await world.app.post('/1.0/vouchers/bulk', {
        token: VOUCHER_TOKENS.nord,
        body: JSON.stringify([voucher(odd)]),
      });
      expect(bulk.body).toContain('cannot be read');
      expect(await seenBy()).toEqual([false, false]);
    });

    it('or has items that are none is refused with what they are', async () => {
      for (const sites of ['<siteIds>1101,1102</siteIds>', '<siteId><id>1101</id></siteId>'])
        expect(refusalOf(await postVoucher(sites)).message).toMatch(
          /^siteIds: expected a list of at most 1000 int/,
        );
    });

    it('is in the schema in both forms', async () => {
      const bodies = ['<siteIds><siteId>1101</siteId></siteIds>', '<siteId>1101</siteId>'].map((sites) =>
        voucherXml(sites),
      );
      expect(await faultsBySchema(world.app, 'Voucher_v1_0.xsd', bodies)).toEqual([]);
    });
  });

  describe('what is not read of posted XML is named in X-Ignored-Fields, wherever it stands (decisions A15, A18)', () => {
    it('of a voucher: attributes of fields, texts, and elements beside', async () => {
      const answer = await postVoucher('between<code lang="de">X</code><titel/>', ' id="7"');
      expect([answer.statusCode, ignoredIn(answer)]).toEqual([200, '@id, code.@lang, text(), titel']);
    });

    it('of transactions and transitions, and of their lists', async () => {
      const one = (more = '') =>
        `<transaction><programId>101</programId><eventId>302</eventId><siteId>1101</siteId>` +
        `<orderNumber no="1">X-1</orderNumber>${more}</transaction>`;
      const answer = await postXml(PATH, CONVERSION_TOKENS.nord, one('text'));
      expect([answer.statusCode, ignoredIn(answer)]).toEqual([201, 'orderNumber.@no, text()']);
      const list = `<transactions count="1">text${one()}</transactions>`;
      const bulk = await postXml(`${PATH}/bulk`, CONVERSION_TOKENS.nord, list);
      expect([bulk.statusCode, ignoredIn(bulk)]).toEqual([
        200,
        'orderNumber.@no, transactions.@count, transactions.text()',
      ]);
      const moves = '<transitions a="1"><transition><action b="1">deny</action></transition></transitions>';
      const moved = await postXml(`${PATH}/transitions/bulk`, CONVERSION_TOKENS.nord, moves);
      expect([moved.statusCode, ignoredIn(moved)]).toEqual([200, 'action.@b, transitions.@a']);
    });

    it('of claims, and of members beside their list in JSON', async () => {
      const body = xmlOf('claims', [claimOf('odd')])
        .replace('<claims', '<claims count="1"')
        .replace('<c:orderNumber>', '<c:orderNumber no="1">');
      const xml = await postXml('/1.0/claims', CLAIM_TOKENS.preisblick, body);
      expect([xml.statusCode, ignoredIn(xml)]).toEqual([200, 'claims.@count, orderNumber.@no']);
      const json = await world.app.post('/1.0/claims', {
        token: CLAIM_TOKENS.preisblick,
        body: JSON.stringify({ count: 1, claims: [claimOf('odd 2')] }),
      });
      expect([json.statusCode, ignoredIn(json)]).toEqual([200, 'count']);
    });
  });

  describe('the lists of posted products (decisions A18)', () => {
    const feed = FEEDS.german;
    const productXml = (more: string): string =>
      '<product sourceProductId="a"><name>Lamp</name><description>A</description><price>1</price>' +
      '<productUrl>https://shop.example/1</productUrl><productImage>https://img.example/1.jpg</productImage>' +
      `${more}</product>`;
    const post = async (more: string, attributes = '', around = ''): Promise<Response> => {
      await world.app.delete(`/1.0/products;fid=${feed};deleteAll=true`, { token: TOKENS.nord });
      const body = `<products${attributes}>${around}${productXml(more)}</products>`;
      return await postXml(`/1.0/products;fid=${feed}`, TOKENS.nord, body);
    };
    const found = async (): Promise<unknown> => {
      const { body } = await world.app.get(`/1.0/products;fid=${feed}`, { token: TOKENS.nord });
      const [one] = (JSON.parse(body) as { products: Record<string, unknown>[] }).products;
      return { categories: one?.categories, fields: one?.fields };
    };

    it.each([
      [
        'in elements of their own',
        '<categories><category name="A"/><category name="B"/></categories><fields><field name="f">v</field></fields>',
      ],
      ['in place of the list', '<category name="A"/><field name="f">v</field><category name="B"/>'],
      [
        'of its name',
        '<categories><categories name="A"/><categories name="B"/></categories><fields><fields name="f">v</fields></fields>',
      ],
      ['repeated', '<categories name="A"/><fields name="f">v</fields><categories name="B"/>'],
      [
        'in several elements',
        '<categories><category name="A"/></categories><field name="f">v</field><categories><category name="B"/></categories>',
      ],
    ])('have items %s', async (_, more) => {
      const answer = await post(more);
      expect([answer.statusCode, answer.headers['x-ignored-fields']]).toEqual([200, undefined]);
      expect(await found()).toEqual({
        categories: [expect.objectContaining({ name: 'A' }), expect.objectContaining({ name: 'B' })],
        fields: [{ name: 'f', value: 'v' }],
      });
    });

    it('name what is not read, within and around them', async () => {
      const more =
        'x<categories b="1">y<category name="A" c="1">z<name>Q</name></category></categories>' +
        '<sourceProductId>b</sourceProductId><identifiers><sku d="1">s</sku><no/></identifiers><width>1</width>';
      const answer = await post(more, ' version="3.0" e="1"', 'w');
      expect([answer.statusCode, ignoredIn(answer).split(', ')]).toEqual([
        200,
        [
          ...['categories.@b', 'categories.@c', 'categories.name', 'categories.text()', 'identifiers.no'],
          ...['identifiers.sku.@d', 'products.@e', 'products.text()', 'sourceProductId', 'text()', 'width'],
        ],
      ]);
    });
  });
});

describe('a posted body is in UTF-8 (decisions A10)', () => {
  const { nord } = CONVERSION_TOKENS;
  const ops = OTHER_TOKENS.operator;
  const elements = (root: string, fields: object): string =>
    `<${root}>${Object.entries(fields)
      .map(([name, value]) => `<${name}>${String(value)}</${name}>`)
      .join('')}</${root}>`;

  const PRODUCT_XML =
    '<products><product sourceProductId="é"><name>é</name><description>A</description><price>1</price>' +
    '<productUrl>https://shop.example/1</productUrl><productImage>https://img.example/1.jpg</productImage>' +
    '<category name="A"/></product></products>';
  const feed = `/1.0/products;fid=${FEEDS.german}`;

  type Sent = readonly [format: 'json' | 'xml' | 'csv', path: string, token: string, body: string];

  /** Each posted format of each service, with an é in it. */
  const BODIES: readonly Sent[] = [
    ['json', feed, TOKENS.nord, JSON.stringify({ products: [product('a', { name: 'é' })] })],
    ['xml', feed, TOKENS.nord, PRODUCT_XML],
    ['json', '/1.0/vouchers', VOUCHER_TOKENS.nord, JSON.stringify(voucher({ title: 'é' }))],
    ['json', '/1.0/vouchers/bulk', VOUCHER_TOKENS.nord, JSON.stringify([voucher({ title: 'é' })])],
    ['xml', '/1.0/vouchers', VOUCHER_TOKENS.nord, elements('voucher', voucher({ title: 'é' }))],
    ['json', PATH, nord, JSON.stringify(reportOf('é'))],
    ['xml', PATH, nord, elements('transaction', reportOf('é'))],
    ['json', `${PATH}/bulk`, nord, JSON.stringify([reportOf('é')])],
    ['xml', `${PATH}/bulk`, nord, `<transactions>${elements('transaction', reportOf('é'))}</transactions>`],
    ['json', `${PATH}/transitions/bulk`, nord, JSON.stringify([{ legacyTransactionId: 'é' }])],
    [
      'xml',
      `${PATH}/transitions/bulk`,
      nord,
      '<transitions><transition><action>é</action></transition></transitions>',
    ],
    ['json', SUBSCRIPTIONS, nord, JSON.stringify(subscription({ subscriptionName: 'é' }))],
    ['json', '/1.0/claims/check', CLAIM_TOKENS.preisblick, JSON.stringify({ claims: [claimOf('é')] })],
    [
      'xml',
      '/1.0/claims/check',
      CLAIM_TOKENS.preisblick,
      xmlOf('claims', [claimOf('é')]).replace(/<\?xml[^>]*>/, ''),
    ],
    ['csv', '/1.0/claims/check', CLAIM_TOKENS.preisblick, csvOf(claimOf('é'))],
    ['json', '/ops/1.0/mappings', ops, JSON.stringify({ mappings: [{ feedId: FEEDS.german, name: 'é' }] })],
    ['csv', '/ops/1.0/mappings', ops, `feedId,name,categoryId\n${FEEDS.german},é,`],
  ];

  function csvOf(fields: object): string {
    return `${Object.keys(fields).join(',')}\n${Object.values(fields).map(String).join(',')}\n`;
  }

  const TYPES = { json: 'application/json', xml: 'application/xml', csv: 'text/csv' } as const;

  function post([format, path, token]: Sent, body: string | Buffer, charset = ''): Promise<Response> {
    const headers = { 'content-type': `${TYPES[format]}${charset}` };
    return world.app.post(path, { token, headers, body });
  }

  const XML = BODIES.filter(([format]) => format === 'xml');
  const UNREADABLE = /PF_210|"101"|<code>101<|CON_310|UTS_210|UTS_291|UTS_212|"400"/;

  it.each(BODIES)('in %s to %s it need not say so', async (...sent) => {
    const [, , , body] = sent;
    const [without, said] = [await post(sent, body), await post(sent, body, '; Charset="UTF8"')];
    expect(without.statusCode).toBeLessThan(300);
    expect(said.statusCode).toBeLessThan(300);
  });

  it.each(BODIES)('in %s to %s it is refused with another charset', async (...sent) => {
    for (const charset of ['; charset=iso-8859-1', '; charset=utf-16', '; charset=utf-8; charset=latin1'])
      expect([charset, [400, 415].includes((await post(sent, sent[3], charset)).statusCode)]).toEqual([
        charset,
        true,
      ]);
  });

  it.each(BODIES)('in %s to %s it is refused if it is another encoding', async (...sent) => {
    const [, , , body] = sent;
    for (const bytes of [Buffer.from(body, 'latin1'), Buffer.from(`\ufeff${body}`, 'utf16le')]) {
      const answer = await post(sent, bytes);
      expect([answer.statusCode, answer.body]).toEqual([400, expect.stringMatching(UNREADABLE)]);
    }
  });

  it.each(XML)('in %s to %s it may declare UTF-8, and no other encoding', async (...sent) => {
    const [, , , body] = sent;
    const declared = (encoding: string) => post(sent, `<?xml version="1.0" encoding="${encoding}"?>${body}`);
    for (const encoding of ['UTF-8', 'utf-8', 'utf8'])
      expect((await declared(encoding)).statusCode).toBeLessThan(300);
    for (const encoding of ['ISO-8859-1', 'UTF-16', 'US-ASCII']) {
      const answer = await declared(encoding);
      expect([answer.statusCode, answer.body]).toEqual([
        400,
        expect.stringContaining(`the XML declaration has the encoding ${encoding}: expected UTF-8, or none`),
      ]);
      expect(answer.body).toMatch(UNREADABLE);
    }
  });
});
