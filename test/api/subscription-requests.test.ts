import { Secrets } from '../../src/domain/subscriptions/secrets';
import { type TestRequest } from '../support/app';
import { subscription, SUBSCRIPTIONS, subscriptionWorld } from './subscription-network';
import { CONVERSION_TOKENS } from './transaction-network';
import { refusalOf } from './voucher-network';

const world = subscriptionWorld();
const { post, put, remove, get, send, create, ids } = world;

/** What subscriptions need of a process. */
const PARTS = {
  testWithin: 0,
  keepMs: 30 * 24 * 60 * 60 * 1000,
  secrets: () => new Secrets(Buffer.alloc(32)),
  addressProblem: () => undefined,
  deliveries: () => world.app.engines.deliveries(),
};

describe('requests about subscriptions', () => {
  it('of others are CON_200, in each operation (Document 2, Subscription errors: CON_200)', async () => {
    const { subscriptionId: id } = await create();
    for (const [method, path, posted] of [
      ['GET', '', undefined],
      ['PUT', '', {}],
      ['DELETE', '', undefined],
      ['GET', '/secret', undefined],
      ['POST', '/secret/rotations', undefined],
      ['POST', '/receivers/0123456789abcdef/enable', undefined],
      ['POST', '/receivers/0123456789abcdef/test', undefined],
    ] as const) {
      const { codes, message } = refusalOf(await send(method, `/${id}${path}`, 'casa', posted));
      expect([codes, message]).toEqual(['403 CON_200', `${id}: expected a subscription of yours`]);
    }
    await remove(id);
  });

  it.each(['7', '0'.repeat(32), 'constructor', '%00', 'x'.repeat(300)])(
    'that there are not are CON_210: %s (Document 2, Subscription errors: CON_210)',
    async (id) => {
      for (const answer of [
        await get(`/${id}`),
        await put(id, {}),
        await remove(id),
        await get(`/${id}/secret`),
      ])
        expect(refusalOf(answer).codes).toBe('404 CON_210');
    },
  );

  it.each([
    ['PUT', SUBSCRIPTIONS, 'GET, HEAD, POST'],
    ['DELETE', SUBSCRIPTIONS, 'GET, HEAD, POST'],
    ['POST', `${SUBSCRIPTIONS}/7`, 'DELETE, GET, HEAD, PUT'],
    ['PATCH', `${SUBSCRIPTIONS}/7`, 'DELETE, GET, HEAD, PUT'],
    ['DELETE', '/1.0/conversions/transactions', 'GET, HEAD, POST'],
  ] as const)(
    '%s %s is CON_300 with Allow (Document 2, Subscription errors: CON_300; decisions N16)',
    async (method, target, allow) => {
      const answer = await world.app.request(method, target, { token: CONVERSION_TOKENS.nord });
      const { codes, message } = refusalOf(answer);
      expect([codes, message]).toEqual(['405 CON_300', `${method} ${target}: expected ${allow}`]);
      expect(answer.headers.allow).toBe(allow);
    },
  );

  it.each<[string, TestRequest, string, RegExp]>([
    [
      'JSON that is none (Document 2, Subscription errors: CON_310)',
      { body: '{"a":' },
      '400 CON_310',
      /JSON/,
    ],
    ['a list (Document 2, Subscription errors: CON_310)', { body: '[]' }, '400 CON_310', /not an object/],
    ['an empty body (Document 2, Subscription errors: CON_310)', { body: '' }, '400 CON_310', /JSON/],
    [
      'XML (Document 2, Subscription errors: CON_360)',
      {
        body: '{}',
        headers: { 'content-type': 'application/xml; charset=utf-8', accept: 'application/json' },
      },
      '400 CON_360',
      /application\/xml; charset=utf-8: expected application\/json/,
    ],
    [
      'another charset (Document 2, Subscription errors: CON_360)',
      { body: '{}', headers: { 'content-type': 'application/json; charset=latin1' } },
      '400 CON_360',
      /latin1/,
    ],
    [
      'a body of more than 1 MB (Document 2, Subscription errors: CON_350; decisions N15)',
      { body: JSON.stringify(subscription({ subscriptionName: 'x'.repeat(1024 * 1024) })) },
      '400 CON_350',
      /at most 1048576 bytes/,
    ],
  ])('with %s are refused', async (_, request, codes, message) => {
    const answer = await world.app.post(`${SUBSCRIPTIONS}.json`, {
      token: CONVERSION_TOKENS.nord,
      ...request,
    });
    expect(refusalOf(answer)).toEqual({ codes, message: expect.stringMatching(message) });
  });

  it('by operators are CON_330 (Document 2, Subscription errors: CON_330; decisions N11)', async () => {
    for (const answer of [
      await get('', 'operator'),
      await post(subscription(), 'operator'),
      await get('/7', 'operator'),
    ])
      expect(refusalOf(answer)).toMatchObject({
        codes: '400 CON_330',
        message: 'the token is one of an operator: expected advertiser or publisher',
      });
  });

  it('that fail by a bug of ours are CON_340 (Document 2, Subscription errors: CON_340)', async () => {
    const http = await world.app.again({
      subscriptions: {
        ...PARTS,
        convertible: () => {
          throw new TypeError('a bug');
        },
      },
    });
    const answer = await http.inject({
      method: 'POST',
      url: `${SUBSCRIPTIONS}?token=${CONVERSION_TOKENS.nord}`,
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify(subscription()),
    });
    expect(refusalOf(answer)).toEqual({
      codes: '500 CON_340',
      message: expect.not.stringContaining('a bug'),
    });
    await http.close();
    expect(await ids()).toEqual([]);
  });

  it('may convert into currencies that there is a rate for, once rates are known (decisions N12)', async () => {
    const http = await world.app.again({
      subscriptions: { ...PARTS, convertible: () => new Set(['EUR', 'SEK']) },
    });
    const codesFor = async (to: string) => {
      const answer = await http.inject({
        method: 'POST',
        url: `${SUBSCRIPTIONS}?token=${CONVERSION_TOKENS.casa}`,
        headers: { 'content-type': 'application/json' },
        payload: JSON.stringify(subscription({ currencyConversion: { to } })),
      });
      return answer.statusCode === 201 ? '201' : refusalOf(answer);
    };
    expect(await codesFor('sek')).toBe('201');
    expect(await codesFor('USD')).toEqual({
      codes: '400 CON_400',
      message: "currencyConversion.to: expected a currency that there is a rate for: EUR, SEK, got 'USD'",
    });
    await http.close();
    for (const id of await ids('casa')) await remove(id, 'casa');
  });
});
