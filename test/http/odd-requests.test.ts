import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { answerIn, exchange } from '../support/raw-http';
import { notesApp, TOKENS } from './notes-service';

let app: NestFastifyApplication;
let port: number;

beforeAll(async () => {
  ({ app } = await notesApp());
  await app.listen(0, '127.0.0.1');
  port = (app.getHttpServer().address() as AddressInfo).port;
});
afterAll(() => app.close());

const token = `token=${TOKENS.advertiser}`;
const HOST = 'Host: x';
const TYPE = 'Content-Type: application/json; charset=utf-8';

/** Sends a request and gives its answer; the connection is left when a JSON body has come. */
async function answerTo(line: string, headers: readonly string[], body = '') {
  const sent = `${[line, ...headers].join('\r\n')}\r\n\r\n${body}`;
  return answerIn(await exchange(port, [sent], /\r\n\r\n\{.*\}$/s));
}

interface Told {
  readonly errors: readonly { readonly code: string; readonly message: string }[];
}

function told(body: string): string {
  const [error] = (JSON.parse(body) as Told).errors;
  return `${error?.code}: ${error?.message}`;
}

const ALL = 'GET, HEAD, POST, PUT, DELETE, OPTIONS';

describe('a method that a path does not have (decisions A8)', () => {
  it.each([
    ['QUERY', '/1.0/notes', 'GET, HEAD, POST'],
    ['PROPFIND', '/1.0/notes', 'GET, HEAD, POST'],
    ['TRACE', '/1.0/notes/7', 'DELETE'],
    ['QUERY', '/health/live', 'GET, HEAD'],
    ['NOSUCH', '/1.0/notes', ALL],
    ['get', '/1.0/notes', ALL],
    ['CONNECT', 'x:443', ALL],
  ])('%s %s is 405 with Allow', async (method, path, allow) => {
    const { status, headers, body } = await answerTo(`${method} ${path} HTTP/1.1`, [HOST]);
    expect([status, headers.allow]).toEqual([405, allow]);
    expect(told(body)).toMatch(/^405: /);
  });

  it('QUERY of what there is not is 404', async () => {
    expect((await answerTo('QUERY /nowhere HTTP/1.1', [HOST])).status).toBe(404);
  });
});

it.each(['*', '*1.0/notes', '*docs?a=b', 'ftp://x/1.0/notes'])(
  'the target %s, which is not a path, is 404 (decisions A8)',
  async (target) => {
    const { status, body } = await answerTo(`GET ${target} HTTP/1.1`, [HOST]);
    expect([status, told(body)]).toEqual([
      404,
      expect.stringMatching(/^404: .*: expected a path that begins with \/$/),
    ]);
  },
);

it('a path with an empty segment in place of an id is 404 (decisions A8)', async () => {
  for (const path of ['/1.0/notes//', '/1.0/notes//;word=a']) {
    const { status, body } = await answerTo(`DELETE ${path}?${token} HTTP/1.1`, [HOST]);
    expect([status, told(body)]).toEqual([404, '404: /1.0/notes/: URL does not exist']);
  }
  const preflight = ['Origin: https://a.example', 'Access-Control-Request-Method: GET'];
  const answer = await exchange(
    port,
    [['OPTIONS / HTTP/1.1', HOST, ...preflight, '', ''].join('\r\n')],
    /\r\n\r\n/,
  );
  expect(answerIn(answer).status).toBe(204);
});

describe('a client of CONNECT', () => {
  it('may break off its connection at any time', async () => {
    for (let attempt = 0; attempt < 50; attempt += 1) {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      socket.write('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n');
      for (let round = 0; round < attempt; round += 1) await new Promise((resolve) => setImmediate(resolve));
      socket.resetAndDestroy();
      await once(socket, 'close');
    }
    expect((await answerTo('GET /health/live HTTP/1.1', [HOST])).status).toBe(200);
  });

  it('loses its connection when it does not close it', async () => {
    const closed = new Promise((resolve) => {
      app.getHttpServer().once('connection', (socket: Socket) => socket.once('close', resolve));
    });
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.write('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n');
    socket.resume();
    await once(socket, 'end');
    await closed;
    socket.destroy();
  });
});

describe('what is no request (decisions X73)', () => {
  const TARGET =
    '400: the request target has a byte that must be percent-encoded: é in UTF-8 is %C3%A9, a space %20';
  it.each([
    ['bytes of UTF-8 in its target', ['GET /1.0/notes;word=\xc3\xa9 HTTP/1.1', HOST], 400, TARGET],
    ['a control character in its target', ['GET /1.0/notes;word=\x01 HTTP/1.1', HOST], 400, TARGET],
    [
      'no Host',
      [`GET /1.0/notes;word=a?${token} HTTP/1.1`],
      400,
      '400: Host is missing: HTTP/1.1 requires one',
    ],
    [
      'two Hosts',
      [`GET /1.0/notes;word=a?${token} HTTP/1.1`, HOST, HOST],
      400,
      '400: Host is given 2 times: expected once',
    ],
    [
      'a compressed transfer',
      [`POST /1.0/notes;word=a?${token} HTTP/1.1`, HOST, TYPE, 'Transfer-Encoding: gzip, chunked'],
      400,
      '400: Transfer-Encoding: gzip, chunked: expected chunked',
    ],
    [
      'an unknown expectation',
      [`POST /1.0/notes;word=a?${token} HTTP/1.1`, HOST, TYPE, 'Expect: a-miracle', 'Content-Length: 2'],
      417,
      '417: Expect: a-miracle: expected 100-continue',
    ],
    [
      'two kinds of length',
      [`POST /1.0/notes HTTP/1.1`, HOST, 'Content-Length: 2', 'Transfer-Encoding: chunked'],
      400,
      expect.stringMatching(/^400: The request is not valid HTTP: .*Transfer-Encoding/),
    ],
    [
      'headers without end',
      ['GET / HTTP/1.1', HOST, `X: ${'x'.repeat(70_000)}`],
      431,
      '431: expected a request line and headers of at most 65536 bytes together',
    ],
  ])('%s: is answered as any failure is', async (_, [line = '', ...headers], status, message) => {
    const answer = await answerTo(line, headers);
    expect([answer.status, told(answer.body)]).toEqual([status, message]);
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': expect.stringContaining('X-Log-Position') as string,
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'content-length': String(Buffer.byteLength(answer.body)),
      date: expect.stringMatching(/GMT$/) as string,
    });
  });

  it('is answered by its route whatever the length of an id', async () => {
    const id = 'a'.repeat(2_000);
    const { status, body } = await answerTo(`DELETE /1.0/notes/${id}?${token} HTTP/1.1`, [HOST]);
    expect([status, body]).toEqual([200, `{"removed":"${id}"}`]);
  });

  it('is one without a Host where HTTP has none', async () => {
    expect((await answerTo('GET /health/live HTTP/1.0', [])).status).toBe(200);
  });
});

describe('Expect: 100-continue (decisions X73)', () => {
  const expecting = (target: string, length: number) =>
    [`POST ${target} HTTP/1.1`, HOST, TYPE, 'Expect: 100-continue', `Content-Length: ${length}`].join(
      '\r\n',
    ) + '\r\n\r\n';

  it.each([
    ['without a token', '/1.0/notes;word=a', 2, 400],
    ['with an unusable key', `/1.0/notes?${token}`, 2, 400],
    ['with too long a body', `/1.0/notes;word=a?${token}`, 501, 413],
    ['to nowhere', '/nowhere', 2, 404],
  ])('%s: the body is not asked for', async (_, target, length, status) => {
    const received = await exchange(port, [expecting(target, length)], /\r\n\r\n\{.*\}$/s);
    expect(received).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  it('of a request that is admitted: the body is asked for, and taken', async () => {
    const asked = await exchange(port, [expecting(`/1.0/notes;word=a?${token}`, 2)], /\r\n\r\n/);
    expect(asked).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    const sent = [expecting(`/1.0/notes;word=a?${token}`, 2), '{}'];
    expect(answerIn(await exchange(port, sent, /\{"errors":\[\]\}$/)).status).toBe(200);
  });
});

describe('a path that is percent-encoded where it need not be (decisions X73)', () => {
  it.each([
    ['/1.0/%6eotes;word=a', 400, '1: Missing token'],
    ['/%31.0/notes', 400, '1: Missing token'],
    ['/1%2e0/n%6Ftes%2Ejson', 400, '1: Missing token'],
    ['/1.0/%6eotes/9.9', 404, '4: notes has no version 9.9'],
    ['/1.0/%6eotes/7', 405, '405: GET /1.0/notes/7: expected DELETE'],
  ])('%s is the path that it spells', async (path, status, message) => {
    const answer = await answerTo(`GET ${path} HTTP/1.1`, [HOST]);
    expect([answer.status, told(answer.body)]).toEqual([status, message]);
  });

  it('is answered to whoever may see it', async () => {
    const { status, body } = await answerTo(`GET /1.0/%6eotes%2ejson;word=a?${token} HTTP/1.1`, [HOST]);
    expect([status, body]).toEqual([200, '{"organisation":1,"id":[],"word":"a"}']);
  });
});

describe('a route that nobody guards (decisions A4)', () => {
  it('is an error at the start', async () => {
    await expect(notesApp({ openRoutes: [] })).rejects.toThrow(
      '/health/live belongs to no service and is not among the routes that need no token',
    );
  });
});
