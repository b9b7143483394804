import { type AddressInfo } from 'node:net';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { answerIn, exchange } from '../support/raw-http';
import { type ErrorList, JSON_UTF8, token } from './asking-notes';
import { notesApp } from './notes-service';

let app: NestFastifyApplication;
let logged: string[];
let port: number;

beforeAll(async () => {
  ({ app, logged } = await notesApp());
  await app.listen(0, '127.0.0.1');
  port = (app.getHttpServer().address() as AddressInfo).port;
});
afterAll(() => app.close());

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const REQUESTS: readonly (readonly [
  what: string,
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'OPTIONS',
  url: string,
  status: number,
])[] = [
  ['a result', 'GET', `/1.0/notes;word=a?${token}`, 200],
  ['a result without its body', 'HEAD', `/1.0/notes;word=a?${token}`, 200],
  ['a long list', 'GET', `/1.0/notes/all?${token}`, 200],
  ['a script', 'GET', `/1.0/notes;word=a?${token}&jsonp=f`, 200],
  ['a refused token', 'GET', '/1.0/notes;word=a?token=x', 403],
  ['a refused key', 'GET', `/1.0/notes?${token}`, 400],
  ['a refused body', 'POST', `/1.0/notes;word=a?${token}`, 415],
  ['no module', 'GET', '/1.0/none', 404],
  ['no route', 'GET', '/%ff', 404],
  ['no such method', 'PUT', '/1.0/notes', 405],
  ['a path without tokens', 'GET', '/health/live', 200],
];

describe('X-Request-Id (decisions A16)', () => {
  it.each(REQUESTS)('is in the answer: %s', async (_, method, url, status) => {
    const { statusCode, headers } = await app.inject({ method, url });
    expect([statusCode, headers['x-request-id']]).toEqual([status, expect.stringMatching(UUID)]);
    const sent = { 'x-request-id': 'Order-7_a.b' };
    expect((await app.inject({ method, url, headers: sent })).headers['x-request-id']).toBe('Order-7_a.b');
  });

  it('is in the answer to a preflight request', async () => {
    const headers = { origin: 'https://shop.example', 'access-control-request-method': 'GET' };
    const preflight = await app.inject({ method: 'OPTIONS', url: '/1.0/notes', headers });
    expect([preflight.statusCode, preflight.headers['x-request-id']]).toEqual([
      204,
      expect.stringMatching(UUID),
    ]);
  });

  it('may be read by scripts of other origins', async () => {
    const { headers } = await app.inject({
      method: 'GET',
      url: '/none',
      headers: { origin: 'https://a.example' },
    });
    expect(headers['access-control-expose-headers']).toContain('X-Request-Id');
  });

  it.each(['a'.repeat(128), '0', 'A-z_0.9'])('%s is taken over', async (id) => {
    expect(await idOf(id)).toBe(id);
  });

  it.each(['a'.repeat(129), 'a b', 'a;b', '"a"', 'ä', '', 'a, b'])('%j is replaced', async (id) => {
    expect(await idOf(id)).toMatch(UUID);
  });

  it('differs from one request to the next', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => idOf()));
    expect(new Set(ids).size).toBe(20);
  });

  it('is that of each request of a connection', async () => {
    const requests = ['one', 'two', 'three'].map(
      (id) => `GET /health/live HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${id}\r\n\r\n`,
    );
    const received = await exchange(port, [requests.join('')], /three[^]*\}/);
    expect([...received.matchAll(/x-request-id: (\S+)/gi)].map(([, id]) => id)).toEqual([
      'one',
      'two',
      'three',
    ]);
  });
});

async function answerTo(lines: readonly string[]) {
  return answerIn(await exchange(port, [`${lines.join('\r\n')}\r\n\r\n`]));
}

async function idOf(id?: string): Promise<unknown> {
  const headers = id === undefined ? {} : { 'x-request-id': id };
  return (await app.inject({ method: 'GET', url: '/health/live', headers })).headers['x-request-id'];
}

describe('X-Request-Id of what is no request (decisions A16)', () => {
  it.each([
    ['an unknown method', 'NOSUCH / HTTP/1.1', 405],
    ['CONNECT', 'CONNECT x:443 HTTP/1.1', 405],
    ['invalid HTTP', 'GET / HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked', 400],
    ['a target in UTF-8', 'GET /\xc3\xa9 HTTP/1.1', 400],
    ['headers that are too large', `GET / HTTP/1.1\r\nX: ${'x'.repeat(70_000)}`, 431],
  ])('is in the answer to %s', async (_, start, status) => {
    const answer = await answerTo([start, 'Host: x']);
    expect([answer.status, answer.headers['x-request-id']]).toEqual([status, expect.stringMatching(UUID)]);
  });

  it.each(['NOSUCH / HTTP/1.1', 'CONNECT x:443 HTTP/1.1', 'GET /\xc3\xa9 HTTP/1.1'])(
    'is taken over if it can be found: %s',
    async (start) => {
      const { headers } = await answerTo([start, 'Host: x', 'x-request-id:  order-7 ']);
      expect(headers['x-request-id']).toBe('order-7');
    },
  );

  it('is that of the request whose body cannot be parsed', async () => {
    const lines = [
      `POST /1.0/notes;word=a?${token} HTTP/1.1`,
      'Host: x',
      'Content-Type: application/json; charset=utf-8',
      'Transfer-Encoding: chunked',
      'X-Request-Id: order-8',
    ];
    const answer = answerIn(await exchange(port, [`${lines.join('\r\n')}\r\n\r\nno length\r\n`]));
    expect([answer.status, answer.headers['x-request-id']]).toEqual([400, 'order-8']);
  });
});

describe('failures of ours (decisions A12, A16)', () => {
  it.each([
    ['engine', 500, 'Service not responding'],
    ['bug', 400, 'Unexpected'],
  ])('name their request: %s', async (word, status, message) => {
    const answer = await app.inject({
      method: 'POST',
      url: `/1.0/notes;word=${word}?${token}`,
      headers: { ...JSON_UTF8, 'x-request-id': `failing.${word}` },
    });
    const [error] = answer.json<ErrorList>().errors;
    expect([answer.statusCode, error?.message]).toEqual([status, `${message} (request failing.${word})`]);
    const ids = logged.map((line) => (JSON.parse(line) as { reqId: string }).reqId);
    expect(ids).toContain(`failing.${word}`);
  });

  it('name it when a position cannot be read yet', async () => {
    const headers = { 'x-min-position': '0000000000000000013', 'x-request-id': 'early' };
    const answer = await app.inject({ method: 'GET', url: `/1.0/notes;word=a?${token}`, headers });
    expect([answer.statusCode, answer.json<ErrorList>().errors[0]?.message]).toEqual([
      503,
      '0000000000000000013 cannot be read yet (request early)',
    ]);
  });
});
