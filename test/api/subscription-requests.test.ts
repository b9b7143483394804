import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Secrets } from '../../src/domain/subscriptions/subscription';
import { type Response, type TestRequest } from '../support/app';
import { installClient } from '../support/installed-client';
import { type Attempt, headersOf } from '../../src/delivery/sending/attempt';
import { attemptTo } from '../delivery/sending/receivers';
import { SETTINGS } from '../../src/settings/settings';
import { type Copy, copyOf, subscription, SUBSCRIPTIONS, subscriptionWorld } from './subscription-network';
import {
  CONVERSION_CLIENTS,
  CONVERSION_NETWORK,
  CONVERSION_TOKENS,
  type ConversionClient,
} from './transaction-network';
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

describe('subscription access', () => {
  const { send, put, remove, get, create, ids } = world;

  const ORGANISATIONS: Readonly<Record<ConversionClient, number>> = {
    ...{ nord: 1, casa: 2, preisblick: 11, preisblickAll: 11, deals: 12, lonely: 13, operator: 99 },
  };
  const SUBSCRIBERS = CONVERSION_CLIENTS.filter((client) => client !== 'operator');

  /** Subscriptions with the clients that have created them, in this order. */
  const made: { readonly id: string; readonly by: ConversionClient; readonly copy: Copy }[] = [];

  beforeAll(async () => {
    for (let round = 0; round < 3; round += 1)
      for (const by of SUBSCRIBERS) {
        const copy = await create({ subscriptionName: `${by} ${round}` }, by);
        made.push({ id: copy.subscriptionId, by, copy });
      }
  });

  /** Whether a client has a subscription (decisions N11). */
  const has = (client: ConversionClient, by: ConversionClient): boolean =>
    ORGANISATIONS[client] === ORGANISATIONS[by] && (client !== 'preisblick' || by === 'preisblick');

  const outcome = ({ statusCode, body }: Response): string =>
    `${statusCode} ${statusCode < 300 ? '' : (/CON_\d+/.exec(body)?.[0] ?? body)}`.trim();

  describe.each(CONVERSION_CLIENTS)('%s (Document 2, Authentication 4; decisions N11)', (client) => {
    const isOperator = client === 'operator';

    it('lists exactly its own subscriptions', async () => {
      const own = made.filter(({ by }) => has(client, by)).map(({ id }) => id);
      if (isOperator) return expect(outcome(await get('', client))).toBe('400 CON_330');
      expect(await ids(client)).toEqual(own);
      const inXml = (await get('.xml', client)).body.matchAll(/<subscriptionId>(\w+)/g);
      expect([...inXml].map(([, id]) => id)).toEqual(own);
    });

    it('reads, changes and deletes its own ones only', async () => {
      for (const { id, by, copy } of made) {
        const foreign = isOperator ? '400 CON_330' : '403 CON_200';
        const expected = has(client, by) ? '200' : foreign;
        const head = await world.app.engines.log.head();
        const one = await get(`/${id}`, client);
        expect(outcome(one)).toBe(expected);
        if (expected === '200') expect(one.json()).toEqual(copy);
        expect(outcome(await get(`/${id}/secret`, client))).toBe(expected);
        if (has(client, by)) continue;
        expect(outcome(await put(id, subscription(), client))).toBe(foreign);
        expect(outcome(await remove(id, client))).toBe(foreign);
        expect(outcome(await send('POST', `/${id}/secret/rotations`, client))).toBe(foreign);
        expect(await world.app.engines.log.head()).toBe(head);
      }
    });
  });

  it('a subscription of a token for one site stays for this site, whoever replaces it (decisions N11, N16)', async () => {
    const { subscriptionId: id, ...copy } = await create({}, 'preisblick');
    expect(copy).toEqual({ ...copyOf(subscription()), siteId: 1101 });
    const named = subscription({ subscriptionName: 'By all' });
    expect((await put(id, named, 'preisblickAll')).json()).toEqual({
      ...copyOf(named),
      ...{ subscriptionId: id, siteId: 1101 },
    });
    const outside = subscription({ filter: { siteIds: [1102], messageTypeIds: [4] } });
    expect(outcome(await put(id, outside, 'preisblickAll'))).toBe('400 CON_430');
    expect(outcome(await get(`/${id}`, 'preisblick'))).toBe('200');
    expect((await create({}, 'preisblickAll'))['siteId']).toBeUndefined();
  });

  describe('a subscription whose ids may not be selected any more', () => {
    const FILTER = { messageTypeIds: [4], programIds: [101], eventIds: [305], siteIds: [1101] };
    beforeEach(() => world.app.import(network({ status: 'active' }), { prune: true }));

    /** The network after a change. */
    const changes: Readonly<Record<string, object>> = {
      'a program that is paused': network({ status: 'paused' }),
      'an event that is removed': network({ events: [] }),
      'a site that is not connected': network({}, { connections: [] }),
      'a program that is closed': network({ status: 'closed' }),
    };

    /** With program 101 changed, and other lists. */
    function network(program: object, others: object = {}): object {
      const { programs } = CONVERSION_NETWORK;
      const changed = programs.map((one) => ('id' in one && one.id === 101 ? { ...one, ...program } : one));
      return { ...CONVERSION_NETWORK, programs: changed, ...others };
    }

    it.each(Object.entries(changes))(
      'keeps %s when it is replaced, and may not gain it (decisions N11)',
      async (_, after) => {
        const { subscriptionId: id } = await create({ filter: FILTER });
        const { subscriptionId: other } = await create({ filter: { messageTypeIds: [4] } });
        await world.app.import(after, { prune: true });
        const disabled = await put(id, subscription({ filter: FILTER, disabled: true }));
        expect([disabled.statusCode, disabled.body]).toEqual([
          200,
          expect.stringContaining('"disabled":true'),
        ]);
        const gaining = await put(other, subscription({ filter: FILTER }));
        expect(outcome(gaining)).toMatch(/^40[034] CON_(220|230|240|430)$/);
        // What it has given up is gone.
        expect((await put(id, subscription({ filter: { messageTypeIds: [4] } }))).statusCode).toBe(200);
        expect(outcome(await put(id, subscription({ filter: FILTER })))).toBe(outcome(gaining));
        for (const one of [id, other]) await remove(one);
      },
    );
  });
});

const PAGE = readFileSync(join(__dirname, '../../docs/notifications.md'), 'utf8');
const run = promisify(execFile);

const SECRETS = new Secrets(Buffer.alloc(32, 7));
const TARGET = '/in?order=a%20b&value=1';

/** A request as a server in Node.js gets it. */
function arrived(contentType: string | undefined, body: string) {
  const url = `https://receiver.example${TARGET}`;
  const request: Attempt['request'] =
    contentType === undefined ? { method: 'GET', url } : { method: 'POST', url, contentType, body };
  const attempt = attemptTo(url, { request, secrets: [SECRETS.bytes('s', 1)] });
  const list = headersOf(attempt, TARGET, Buffer.from(body), Date.now());
  const pairs = Array.from({ length: list.length / 2 }, (_, n) => list.slice(2 * n, 2 * n + 2));
  return { url: TARGET, body, headers: Object.fromEntries(pairs) as Readonly<Record<string, string>> };
}

/** A folder with the TypeScript client. */
let installed: string;
beforeAll(async () => {
  installed = await mkdtemp(join(tmpdir(), 'affilog-receiver-'));
  await installClient(installed);
});
afterAll(() => rm(installed, { recursive: true }));

/**
 * Runs the lines in Node.js of the page: all of them for a GET, otherwise those before it. Raises an error if they do.
 */
async function verify(request: ReturnType<typeof arrived>): Promise<void> {
  const blocks = [...PAGE.matchAll(/^```js\n([^]*?)^```/gm)].map(([, lines = '']) => lines);
  const isGet = 'webhook-signature-target' in request.headers;
  const lines = isGet ? blocks : blocks.slice(0, 1);
  const given = `const { url, body, headers } = ${JSON.stringify(request)};`;
  await run(process.execPath, ['--input-type=module', '--eval', [given, ...lines].join('\n')], {
    cwd: installed,
    env: { WEBHOOK_SECRET: SECRETS.text('s', 1) },
  });
}

describe('docs/notifications.md', () => {
  test.each([
    ['JSON', 'application/json; charset=utf-8', '{"order": "ü"}'],
    ['XML', 'application/xml; charset=utf-8', '<order>ü</order>'],
    ['plain text', 'text/plain; charset=utf-8', 'order=ü'],
    ['a GET', undefined, ''],
  ])('has lines in Node.js that verify %s, and refuse what has been changed', async (_, type, body) => {
    const request = arrived(type, body);
    await verify(request);
    const forged = type === undefined ? { url: `${TARGET}0` } : { body: `${body} ` };
    await expect(verify({ ...request, ...forged })).rejects.toThrow(
      'expected one that the secret has made of this message',
    );
  });

  test('has all headers of a message, and no others (decisions N5)', () => {
    const described = [...PAGE.matchAll(/^\| `([\w-]+)` +\|/gm)].map(([, name]) => name);
    const sent = headersOf(
      attemptTo('https://receiver.example', {
        ...{ request: { method: 'GET', url: 'https://receiver.example' }, isManual: true, isTest: true },
      }),
      ...([TARGET, Buffer.from(''), 0] as const),
    ).filter((name) => name.startsWith('webhook-'));
    expect([...described].sort()).toEqual([...sent].sort());
    expect(described).toEqual(expect.arrayContaining(PAGE.match(/webhook-[a-z]+(?:-[a-z]+)?/g) ?? []));
  });

  test('has operations that exist only (decisions N14)', async () => {
    const { paths } = (await world.app.get('/1.0/openapi.json')).json<{
      readonly paths: Readonly<Record<string, object>>;
    }>();
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '{}')}`),
    );
    const inText = [...PAGE.matchAll(/`(GET|POST)\s+…(\/[^`]+)`/g)].map(
      ([, method = '', path = '']) => `${method} ${SUBSCRIPTIONS}/<id>${path}`,
    );
    const inShell = [...PAGE.matchAll(/^curl -sS (?:-X (\w+) )?"\$BASE([^;?"]+)/gm)].map(
      ([, method = 'GET', path = '']) => `${method} ${path}`,
    );
    expect([inText.length, inShell.length]).toEqual([11, 7]);
    for (const operation of [...inText, ...inShell])
      expect(operations).toContain(operation.replaceAll(/<\w+>|\$[A-Z]+/g, '{}'));
  });

  test('has the default of NOTIFY_KEEP', () => {
    const [, days] = /kept for (\d+) days.*\n?.*`NOTIFY_KEEP`/.exec(PAGE) ?? [];
    expect(SETTINGS.NOTIFY_KEEP.default).toBe(`${days}d`);
  });
});
