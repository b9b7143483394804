import { type Response } from '../support/app';
import { CLAIM_NETWORK, CLAIM_TOKENS, claimOf } from './claim-network';
import { FEEDS, OTHER_TOKENS, TOKENS } from './network';
import { product, XML_UTF8 } from './posted';
import { subscription, SUBSCRIPTIONS } from './subscription-network';
import { CONVERSION_TOKENS, PATH, reportOf } from './transaction-network';
import { voucher, VOUCHER_TOKENS } from './voucher-network';
import { worldOf } from './world';
import { forbiddenCharacter } from '../../src/wire/xml/write';
import { HOSTILE_NAMES } from './hostile-values';

const world = worldOf(CLAIM_NETWORK, () => ({}));

describe('a field that is posted twice is refused by name, and nothing is stored (decisions A21)', () => {
  const nord = CONVERSION_TOKENS.nord;
  const twice = (name: string): string => `${name} is given more than once: expected one value`;

  /** A member in front of the others of an object. */
  const before = (member: string, object: object): string =>
    JSON.stringify(object).replace('{', `{${member},`);

  const head = (): Promise<string> => world.app.engines.log.head();

  async function post(path: string, token: string, body: string, headers = {}): Promise<Response> {
    const [extension] = path.startsWith('/1.0/products') ? [''] : ['.json'];
    return await world.app.post(headers === XML_UTF8 ? `${path}${extension}` : path, {
      token,
      headers,
      body,
    });
  }

  const messages = (answer: Response): readonly string[] =>
    answer.json<{ errors: { message: string }[] }>().errors.map(({ message }) => message);

  const report = reportOf('TWICE');
  const move = { legacyTransactionId: 'A_301_1', action: 'deny' };
  const xmlOf = (root: string, fields: object): string =>
    `<${root}>${Object.entries(fields)
      .map(([name, value]) => `<${name}>${String(value)}</${name}>`)
      .join('')}</${root}>`;
  const XML: object = XML_UTF8;

  it.each<[what: string, path: string, token: string, body: string, field: string, headers?: object]>([
    ['of a voucher', '/1.0/vouchers', VOUCHER_TOKENS.nord, before('"title":"A"', voucher()), 'title'],
    ['unknown, of a voucher', '/1.0/vouchers', VOUCHER_TOKENS.nord, before('"x":1,"x":1', voucher()), 'x'],
    [
      'of a voucher in XML',
      '/1.0/vouchers',
      VOUCHER_TOKENS.nord,
      xmlOf('voucher', voucher()).replace('<title>', '<title/><title>'),
      'title',
      XML,
    ],
    ['of a transaction', PATH, nord, before('"orderValue":100', report), 'orderValue'],
    ['with an escape', PATH, nord, before(String.raw`"order\u0056alue":100`, report), 'orderValue'],
    [
      'of a transaction in XML',
      PATH,
      nord,
      xmlOf('transaction', report).replace('<siteId>', '<siteId>1101</siteId><siteId>'),
      'siteId',
      XML,
    ],
    ['of a transition', `${PATH}/transitions`, nord, before('"action":"approve"', move), 'action'],
    [
      'of a transition in XML',
      `${PATH}/transitions`,
      nord,
      xmlOf('transition', move).replace('<action>', '<action>approve</action><action>'),
      'action',
      XML,
    ],
    [
      'of a subscription',
      SUBSCRIPTIONS,
      nord,
      before('"disabled":true', subscription({ disabled: false })),
      'disabled',
    ],
    [
      'of a filter',
      SUBSCRIPTIONS,
      nord,
      JSON.stringify(subscription()).replace(
        '"filter":{',
        '"filter":{"programIds":[101],"programIds":[102],',
      ),
      'filter.programIds',
    ],
    [
      'of a receiver',
      SUBSCRIPTIONS,
      nord,
      JSON.stringify(subscription()).replace(
        '"receivers":[{',
        '"receivers":[{"disabled":true,"disabled":false,',
      ),
      'receivers[0].disabled',
    ],
  ])('%s', async (_, path, token, body, field, headers = {}) => {
    const position = await head();
    const answer = await post(path, token, body, headers);
    expect([answer.statusCode, messages(answer)]).toEqual([400, expect.arrayContaining([twice(field)])]);
    expect(await head()).toBe(position);
  });

  it.each<[what: string, path: string, token: string, good: object, bad: string, field: string]>([
    [
      'vouchers',
      '/1.0/vouchers/bulk',
      VOUCHER_TOKENS.nord,
      voucher(),
      before('"siteIds":[1]', voucher({ siteIds: [1101] })),
      'siteIds',
    ],
    ['transactions', `${PATH}/bulk`, nord, reportOf('ONCE'), before('"orderValue":1', report), 'orderValue'],
  ])('of an item of a list of %s, while the others are stored', async (_, path, token, good, bad, field) => {
    const answer = await post(path, token, `[${bad},${JSON.stringify(good)}]`);
    const [first, second] = answer.json<{ errors?: { message: string }[] }[]>();
    expect([answer.statusCode, first?.errors?.map(({ message }) => message), second?.errors]).toEqual([
      200,
      [twice(field)],
      undefined,
    ]);
  });

  it('of an item of a list in XML, and of a transition of a list', async () => {
    const bad = xmlOf('transaction', report).replace('<siteId>', '<siteId>1101</siteId><siteId>');
    const body = `<transactions>${xmlOf('transaction', reportOf('ONCE 2'))}${bad}</transactions>`;
    const answer = await post(`${PATH}/bulk`, nord, body, XML);
    expect(
      answer.json<{ errors?: { message: string }[] }[]>().map(({ errors }) => errors?.[0]?.message),
    ).toEqual([undefined, twice('siteId')]);
    const moved = await post(`${PATH}/transitions/bulk`, nord, `[${before('"action":"approve"', move)}]`);
    expect(moved.body).toContain(twice('action'));
  });

  it('of category mappings in CSV, in whatever case', async () => {
    const position = await head();
    const answer = await world.app.post('/ops/1.0/mappings', {
      token: OTHER_TOKENS.operator,
      headers: { 'content-type': 'text/csv; charset=utf-8' },
      body: `feedId,name,categoryId,CategoryID\n${FEEDS.german},A,11,12\n`,
    });
    expect([answer.statusCode, messages(answer)]).toEqual([
      400,
      ['the first line has the column categoryId more than once: expected it once'],
    ]);
    expect(await head()).toBe(position);
  });

  it('of a category mapping, in its line, and of their list', async () => {
    const path = '/ops/1.0/mappings';
    const line = await post(path, OTHER_TOKENS.operator, '{"mappings":[{"feedId":1,"feedId":2,"name":"a"}]}');
    expect([line.statusCode, line.json()]).toEqual([
      400,
      { report: [{ line: 1, outcome: 'refused', message: twice('feedId') }] },
    ]);
    const list = await post(path, OTHER_TOKENS.operator, '{"mappings":[],"mappings":[]}');
    expect([list.statusCode, messages(list)]).toEqual([
      400,
      ['expected } after mappings, the only member, found ,, at byte 14'],
    ]);
  });

  it('of a product, in JSON and in XML, and the other products are stored', async () => {
    const path = `/1.0/products;fid=${FEEDS.german}`;
    const bad = before('"price":100', product('bad')).replace('"fields"', '"fields":[],"fields"');
    const body = `{"products":[${bad},${JSON.stringify(product('good'))}]}`;
    const json = await post(path, TOKENS.nord, body);
    expect([json.statusCode, messages(json), json.headers['x-load-counts']]).toEqual([
      400,
      [`products[0]: ${twice('price')}`],
      expect.stringMatching(/^new=1, .*refused=1/),
    ]);
    const xml = await post(
      path,
      TOKENS.nord,
      '<products><product sourceProductId="x"><name>A</name><name>B</name><description>A</description><price>1</price>' +
        '<productUrl>https://shop.example/1</productUrl><productImage>https://img.example/1.jpg</productImage>' +
        '<identifiers><sku>1</sku><sku>2</sku></identifiers>' +
        '<category name="A"/></product></products>',
      XML,
    );
    expect(xml.body).toContain(twice('name'));
    expect(xml.body).toContain(twice('identifiers.sku'));
  });
});

describe('hostile names', () => {
  /** Each path that names unknown fields: who posts, and the body with fields of other names in addition. */
  const TARGETS = [
    ['/1.0/vouchers', VOUCHER_TOKENS.nord, (odd: object) => voucher(odd)],
    ['/1.0/vouchers/bulk', VOUCHER_TOKENS.nord, (odd: object) => [voucher(odd)]],
    [PATH, CONVERSION_TOKENS.nord, (odd: object) => reportOf('NAMES', odd)],
    [`${PATH}/bulk`, CONVERSION_TOKENS.nord, (odd: object) => [reportOf('NAMES', odd)]],
    [`${PATH}/transitions/bulk`, CONVERSION_TOKENS.nord, (odd: object) => [odd]],
    [SUBSCRIPTIONS, CONVERSION_TOKENS.nord, (odd: object) => ({ ...subscription(), ...odd })],
    ['/1.0/claims', CLAIM_TOKENS.preisblick, (odd: object) => ({ claims: [claimOf('NAMES', odd)] })],
  ] as const;

  /** As JSON.parse makes it: `__proto__` is a field like others. */
  const bodyOf = (bodyWith: (odd: object) => object, name: string): string =>
    JSON.stringify(bodyWith({ HOSTILE: 1 })).replace('"HOSTILE"', JSON.stringify(name));

  describe.each(TARGETS)('fields of hostile names posted to %s', (path, token, bodyWith) => {
    it.each(HOSTILE_NAMES)('are named in X-Ignored-Fields (decisions A15): %j', async (name, expected) => {
      const answer = await world.app.post(path, { token, body: bodyOf(bodyWith, name) });
      expect([answer.statusCode < 500, answer.headers['x-ignored-fields']]).toEqual([true, expected]);
    });
  });

  it.each(HOSTILE_NAMES)(
    'a product with a field of such a name is loaded, or refused for a character that XML forbids (decisions A15): %j',
    async (name, expected) => {
      const path = `/1.0/products;fid=${FEEDS.german}`;
      const body = bodyOf((odd) => ({ products: [product('a', odd)] }), name);
      const { statusCode, headers } = await world.app.post(path, { token: TOKENS.nord, body });
      const isRefused = forbiddenCharacter(name) !== undefined;
      expect([statusCode, headers['x-ignored-fields']]).toEqual(
        isRefused ? [400, undefined] : [200, expected],
      );
    },
  );
});
