import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { demoNetwork } from '../../../src/demo/network';
import { TestApp } from '../../support/app';
import { freePort } from '../../support/server';

const run = promisify(execFile);
const ROOT = join(__dirname, '../../..');
const CLIENT = join(ROOT, 'clients/typescript');
const TYPES = join(CLIENT, 'src/openapi.ts');

const TOKENS = {
  ADVERTISER: { organisationId: 1, system: 'PRODUCTS', token: 'a'.repeat(40) },
  PUBLISHER: { organisationId: 11, system: 'PRODUCTS', siteId: 1101, token: 'b'.repeat(40) },
  VOUCHER_ADVERTISER: { organisationId: 1, system: 'VOUCHERS', token: 'c'.repeat(40) },
  VOUCHER_PUBLISHER: { organisationId: 11, system: 'VOUCHERS', siteId: 1101, token: 'd'.repeat(40) },
  CONVERSION_ADVERTISER: { organisationId: 1, system: 'CONVERSIONS', token: 'e'.repeat(40) },
  CONVERSION_PUBLISHER: { organisationId: 11, system: 'CONVERSIONS', siteId: 1101, token: '2'.repeat(40) },
  CLAIM_ADVERTISER: { organisationId: 1, system: 'CLAIMS', token: 'f'.repeat(40) },
  CLAIM_PUBLISHER: { organisationId: 11, system: 'CLAIMS', siteId: 1101, token: '1'.repeat(40) },
} as const;

/** As strict as a user's may be: also the declarations of the package are checked. */
const TSCONFIG = {
  compilerOptions: {
    target: 'ES2022',
    lib: ['ES2023', 'DOM', 'DOM.Iterable'],
    module: 'Node16',
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    typeRoots: [join(ROOT, 'node_modules/@types')],
    types: ['node'],
    outDir: 'built',
  },
};

/** The programs of its README, in order. */
const EXAMPLES = ['search', 'load', 'file', 'follow', 'errors', 'subscribe', 'receiver'] as const;

/** Uses what the README does not. The first ones are tests of the types: compiling fails unless they are refused. */
const USAGE = `
import { Affilog, type components } from 'affilog-client';
const { API = '', ...tokens } = process.env;
const token = (system: string) => tokens[system] ?? '';
const advertiser = new Affilog({ url: API + '/', token: {
  PRODUCTS: token('ADVERTISER'), VOUCHERS: token('VOUCHER_ADVERTISER'), CONVERSIONS: token('CONVERSION_ADVERTISER'),
  CLAIMS: token('CLAIM_ADVERTISER'),
} });
const publisher = new Affilog({ url: API, token: { CLAIMS: token('CLAIM_PUBLISHER'), PRODUCTS: token('PUBLISHER') } });
export const wrong = () => {
  // @ts-expect-error -- there is no such key.
  publisher.products.search({ fid: [1001], colour: 'red' });
  // @ts-expect-error -- a required key is missing.
  publisher.products.search({});
  // @ts-expect-error -- a price is a number.
  const product: components['schemas']['PostedProduct'] = { price: '12' };
  return product;
};
export const compiled = async (id: string) => {
  const [message] = [await advertiser.claimSubscriptions.delivery(id, 'msg_1')];
  const claimId: string = message.claimId;
  for await (const { voucherId } of advertiser.voucherSubscriptions.deliveries(id, { state: ['dead'] })) console.log(voucherId, claimId);
  for await (const { productId } of advertiser.productSubscriptions.deliveries(id, { changeTypeId: [1] })) console.log(productId);
  const [transition] = await advertiser.subscriptions.explain(id, 'A');
  return transition?.messageTypeId;
};
const order = { affiliateSiteId: 1101, programId: 101, timeStampEvent: '2026-02-20', eventId: 1011 };
await publisher.claims.file([{ ...order, orderNumber: 'Ø-1', orderValue: 1234567.89 }]);
const claims = [];
for await (const claim of publisher.claims.list()) claims.push(claim);
const [claim] = claims;
await advertiser.claims.update([{ claimId: claim?.claimId ?? 0, versionNo: 0, statusIdClaim: 3 }]);
const followed = [];
for await (const { changed } of publisher.claims.follow()) followed.push(...changed);
const { subscriptionId: id, receivers } = await advertiser.subscriptions.create({
  filter: { messageTypeIds: [4] },
  receivers: [{ httpMethod: 'GET', receiverUrl: 'https://receiver.example/\${orderNumber}' }],
});
const secret = await advertiser.subscriptions.secret(id);
const listed = (await advertiser.subscriptions.list()).map((one) => one.subscriptionId === id);
await advertiser.subscriptions.delete(id);
await advertiser.products.setSource({ feedId: 1001, url: 'https://shop.example/export.csv', every: '6h' });
await advertiser.products.fetchSource(1001);
const [source] = await advertiser.products.sources();
await advertiser.products.removeSource(1001);
const [load] = await advertiser.products.imports(1001);
const { visible, conditions } = await advertiser.products.visibility(1001, 'glass-1');
const voucher = { title: 'Größe', programId: 101, voucherTypeId: 4, shortDescription: 's', description: 'd',
  startDate: Date.now(), endDate: Date.now() + 86_400_000 };
const results = await advertiser.vouchers.postAll([voucher, { ...voucher, programId: 7 }]);
const { products, since } = await publisher.products.download(1001);
const later = await publisher.products.download(1001, since);
const [{ totalHits }] = [(await publisher.products.searchPage({ fid: [1001], pageSize: 1 })).productHeader];
const { counts } = await advertiser.products.delete(1001, ['glass-3']);
console.log(JSON.stringify({
  claims: claims.map(({ orderNumber, orderValue, statusId }) => [orderNumber, orderValue, statusId]),
  followed: followed.map(({ statusId }) => statusId),
  subscription: [receivers.length, secret.startsWith('whsec_'), listed],
  source: [source?.state, source?.every],
  product: [load?.status, visible, conditions.length > 0],
  results: results.map(({ id: made, errors }) => made ?? errors?.map(({ code }) => code)),
  feed: [products.length, later.products.length, totalHits, counts['removed']],
}));
`;

/** Its source. */
const load = () => import('../../../clients/typescript/src/index.js');

let app: TestApp;
let folder: string;
let api: string;

beforeAll(async () => {
  app = await TestApp.start({ network: { ...demoNetwork(), tokens: Object.values(TOKENS) } });
  await app.http.listen(0, '127.0.0.1');
  api = await app.http.getUrl();
  folder = await mkdtemp(join(tmpdir(), 'affilog-client-'));
});
afterAll(async () => {
  await app.close();
  await rm(folder, { recursive: true });
});

it('its types are those of the description: npm run client writes them', async () => {
  const description = join(folder, 'openapi.json');
  await writeFile(description, (await app.get('/1.0/openapi.json')).body);
  const written = process.env.UPDATE_CLIENT === 'true' ? TYPES : join(folder, 'openapi.ts');
  await run(process.execPath, [join(CLIENT, 'generate.mjs'), description, written]);
  expect(await readFile(TYPES, 'utf8')).toBe(await readFile(written, 'utf8'));
});

describe('the package (decisions X138)', () => {
  const tsc = (...args: string[]) =>
    run(process.execPath, [require.resolve('typescript/bin/tsc'), ...args]).catch((failure: unknown) => ({
      ...(failure as object),
    }));

  const environment = () => ({
    PATH: process.env.PATH,
    API: api,
    ...Object.fromEntries(Object.entries(TOKENS).map(([name, { token }]) => [name, token])),
  });

  const execute = async (name: string): Promise<string> => {
    const program = join(folder, 'built', `${name}.js`);
    const { stdout } = await run(process.execPath, [program], { cwd: folder, env: environment() });
    return stdout.trim();
  };

  it('has what it needs and nothing else, and is installed without dependencies', async () => {
    const built = join(folder, 'package');
    for (const file of ['package.json', 'README.md']) {
      await run('mkdir', ['-p', built]);
      await copyFile(join(CLIENT, file), join(built, file));
    }
    expect(await tsc('-p', CLIENT, '--outDir', join(built, 'dist'))).toEqual({ stdout: '', stderr: '' });
    const options = { cwd: built };
    const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts'], options);
    const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
    const modules = ['affilog', 'index', 'openapi', 'products', 'rest', 'services', 'subscriptions'];
    expect(files.map(({ path }) => path).sort()).toEqual([
      'README.md',
      ...[...modules, 'transport', 'webhook'].flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`]),
      'package.json',
    ]);
    await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}');
    const quiet = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts'];
    await run('npm', ['install', ...quiet, join(built, filename)], { cwd: folder });
    expect(await readdir(join(folder, 'node_modules'))).toEqual(['.package-lock.json', 'affilog-client']);
  });

  it('compiles with the examples of its README in strict mode', async () => {
    const readme = await readFile(join(CLIENT, 'README.md'), 'utf8');
    const blocks = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);
    expect(blocks).toHaveLength(EXAMPLES.length);
    for (const [at, name] of EXAMPLES.entries())
      await writeFile(join(folder, `${name}.ts`), blocks[at] ?? '');
    await writeFile(join(folder, 'usage.ts'), USAGE);
    const files = [...EXAMPLES, 'usage'].map((name) => `${name}.ts`);
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ ...TSCONFIG, files }));
    expect(await tsc('-p', folder)).toEqual({ stdout: '', stderr: '' });
  });

  it('runs the examples of its README', async () => {
    expect(await execute('load')).toMatch(/^2 new\nglass-2: products\[1\]: price: expected/);
    expect(await execute('search')).toBe('Glass lamp 1 10\nGlass lamp 3 30');
    const columns = 'sourceProductId;Titel;description;productUrl;price;imageUrl;categories\n';
    const row = ';Brass;https://shop.example/b;40.00;https://img.example/b.jpg;Lamps::\n';
    await writeFile(join(folder, 'export.csv'), `${columns}brass-1;Brass lamp${row}brass-2;${row}`);
    expect(await execute('file')).toMatch(/^1 new\nPF_240 line 3: column Titel \(name\) must be set$/);
    expect(await execute('errors')).toBe('400 CON_350 orderValue\ncreated 1234567.89');
    expect(await execute('subscribe')).toMatch(/^whsec_/);
    await app.post('/1.0/vouchers', {
      token: TOKENS.VOUCHER_ADVERTISER.token,
      body: JSON.stringify({
        ...{ title: 'One', programId: 101, voucherTypeId: 4, shortDescription: 's', description: 'd' },
        ...{ startDate: Date.now(), endDate: Date.now() + 86_400_000 },
      }),
    });
    for (let time = 1; time <= 2; time += 1) expect(await execute('follow')).toBe('true');
  });

  it('uses the other services, with exact values', async () => {
    expect(JSON.parse(await execute('usage'))).toEqual({
      claims: [['Ø-1', 1234567.89, 2]],
      followed: [3],
      subscription: [1, true, [true]],
      source: ['new', '6h'],
      product: ['done', true, true],
      results: [2, ['102']],
      feed: [2, 0, 2, 1],
    });
  });

  it('verifies messages as its README does', async () => {
    const secret = `whsec_${Buffer.from('a secret of this test').toString('base64')}`;
    const port = await freePort();
    const env = { ...environment(), PORT: String(port), WEBHOOK_SECRET: secret };
    const receiver = spawn(process.execPath, [join(folder, 'built/receiver.js')], { cwd: folder, env });
    const lines: string[] = [];
    createInterface(receiver.stdout).on('line', (line) => lines.push(line));
    await once(receiver.stdout, 'data');
    const at = new Date();
    const body = '{"order": "Größe-1"}';
    const send = async (sent: string): Promise<number> => {
      const headers = {
        'webhook-id': 'msg_1',
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': new Webhook(secret).sign('msg_1', at, body),
      };
      const url = `http://127.0.0.1:${port}/in`;
      return (await fetch(url, { method: 'POST', headers, body: sent })).status;
    };
    expect([await send(body), await send(body.replace('1', '2'))]).toEqual([204, 400]);
    receiver.kill();
    await once(receiver, 'exit');
    expect(lines).toEqual(['listening', "msg_1 { order: 'Größe-1' }"]);
  });
});

describe('requests (decisions X138)', () => {
  type Asked = readonly [method: string, path: string, key: string | null];

  /** A client of answers that are given in order, `undefined` for a connection that fails; and what it has asked. */
  async function clientOf(answers: readonly (Response | undefined)[], options: object = {}) {
    const { Affilog } = await load();
    const asked: Asked[] = [];
    const fetchNext = async (url: string, init: RequestInit): Promise<Response> => {
      const { pathname, search } = new URL(url);
      asked.push([init.method ?? '', pathname + search, new Headers(init.headers).get('Idempotency-Key')]);
      if (init.body instanceof ReadableStream) await new Response(init.body).text();
      const answer = answers[asked.length - 1];
      if (answer === undefined) throw new TypeError('fetch failed');
      return answer;
    };
    const fetched = fetchNext as unknown as typeof fetch;
    return { asked, client: new Affilog({ url: 'http://api', token: 'x', fetch: fetched, ...options }) };
  }

  const refusal = (status: number, headers: Record<string, string> = {}) =>
    new Response(JSON.stringify({ errors: [{ code: String(status), message: 'fid=x: expected' }] }), {
      status,
      headers,
    });
  const busy = () => refusal(503, { 'Retry-After': '0' });

  it('a POST is repeated with its key after a connection that failed, and after what passes', async () => {
    const inProgress = refusal(409, { 'Retry-After': '0' });
    const { asked, client } = await clientOf([undefined, busy(), inProgress, Response.json([7])]);
    expect(await client.vouchers.post({} as never)).toBe(7);
    const keys = new Set(asked.map(([, , key]) => key));
    expect([asked.length, keys.size, [...keys][0]]).toEqual([4, 1, expect.stringMatching(/^[\da-f-]{36}$/)]);
  });

  it('a load of products needs no key; one that is streamed is not repeated', async () => {
    const done = Response.json({ errors: [] }, { headers: { 'X-Load-Counts': 'new=1, removed=0' } });
    const { asked, client } = await clientOf([busy(), done, busy()]);
    expect((await client.products.load(1, [])).counts).toEqual({ new: 1, removed: 0 });
    await expect(client.products.load(1, new Set<never>())).rejects.toMatchObject({ status: 503 });
    expect(asked.map(([, , key]) => key)).toEqual([null, null, null]);
  });

  it('a DELETE is repeated if it was refused, and not if nobody knows what it has done', async () => {
    const { asked, client } = await clientOf([busy(), new Response(null, { status: 204 }), undefined]);
    await client.vouchers.delete(7);
    await expect(client.vouchers.delete(8)).rejects.toThrow('fetch failed');
    expect(asked.map(([, path]) => path)).toEqual(['/1.0/vouchers/7', '/1.0/vouchers/7', '/1.0/vouchers/8']);
  });

  it('what does not pass is raised at once with code, message and field; what passes after the last repetition', async () => {
    const { asked, client } = await clientOf([refusal(400), busy(), busy()], { retries: 1 });
    const { AffilogError } = await load();
    const error: unknown = await client.products.feeds().catch((raised: unknown) => raised);
    expect(error).toBeInstanceOf(AffilogError);
    expect(error).toMatchObject({ status: 400, code: '400', field: 'fid', message: 'fid=x: expected' });
    await expect(client.products.feeds()).rejects.toMatchObject({ status: 503 });
    expect(asked).toHaveLength(3);
  });

  it('a signal ends a request that waits to be repeated', async () => {
    const ending = new AbortController();
    const { client } = await clientOf([refusal(503, { 'Retry-After': '1000' })], { signal: ending.signal });
    const waits = client.products.feeds();
    ending.abort(new Error('enough'));
    await expect(waits).rejects.toThrow('enough');
  });

  it('lists ask for pages as they are needed: by cursor, by number, and what changes until there is no more', async () => {
    const page = (items: readonly number[], headers: Record<string, string> = {}) =>
      Response.json(items, { headers });
    const { asked, client } = await clientOf([
      page([1], { 'X-Next-Cursor': 'c 1' }),
      page([2]),
      page(Array.from({ length: 1000 }, (_, at) => at)),
      page([]),
      page([1], { 'X-Next-Since': 'p1', 'X-Has-More': 'true', 'X-Since-Reset': 'true' }),
      page([2], { 'X-Next-Since': 'p2', 'X-Removed': '3,4' }),
      page([1], { 'X-Next-Since': 'p1' }),
      page([], { 'X-Next-Since': 'p1' }),
    ]);
    const all = async (list: AsyncIterable<unknown>): Promise<unknown[]> => {
      const found: unknown[] = [];
      for await (const one of list) found.push(one);
      return found;
    };
    expect(await all(client.transactions.list({ programId: [1, 2] }))).toEqual([1, 2]);
    expect(await all(client.vouchers.list())).toHaveLength(1000);
    expect(await all(client.claims.follow('p0'))).toEqual([
      { reset: true, removed: [], changed: [1], since: 'p1' },
      { reset: false, removed: ['3', '4'], changed: [2], since: 'p2' },
    ]);
    expect(await all(client.transactions.follow())).toHaveLength(2);
    const transactions = '/1.0/conversions/transactions';
    expect(asked.map(([, path]) => path)).toEqual([
      `${transactions}?programId=1&programId=2&pageSize=1000&cursor=*`,
      `${transactions}?programId=1&programId=2&pageSize=1000&cursor=c+1`,
      '/1.0/vouchers?page=0&pageSize=1000',
      '/1.0/vouchers?page=1&pageSize=1000',
      '/1.0/claims?since=p0',
      '/1.0/claims?since=p1',
      `${transactions}?since=*`,
      `${transactions}?since=p1`,
    ]);
  });
});

describe('messages of a subscription (decisions X138)', () => {
  it('are sent again, and made for the past, part by part', async () => {
    const parts = [
      { requested: 2, remaining: 1, cursor: 'c' },
      { requested: 1, remaining: 0 },
      { requested: 5 },
    ];
    const bodies: unknown[] = [];
    const { Affilog } = await load();
    const fetchNext = async (url: string, init: RequestInit): Promise<Response> => {
      bodies.push([new URL(url).pathname, JSON.parse(init.body as string) as object]);
      return Response.json(parts[bodies.length - 1], { status: 202 });
    };
    const client = new Affilog({
      url: 'http://api',
      token: 'x',
      fetch: fetchNext as unknown as typeof fetch,
    });
    const period = { minTime: '2026-01-01T00:00:00Z', maxTime: '2026-01-02T00:00:00Z' };
    expect(await client.claimSubscriptions.redeliverAll('s', period)).toBe(3);
    expect(await client.subscriptions.backfill('s', period)).toBe(5);
    expect(bodies).toEqual([
      ['/1.0/claims/subscriptions/s/redeliveries', period],
      ['/1.0/claims/subscriptions/s/redeliveries', { ...period, cursor: 'c' }],
      ['/1.0/conversions/subscriptions/s/backfills', period],
    ]);
  });
});

describe('signatures', () => {
  const secret = `whsec_${Buffer.from('one secret').toString('base64')}`;
  const at = new Date(1_790_000_000_000);
  const now = { now: at.getTime() };
  const headersOf = (signature: string, id = 'msg_1') => ({
    'Webhook-Id': id,
    'webhook-timestamp': String(at.getTime() / 1000),
    'webhook-signature': signature,
  });
  const sign = (body: string, by = secret): string => new Webhook(by).sign('msg_1', at, body);
  const verify = async (...given: Parameters<Awaited<ReturnType<typeof load>>['verifyWebhook']>) =>
    (await load()).verifyWebhook(...given);

  it('of Standard Webhooks are accepted, in bytes and in text, after a rotation too', async () => {
    const body = '\ufeff{"order": "Größe"}';
    const expected = { id: 'msg_1', timestamp: at.getTime(), body };
    const other = `whsec_${Buffer.from('another secret').toString('base64')}`;
    const both = `${sign(body, other)} v1a,x ${sign(body)}`;
    for (const signature of [sign(body), both]) {
      const headers = headersOf(signature);
      expect(await verify(headers, body, secret, now)).toEqual(expected);
      expect(await verify(new Headers(headers), Buffer.from(body), [other, secret], now)).toEqual(expected);
    }
  });

  it.each([
    ['another body', headersOf(sign('a')), 'b', {}],
    ['another id', headersOf(sign('a'), 'msg_2'), 'a', {}],
    ['another secret', headersOf(sign('a', `whsec_${Buffer.from('other').toString('base64')}`)), 'a', {}],
    ['no signature', { ...headersOf(''), 'webhook-signature': undefined }, 'a', {}],
    ['no base64', headersOf('v1,***'), 'a', {}],
    ['another scheme', headersOf(sign('a').replace('v1,', 'v2,')), 'a', {}],
    ['a message from long ago', headersOf(sign('a')), 'a', { now: at.getTime() + 301_000 }],
    ['a message from the future', headersOf(sign('a')), 'a', { now: at.getTime() - 301_000 }],
    ['a body in place of the target', headersOf(sign('')), '', { target: '/in' }],
  ])('%s is refused', async (_, headers, body, options) => {
    await expect(verify(headers, body, secret, { ...now, ...options })).rejects.toMatchObject({
      name: 'WebhookError',
    });
  });

  it('the target of a GET is verified by its own header; a secret that is none is an error of the program', async () => {
    const headers = { ...headersOf('v1,x'), 'webhook-signature-target': sign('/in?order=1') };
    const target = { ...now, target: '/in?order=1' };
    expect(await verify(headers, '', secret, target)).toMatchObject({ id: 'msg_1' });
    await expect(verify(headersOf(sign('a')), 'a', 'secret', now)).rejects.toThrow(TypeError);
  });
});
