import { FEEDS, TOKENS } from '../api/network';
import { product, refusals, XML_UTF8 } from '../api/posted';
import { NOW, refusalOf, voucher, VOUCHER_TOKENS, voucherWorld } from '../api/voucher-network';
import { TestApp } from '../support/app';
import { CONVERSION_NETWORK, CONVERSION_TOKENS, type ConversionClient } from '../api/transaction-network';
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

    it('that is not exact', async () => {
      expect(refusals(await postProducts(withPrice('70368744177664.01')))).toMatchObject([
        {
          message: expect.stringMatching(
            /^products\[0\]: price: expected this amount as text, .*, got '70368744177664\.0/,
          ) as string,
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
