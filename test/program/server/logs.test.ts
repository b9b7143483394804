import { version } from '../../../package.json';
import {
  ADVERTISER,
  folderWithNetwork,
  NETWORK,
  PUBLISHER,
  removeFolder,
  Server,
  temporaryFolder,
} from '../../support/server';
import { exchange } from '../../support/raw-http';

type Line = Readonly<Record<string, unknown>>;

let folder: string;
let server: Server;
let output: string;
let lines: readonly Line[];

/** A token of the system VOUCHERS, and one that nobody has. */
const OTHERS = { vouchers: 'c'.repeat(40), unknown: 'd'.repeat(40) } as const;
const TOKENS = [ADVERTISER, PUBLISHER, ...Object.values(OTHERS)];

const TYPE = { 'content-type': 'application/json; charset=utf-8' };
const PRODUCT = {
  sourceProductId: 'a',
  name: 'A',
  description: 'B',
  productUrl: 'https://a.example/',
  productImage: { url: 'https://a.example/' },
  price: 1,
  categories: [{ id: '1' }],
};
const encoded = ADVERTISER.replace(/./g, (digit) => `%${digit.charCodeAt(0).toString(16)}`);

/** Sends a request whose line in the log is found by `id`. */
async function send(id: string, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { 'x-request-id': id, ...(init.headers as Record<string, string>) };
  const answer = await fetch(`${server.url}${path}`, { ...init, headers });
  await answer.arrayBuffer();
  return answer;
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const posting = (body: string) => ({ method: 'POST', headers: TYPE, body });

beforeAll(async () => {
  const tokens = [...NETWORK.tokens, { token: OTHERS.vouchers, organisationId: 1, system: 'VOUCHERS' }];
  folder = await folderWithNetwork({}, { ...NETWORK, tokens });
  server = await Server.start(folder, { environment: { LOG_LEVEL: 'debug' } });
  const own = `token=${ADVERTISER}`;
  await send('live', '/health/live');
  await send('load', `/1.0/products;fid=22?${own}`, posting(JSON.stringify({ products: [PRODUCT, {}] })));
  await send('broken', `/1.0/products;fid=22;mode=replace?${own}`, posting('{'));
  await send('search', '/1.0/products.json;fid=22;q=a%20b', bearer(PUBLISHER));
  await send('download', '/1.0/productsUnlimited.csv;fid=22', bearer(PUBLISHER));
  await send('none', `/1.0/none/${ADVERTISER}?${own}`);
  await send('unknown', `/1.0/products;fid=22?token=${OTHERS.unknown}`);
  await send('header', '/1.0/products;fid=22', bearer(OTHERS.unknown));
  await send('other', '/1.0/products;fid=22', bearer(OTHERS.vouchers));
  await send('twice', `/1.0/products;fid=22?${own}`, bearer(PUBLISHER));
  await send('kind', '/1.0/products;fid=22', {
    ...posting('{}'),
    headers: { ...TYPE, ...bearer(PUBLISHER).headers },
  });
  // Mistakes of clients that put a token where it does not belong.
  await send('matrix', `/1.0/products;fid=22;token=${ADVERTISER}`);
  await send(
    'misnamed',
    `/1.0/products;fid=22;tok=${ADVERTISER}?key=${ADVERTISER.toUpperCase()}&%74oken=${encoded}`,
  );
  await send('value', `/1.0/products;fid=${ADVERTISER}?${own}`);
  await send('jsonp', `/1.0/products;fid=22?${own}&jsonp=1${ADVERTISER}`);
  await send('basic', '/1.0/products;fid=22', { headers: { authorization: ADVERTISER } });
  const port = Number(new URL(server.url).port);
  await exchange(port, [`NOSUCH /1.0/products?${own} HTTP/1.1\r\nHost: x\r\nX-Request-Id: raw\r\n\r\n`]);
  await exchange(port, [
    `GET /\xe9?${own} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADVERTISER}\r\n\r\n`,
  ]);
  expect(await server.end()).toBe(0);
  output = server.stderr + server.stdoutLines.join('\n');
  lines = server.stderr
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
});
afterAll(async () => {
  await server.end('SIGKILL');
  await removeFolder(folder);
});

const ofRequest = (id: string) => lines.filter(({ reqId }) => reqId === id);
const line = (id: string, msg = 'request') => ofRequest(id).filter((one) => one.msg === msg);

describe('the log of a server (decisions X86)', () => {
  it('contains no token, wherever a client has put it (decisions A13)', () => {
    expect(output.length).toBeGreaterThan(1_000);
    for (const token of TOKENS) expect(output.toLowerCase()).not.toContain(token);
    expect(output).not.toContain(encoded);
    expect(output).not.toMatch(/authorization|bearer/i);
  });

  it('has ISO times', () => {
    for (const { time } of lines) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('has a line each for the start, readiness and the stop', () => {
    const [starting] = lines;
    expect(starting).toMatchObject({
      level: 30,
      msg: 'starting',
      version,
      eventLog: 'SQLite',
      readStore: 'SQLite',
      dataDir: folder,
      roles: ['api', 'projector', 'automation', 'notifier'],
    });
    expect(lines.filter(({ msg }) => msg === 'ready')).toEqual([
      expect.objectContaining({ level: 30, url: server.url, ms: expect.any(Number) as number }),
    ]);
    expect(lines.filter(({ msg }) => msg === 'stopping')).toHaveLength(1);
  });

  it.each([
    ['live', { method: 'GET', path: '/health/live', status: 200 }],
    ['load', { method: 'POST', path: '/1.0/products;fid=22', status: 400, organisationId: 1 }],
    ['search', { method: 'GET', path: '/1.0/products.json;fid=22;q=a%20b', status: 200, organisationId: 11 }],
    [
      'download',
      { method: 'GET', path: '/1.0/productsUnlimited.csv;fid=22', status: 200, organisationId: 11 },
    ],
    ['none', { method: 'GET', path: '/1.0/none/***', status: 404 }],
    ['unknown', { method: 'GET', path: '/1.0/products;fid=22', status: 403 }],
    ['matrix', { method: 'GET', path: '/1.0/products;fid=22', status: 400 }],
    ['raw', { status: 405 }],
  ])('has one line for a request: %s', (id, expected) => {
    expect(line(id)).toEqual([expect.objectContaining({ level: 30, ...expected })]);
    const [{ bytes, ms } = {}] = line(id);
    if (id !== 'raw') expect([Number(bytes) > 100, typeof ms]).toEqual([true, 'number']);
  });

  it('has one line for a load, with its counts, and for one that is refused', () => {
    expect(line('load', 'load')).toEqual([
      expect.objectContaining({
        ...{
          feedId: 22,
          mode: 'update',
          new: 1,
          revised: 0,
          repriced: 0,
          unchanged: 0,
          removed: 0,
          refused: 1,
        },
        ms: expect.any(Number) as number,
      }),
    ]);
    expect(line('broken', 'load refused')).toEqual([
      expect.objectContaining({ feedId: 22, mode: 'replace', code: 'PF_210' }),
    ]);
  });

  it.each([
    ['unknown', 'unknown', undefined],
    ['header', 'unknown', undefined],
    ['other', 'for VOUCHERS: expected one for PRODUCTS', 1],
    ['twice', 'given more than once', undefined],
    ['kind', 'one of a publisher: expected advertiser', 11],
  ])('has one line for a refused token: %s', (id, reason, organisationId) => {
    const refused = line(id, 'token refused');
    expect(refused.map((one) => [one.reason, one.organisationId])).toEqual([[reason, organisationId]]);
  });
});

describe('LOG_FORMAT (decisions X86)', () => {
  it('pretty is text for people', async () => {
    const other = await temporaryFolder();
    const pretty = await Server.start(other, { environment: { LOG_LEVEL: 'info', LOG_FORMAT: 'pretty' } });
    await fetch(`${pretty.url}/health/live?token=${ADVERTISER}`);
    expect(await pretty.end()).toBe(0);
    const found =
      /^\d{4}-\d\d-\d\dT[\d:.]+Z info {2}request reqId=[\w-]{36} method=GET path=\/health\/live status=200 /m;
    expect(pretty.stderr).toMatch(found);
    expect(pretty.stderr).not.toContain(ADVERTISER);
    await removeFolder(other);
  });
});
