import fc from 'fast-check';
import { FEEDS, TOKENS } from '../api/network';
import { product, refusals, XML_UTF8 } from '../api/posted';
import { NOW, refusalOf, voucher, VOUCHER_TOKENS, voucherWorld } from '../api/voucher-network';
import { TestApp } from '../support/app';
import {
  CONVERSION_NETWORK,
  CONVERSION_TOKENS,
  type ConversionClient,
  PATH,
  reportOf,
  type Result,
  transactionWorld,
} from '../api/transaction-network';
import { postedTransaction, postedTransition } from '../../src/domain/transactions/fields';
import { cases } from '../support/size';
import { hostileValues } from '../api/hostile-values';
import { REFUSED_CONTENT, REFUSED_FIELDS, REFUSED_FILTERS } from '../api/refused-subscriptions';
import { REFUSED_BODIES, REFUSED_URLS } from '../api/refused-templates';
import { POST_RECEIVER, subscription, subscriptionClientOf } from '../api/subscription-network';

describe('body messages', () => {
  const world = voucherWorld();
  const good = JSON.stringify(product('a'));
  const half = good.slice(0, good.indexOf('"price"'));

  const postProducts = (body: string, headers = {}) =>
    world.app.post(`/1.0/products;fid=${FEEDS.german}`, { token: TOKENS.nord, body, headers });
  const postVoucher = (body: string, path = '') =>
    world.app.post(`/1.0/vouchers${path}`, { token: VOUCHER_TOKENS.nord, body });

  describe('a message about broken JSON names byte and product (Document 1, Errors)', () => {
    const start = '{"products":[';
    const second = `${start}${good},`;

    it.each([
      ['a comma too many', `${second}{"a":1,}]}`, second.length + 7, 'a name in double quotes, found }', 2],
      ['a value that is none', `${start}{"ä": x}]}`, start.length + 7, 'a value, found x', 1],
      ['a leading zero', `${second}{"a":01}]}`, second.length + 6, ', or }, found 1', 2],
      [
        'a control character',
        `${start}{"a":"b\tc"}]}`,
        start.length + 7,
        'a control character as an escape, found "\\t"',
        1,
      ],
      ['an unknown escape', `${start}{"a":"\\x"}]}`, start.length + 6, 'an escape of JSON, found \\', 1],
    ])('%s', async (_, body, byte, expected, number) => {
      const [only, ...others] = refusals(await postProducts(body));
      expect([others, only]).toEqual([
        [],
        {
          code: 'PF_210',
          message: `the body is not JSON: expected ${expected}, at byte ${byte}, in product ${number}`,
        },
      ]);
    });

    it.each([
      ['between products', `${second}]}`, `expected {, found ], at byte ${second.length}, after product 1`],
      [
        'a quote or brace that is missing, after which nothing ends',
        `${second}${half}"x" : "y},{"b":1}]}`,
        `expected , or }, found b, at byte ${second.length + half.length + 12}, in product 2`,
      ],
      [
        'a body that ends within a product',
        `${second}${half}`,
        `expected the end of the object, found the end of the body, at byte ${second.length + half.length}, in product 2`,
      ],
      [
        'a product that is nested too deep',
        `${second}{"a":${'['.repeat(40)}`,
        'an element is nested deeper than 32, in product 2',
      ],
    ])('%s', async (_, body, message) => {
      expect(refusals(await postProducts(body))).toEqual([
        { code: 'PF_210', message: `the body cannot be parsed: ${message}` },
      ]);
    });

    it('in a large body too, by other threads', async () => {
      const many = `${start}${`${good},`.repeat(3_000)}`;
      const [only] = refusals(await postProducts(`${many}{"a":nul}]}`));
      expect(only?.message).toBe(
        `the body is not JSON: expected a value, found n, at byte ${many.length + 5}, in product 3001`,
      );
    });

    it('in vouchers names the byte', async () => {
      const { message } = refusalOf(await postVoucher('{"title":"é","b":}'));
      expect(message).toBe('the body is not JSON: expected a value, found }, at byte 18');
    });
  });

  describe('a message about a number out of range has its limit and the value as sent (decisions P25)', () => {
    const withPrice = (price: string) => `{"products":[${good.replace('"price":10', `"price":${price}`)}]}`;

    it.each([
      ['1e400', '1e400'],
      ['100000000000000000001', '100000000000000000001'],
      ['90071992547409.92', '90071992547409.92'],
      ['"90071992547409.92"', '90071992547409.92'],
      ['"99999999999999999999"', '99999999999999999999'],
    ])('price %s', async (sent, shown) => {
      expect(refusals(await postProducts(withPrice(sent)))).toEqual([
        {
          code: 'PF_280',
          message: `products[0]: price: expected an amount of at most 90071992547409.91, got '${shown}'`,
          sourceProductId: 'a',
        },
      ]);
    });

    it('in XML', async () => {
      const body =
        '<products version="3.0"><product sourceProductId="a"><name>a</name><description>a</description>' +
        '<productUrl>https://shop.example/</productUrl><productImage>https://img.example/</productImage>' +
        '<categories><category name="x"/></categories><price>1234567890123456</price></product></products>';
      expect((await postProducts(body, XML_UTF8)).body).toContain(
        "price: expected an amount of at most 90071992547409.91, got '1234567890123456'",
      );
    });

    it('of an integer', async () => {
      const body = `{"products":[${good.replace('{', '{"inStock":12345678901234567890,')}]}`;
      expect(refusals(await postProducts(body))[0]?.message).toBe(
        "products[0]: inStock: expected an integer from -9007199254740991 to 9007199254740991, got '12345678901234567890'",
      );
    });

    it.each([
      ['1e300', "discountAmount: expected a number from 0 to 9007199254740991, got '1e300'"],
      [
        '"1234567890123456"',
        /^discountAmount: expected a number from 0 with at most 15 digits .*, got '1234567890123456'$/,
      ],
    ])('discountAmount %s of a voucher', async (sent, expected) => {
      const body = JSON.stringify(voucher({ discountAmount: 7, isPercentage: false })).replace(
        ':7,',
        `:${sent},`,
      );
      const { codes, message } = refusalOf(await postVoucher(body));
      expect(codes).toBe('400 101');
      expect(message).toMatch(expected);
      const bulk = await postVoucher(`[${JSON.stringify(voucher())},${body}]`, '/bulk');
      const [, second] = bulk.json<[object, { errors: { message: string }[] }]>();
      expect(second.errors[0]?.message).toBe(message);
    });
  });

  describe('a voucher dated in seconds (decisions A17, V16)', () => {
    it.each(['startDate', 'endDate', 'publishStartDate', 'publishEndDate'])(
      'is refused: %s',
      async (field) => {
        for (const seconds of [1, 1_767_225_600, '1767225600', Date.UTC(2001, 0) - 1]) {
          const answer = await world.post(voucher({ [field]: seconds }));
          expect(refusalOf(answer)).toEqual({
            codes: '400 101',
            message: `${field}: expected milliseconds since 1970, of 2001 or later (given in seconds? Multiply by 1000), got '${seconds}'`,
          });
        }
      },
    );

    it('is told from one that begins with the first or an earlier instant, or in 2001', async () => {
      for (const startDate of [0, -1, Date.UTC(2001, 0)])
        expect((await world.post(voucher({ startDate }))).statusCode).toBe(200);
    });
  });
});

describe('page size', () => {
  const TOKEN_OF = {
    nord: TOKENS.nord,
    vouchers: VOUCHER_TOKENS.nord,
    conversions: CONVERSION_TOKENS.nord,
  } as const;

  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start({ network: CONVERSION_NETWORK });
  });
  afterAll(() => app.close());

  const products = `/1.0/products;fid=${FEEDS.german}`;

  it.each([
    [products, 'nord', undefined],
    [`${products};pageSize=1000`, 'nord', undefined],
    [`${products};pageSize=1001`, 'nord', '1000'],
    [`${products};pageSize=1001;cursor=*`, 'nord', '1000'],
    [`/1.0/products.csv;fid=${FEEDS.german};pageSize=5000`, 'nord', '1000'],
    [`/1.0/products.xml;fid=${FEEDS.german};pageSize=5000;groupOffersByProduct=true`, 'nord', '1000'],
    [`${products};limit=1000`, 'nord', undefined],
    [`${products};limit=5000`, 'nord', '100'],
    [`${products};limit=5000;pageSize=7`, 'nord', '7'],
    ['/1.0/vouchers', 'vouchers', undefined],
    ['/1.0/vouchers;pageSize=1000', 'vouchers', undefined],
    ['/1.0/vouchers;pageSize=1001', 'vouchers', '1000'],
    ['/1.0/vouchers.ics;pageSize=9999', 'vouchers', '1000'],
    ['/1.0/conversions/transactions;pageSize=1000', 'conversions', undefined],
    ['/1.0/conversions/transactions.xml;pageSize=1001', 'conversions', '1000'],
  ] as const)('%s for %s: X-Page-Size is %s (decisions P3, V16)', async (target, caller, size) => {
    const { statusCode, headers } = await app.get(target, { token: TOKEN_OF[caller] });
    expect([statusCode, headers['x-page-size']]).toEqual([200, size]);
  });
});

describe('hostile transactions', () => {
  const world = transactionWorld();
  const { create, reportAll, moveAll, get } = world;
  const SEED = Number(process.env.HOSTILE_SEED ?? Math.floor(Math.random() * 2 ** 31));
  const TARGETS = ['', '/bulk', '/transitions', '/transitions/bulk'] as const;

  const send = (path: string, body: string | Buffer, headers = {}) =>
    world.app.post(`${PATH}${path}`, { token: CONVERSION_TOKENS.nord, headers, body });

  /** How many events the log has of this test's transactions. */
  async function events(): Promise<string> {
    return await world.app.engines.log.head();
  }

  /** A body that must be refused as a whole, with nothing stored. */
  async function refuses(path: string, body: string | Buffer, headers = {}): Promise<string> {
    const before = await events();
    const answer = await send(path, body, headers);
    expect([path, answer.statusCode >= 400 && answer.statusCode < 500]).toEqual([path, true]);
    expect(await events()).toBe(before);
    return answer.body;
  }

  const report = JSON.stringify(reportOf('H-1'));
  const element = (orderNumber: string, more = '') =>
    `<transaction${more}><programId>101</programId><eventId>302</eventId><siteId>1101</siteId><orderNumber>${orderNumber}</orderNumber></transaction>`;

  describe('bodies that cannot be read are refused, and store nothing (decisions T2)', () => {
    it.each(
      TARGETS.flatMap(
        (path) =>
          [
            [path, 'nothing', ''],
            [path, 'half of an object', '{"programId":'],
            [path, 'two objects', `${report}${report}`],
            [path, 'null', 'null'],
            [path, 'a number', '1e999'],
            [path, 'NaN', '{"programId":NaN}'],
            [path, 'deep lists', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
            [path, 'deep objects', `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`],
            [path, 'a deep field', `[{"orderNumber":${'['.repeat(5000)}${']'.repeat(5000)}}]`],
            [path, 'a raw control character', '{"orderNumber":"a\u0001"}'],
            [path, 'another encoding', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
            [path, 'UTF-16', Buffer.from(`\ufeff${report}`, 'utf16le')],
          ] as const,
      ),
    )('%s: %s', async (path, _, body) => {
      expect(await refuses(path, body)).toMatch(/CON_3[15]0/);
    });

    it.each([
      ['a document type', `<!DOCTYPE transaction [<!ENTITY a "b">]>${element('&a;')}`],
      ['an external entity', `<!DOCTYPE t [<!ENTITY a SYSTEM "file:///etc/hostname">]>${element('&a;')}`],
      ['an undefined entity', element('&a;')],
      ['two roots', element('a') + element('b')],
      ['another root', '<sale/>'],
      ['deep elements', `${'<a>'.repeat(20_000)}${'</a>'.repeat(20_000)}`],
      ['an open element', '<transaction><programId>101'],
      ['elements in a text', element('<b>1</b>')],
      ['a control character', element('\u0001')],
      ['text alone', 'transaction'],
      ['an unbound prefix', '<x:transaction/>'],
    ])('XML with %s', async (_, body) => {
      for (const path of ['', '/bulk']) {
        const sent = path === '' ? body : body.replace(element('a'), `<transactions>${element('a')}`);
        expect(await refuses(path, sent, XML_UTF8)).toMatch(/CON_3[15]0/);
      }
    });

    it('bodies that are too large, of one or of several', async () => {
      await refuses('', JSON.stringify(reportOf('H-2', { reportInfo: 'x'.repeat(300_000) })));
      await refuses('/transitions', `[${'1,'.repeat(200_000)}1]`);
      await refuses('/bulk', Buffer.alloc(33 * 1024 * 1024, 0x20));
    });
  });

  describe('XML that says the same', () => {
    it('may have namespaces, attributes, comments and CDATA', async () => {
      const inner = element('<![CDATA[X&1]]>', ' xmlns="urn:x" xmlns:y="urn:y" y:z="1" a="b"');
      const answer = await send('', `<?xml version="1.0"?><!-- a --><?p q?>${inner}`, XML_UTF8);
      expect([answer.statusCode, answer.headers['x-ignored-fields']]).toEqual([201, '%40a, %40z']);
      expect(answer.body).toContain('X&amp;1_302_1');
    });
  });

  const HOSTILE = hostileValues({ longest: 70_000 });

  describe('a hostile value at each field (decisions T2, T5)', () => {
    it.each(Object.keys(postedTransaction.fields))('of a report: %s', async (field) => {
      const reports = HOSTILE.map((value, at) => reportOf(`F-${field}-${at}`, { [field]: value }));
      const answer = await reportAll(reports);
      expect(answer.statusCode).toBe(200);
      await consistent(answer.json());
    });

    it.each(Object.keys(postedTransition.fields))('of a transition: %s', async (field) => {
      const { transactionId } = await create(`G-${field}`);
      for (const action of ['approve', 'amend', 'pay']) {
        const requests = HOSTILE.map((value) => ({ transactionId, action, [field]: value }));
        const answer = await moveAll(requests);
        expect(answer.statusCode).toBe(200);
        await consistent(answer.json());
      }
    });

    /** Each result names a fault of the request, or a transaction that can be read. */
    async function consistent(results: readonly Result[]): Promise<void> {
      expect(results).toHaveLength(HOSTILE.length);
      for (const { errors, transactionId } of results) {
        for (const { code, message } of errors ?? []) {
          expect(code).toMatch(/^CON_(220|230|240|350|330|430|500|510|520)$/);
          expect(message.length).toBeLessThan(1000);
        }
        if (errors === undefined)
          for (const extension of ['', '.xml'])
            expect((await get(`/${transactionId}/transitions${extension}`)).statusCode).toBe(200);
      }
    }
  });

  it(`random JSON is answered with less than 500 and never half stored (HOSTILE_SEED=${SEED})`, async () => {
    const field = fc.constantFrom(
      ...Object.keys(postedTransaction.fields),
      ...Object.keys(postedTransition.fields),
      'unknown',
    );
    const value = fc.oneof(
      fc.constantFrom(...HOSTILE),
      fc.jsonValue({ maxDepth: 3 }),
      fc.constant('approve'),
    );
    const item = fc.oneof(fc.dictionary(field, value), fc.jsonValue({ maxDepth: 2 }));
    const bodies = fc.sample(fc.tuple(fc.constantFrom(...TARGETS), fc.oneof(item, fc.array(item))), {
      numRuns: cases(1000, 150),
      seed: SEED,
    });
    for (const [path, body] of bodies) {
      const before = await events();
      const answer = await send(path, JSON.stringify(body));
      expect([path, body, answer.statusCode < 500]).toEqual([path, body, true]);
      if (answer.statusCode >= 400) expect(await events()).toBe(before);
    }
  });

  it('10,000 reports of one key in one post make one transaction, and agree (decisions T1, T2)', async () => {
    const many = Array.from({ length: cases(10_000, 2_000) }, () => reportOf('DUPLICATE'));
    const results = (await reportAll(many)).json<readonly Result[]>();
    expect(results).toHaveLength(many.length);
    const [first, ...others] = results.map((result) => JSON.stringify(result));
    expect(new Set(others)).toEqual(new Set([first?.replace('created', 'known')]));
    expect((await get('/totals;orderNumber=DUPLICATE')).json()).toMatchObject([{ count: 1 }]);
  });

  it('requests for one transaction in one post are executed in their order (decisions T5)', async () => {
    const { transactionId } = await create('ORDER');
    const amendments = Array.from({ length: 40 }, (_, at) => ({
      ...{ transactionId, action: 'amend', orderValue: at + 1 },
    }));
    const results = (
      await moveAll([
        ...amendments,
        { transactionId, action: 'approve' },
        { transactionId, action: 'amend', orderValue: 7 },
      ])
    ).json<readonly Result[]>();
    expect(results.map(({ messageTypeId, errors }) => errors?.[0]?.code ?? messageTypeId)).toEqual([
      ...amendments.map(() => 4),
      6,
      'CON_520',
    ]);
    expect((await get(`/${transactionId}`)).json()).toMatchObject({ orderValue: 40, sequenceNumber: '43' });
  });

  it('of two different reports of one key in one post the first counts (decisions T2)', async () => {
    const answer = await reportAll([reportOf('TWICE'), reportOf('TWICE', { orderValue: 101 })]);
    expect(answer.json()).toMatchObject([{ messageTypeId: 4 }, { errors: [{ code: 'CON_510' }] }]);
    const refusal = refusalOf(await world.report(reportOf('TWICE', { orderValue: 101.5 })));
    expect(refusal.message).toContain('reported with other values: orderValue is 100, got 101.5;');
  });

  it('a repeated report may write its numbers in another way (decisions T2)', async () => {
    await create('NUMBERS', { orderValue: 0, adId: 0 });
    const again = {
      ...reportOf('NUMBERS'),
      orderValue: 'ZERO',
      adId: 'ZERO',
      timeOfEvent: new Date(NOW - 60_000),
    };
    for (const zero of ['-0', '0.0', '"0.00"', '"0"']) {
      const body = JSON.stringify(again)
        .replace('"ZERO"', zero)
        .replace('"ZERO"', zero.includes('.') ? '0' : zero);
      expect((await send('', body)).statusCode).toBe(200);
    }
  });

  it('names the fields that it does not know (decisions A15)', async () => {
    const one = await world.report(reportOf('IGNORED', { odrerValue: 7, colour: 'red' }));
    expect([one.statusCode, one.headers['x-ignored-fields']]).toEqual([201, 'colour, odrerValue']);
    const refused = await world.report({
      ...reportOf('IGNORED 2', { odrerNumber: 7 }),
      orderNumber: undefined,
    });
    expect([refused.statusCode, refused.headers['x-ignored-fields']]).toEqual([400, 'odrerNumber']);
    const several = await moveAll([{ acton: 1 }, { transactionID: 2 }, 5]);
    expect(several.headers['x-ignored-fields']).toBe('acton, transactionID');
    expect((await create('NONE-IGNORED')).messageTypeId).toBe(4);
  });
});

describe('a post, or a PUT, is refused with', () => {
  let app: TestApp;
  /** Program 103 is closed. */
  const programs = CONVERSION_NETWORK.programs.map((one) => ({
    ...one,
    ...((one as { id?: number }).id === 103 ? { status: 'closed' } : {}),
  }));

  beforeAll(async () => {
    app = await TestApp.start({ network: { ...CONVERSION_NETWORK, programs }, now: () => new Date(NOW) });
  });

  const { post, put, remove, create } = subscriptionClientOf(() => app);

  const REFUSED = [
    ...REFUSED_FILTERS,
    ...REFUSED_FIELDS,
    ...REFUSED_URLS,
    ...REFUSED_BODIES,
    ...REFUSED_CONTENT,
  ];

  let existing: Readonly<Partial<Record<ConversionClient, string>>>;
  beforeAll(async () => {
    const owners = ['nord', 'casa', 'preisblick', 'deals'] as const;
    const created = await Promise.all(owners.map(async (as) => [as, (await create({}, as)).subscriptionId]));
    existing = Object.fromEntries(created) as typeof existing;
  });
  afterAll(async () => {
    for (const [as, id] of Object.entries(existing)) await remove(id, as as ConversionClient);
    await app.close();
  });

  it.each(REFUSED.map((one) => [one[0], one] as const))(
    '%s',
    async (_, [, posted, codes, message, as = 'nord']) => {
      const head = await app.engines.log.head();
      for (const answer of [await post(posted, as), await put(existing[as]!, posted, as)]) {
        const refusal = refusalOf(answer);
        expect(refusal.codes).toBe(codes);
        expect(refusal.message).toEqual(
          typeof message === 'string' ? message : expect.stringMatching(message),
        );
      }
      expect(await app.engines.log.head()).toBe(head);
    },
  );

  it('everything that is wrong, at once, each with its field and value (decisions N11)', async () => {
    const answer = await post({
      subscriptionName: 'x'.repeat(300),
      filter: { programIds: [999, 201], eventIds: [401], siteIds: [1301], messageTypeIds: [9] },
      receivers: [
        { receiverUrl: 'ftp://a.example' },
        { httpMethod: 'GET', receiverUrl: 'a', receiverBody: 'b', receiverFormat: 'JSON' },
        { httpMethod: 'POST', receiverUrl: 'https://a.example' },
        { httpMethod: 'POST', receiverUrl: 'https://a.example', receiverFormat: 'x', receiverBody: '${' },
        { ...POST_RECEIVER, receiverBody: '${nothing}}' },
      ],
      currencyConversion: { to: 'XXY' },
      customAttribute: { tdAttributes: ['no'], userAttribute: 'a b', rules: [{ inputs: [] }] },
    });
    const { errors } = answer.json<{ errors: { code: string }[] }>();
    expect(answer.statusCode).toBe(400);
    expect(errors.map(({ code }) => code.slice('CON_'.length)).sort()).toEqual(
      '220 230 240 260 270 280 290 290 320 350 350 350 370 380 390 400 420 430 440 440 440'.split(' '),
    );
  });

  it('faults of ids in a list that has unusable ones too (decisions N11)', async () => {
    const filter = {
      programIds: [999, 'x'],
      eventIds: ['401', {}],
      siteIds: [7, -0.5],
      messageTypeIds: [9, 99],
    };
    const { codes } = refusalOf(await post(subscription({ filter })));
    expect(codes.split(' ').slice(1).sort()).toEqual(
      '220 240 350 350 350 350 420 430'.split(' ').map((code) => `CON_${code}`),
    );
  });

  it('at most 100 faults, and the number of the others (decisions N16)', async () => {
    const receiverBody = Array.from({ length: 6000 }, (_, at) => `\${a${at}}`).join('');
    const receiver = { ...POST_RECEIVER, receiverFormat: 'custom', receiverBody };
    const answer = await post({ filter: { messageTypeIds: [4] }, receivers: Array(10).fill(receiver) });
    expect(answer.statusCode).toBe(400);
    const { errors } = answer.json<{ errors: { code: string; message: string }[] }>();
    expect(errors).toHaveLength(101);
    expect(errors[99]).toMatchObject({ code: 'CON_440' });
    expect(errors[100]).toEqual({ code: 'CON_350', message: '59900 more faults are not listed' });
  });
});
