import { type Response } from '../support/app';
import { faultsBySchema } from '../support/xml-schemas';
import { claimOf, CLAIM_NETWORK, CLAIM_TOKENS, xmlOf } from './claim-network';
import { FEEDS, TOKENS } from './network';
import { XML_UTF8 } from './posted';
import { CONVERSION_TOKENS, PATH } from './transaction-network';
import { refusalOf, voucher, voucherClientOf, VOUCHER_TOKENS } from './voucher-network';
import { worldOf } from './world';

const world = worldOf(CLAIM_NETWORK, voucherClientOf);

const postXml = (path: string, token: string, body: string): Promise<Response> =>
  world.app.post(path, { token, headers: XML_UTF8, body });

const voucherXml = (more: string, attributes = ''): string => {
  const fields = Object.entries(voucher()).map(([name, value]) => `<${name}>${String(value)}</${name}>`);
  return `<voucher${attributes}>${fields.join('')}${more}</voucher>`;
};
const postVoucher = (more: string, attributes = '') =>
  postXml('/1.0/vouchers.json', VOUCHER_TOKENS.nord, voucherXml(more, attributes));

const ignoredIn = ({ headers }: Response): string => decodeURIComponent(String(headers['x-ignored-fields']));

/** Whether the publisher of site 1101, and that of 1202 and 1203, see a voucher. */
const seenBy = async (): Promise<readonly boolean[]> =>
  Promise.all(
    (['preisblick', 'deals'] as const).map(async (as) => {
      const listed = await world.app.get('/1.0/vouchers', { token: VOUCHER_TOKENS[as] });
      return listed.json<unknown[]>().length > 0;
    }),
  );

describe('a list in posted XML (decisions A18)', () => {
  afterEach(async () => {
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
