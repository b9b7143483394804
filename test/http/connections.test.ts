import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { BodyBudgets, BodyShare, PostedBody } from '../../src/http/posted-body';
import { exchange as exchangeAt } from '../support/raw-http';
import { notes, notesApp, TOKENS } from './notes-service';

let app: NestFastifyApplication;
let logged: string[];
let port: number;

beforeAll(async () => {
  ({ app, logged } = await notesApp());
  await app.listen(0, '127.0.0.1');
  port = (app.getHttpServer().address() as AddressInfo).port;
});
afterAll(() => app.close());

/** Sends this over a connection that stays open; `until` waits for an answer that holds what is given. */
function open(sent: string, to = port): { socket: Socket; until: (part: RegExp) => Promise<string> } {
  const socket = connect(to, '127.0.0.1');
  let received = '';
  socket.on('error', () => undefined);
  socket.on('data', (data) => (received += data.toString()));
  socket.write(sent);
  const until = async (part: RegExp): Promise<string> => {
    while (!part.test(received)) await once(socket, 'data');
    return received;
  };
  return { socket, until };
}

const exchange = (pieces: readonly (string | Buffer)[], until?: RegExp): Promise<string> =>
  exchangeAt(port, pieces, until);

const post = (word: string, headers: readonly string[]) =>
  [
    `POST /1.0/notes;word=${word}?token=${TOKENS.advertiser} HTTP/1.1`,
    'Host: x',
    'Content-Type: application/json; charset=utf-8',
    ...headers,
    '\r\n',
  ].join('\r\n');

const MEGABYTE = Buffer.alloc(1024 * 1024, ' ');

describe('a body that is too large', () => {
  it('is answered though the client goes on sending, and the connection lives on', async () => {
    const chunk = [`${MEGABYTE.length.toString(16)}\r\n`, MEGABYTE, '\r\n'];
    const body = Array.from({ length: 8 }, () => chunk).flat();
    const second = 'GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n';
    const sent = [post('a', ['Transfer-Encoding: chunked']), ...body, '0\r\n\r\n', second];
    const received = await exchange(sent, /live":true/);
    expect(received).toMatch(
      /^HTTP\/1.1 413 .*expected a body of at most 500 bytes.*HTTP\/1.1 200 .*"live":true/s,
    );
  });

  it('is answered before it is sent if its length is told', async () => {
    const received = await exchange([post('a', ['Content-Length: 501'])], /at most/);
    expect(received).toMatch(/^HTTP\/1.1 413 /);
  });
});

describe('a request that is answered before its body is there (decisions X11)', () => {
  // Nothing but what is waited for: sockets go on by themselves.
  const doNotFake = ['nextTick', 'setImmediate', 'setInterval', 'queueMicrotask', 'performance'] as const;
  beforeEach(() => jest.useFakeTimers({ doNotFake: [...doNotFake] }));
  afterEach(() => jest.useRealTimers());

  const half = '\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"a"';
  it.each([
    ['without a token', `POST /1.0/notes HTTP/1.1${half}`, 400],
    ['of a method that needs none', `GET /health/live HTTP/1.1${half}`, 200],
    ['to nowhere', `POST /nowhere HTTP/1.1${half}`, 404],
    ['that is too large', `${post('a', ['Content-Length: 501'])}{"a"`, 413],
  ])('%s may send the rest for half a minute, then its connection is closed', async (_, sent, status) => {
    const { socket, until } = open(sent);
    expect(await until(/\r\n\r\n./)).toContain(`HTTP/1.1 ${status} `);
    const closed = once(socket, 'close');
    await jest.advanceTimersByTimeAsync(29_000);
    expect(socket.closed).toBe(false);
    await jest.advanceTimersByTimeAsync(1_000);
    await closed;
  });

  it('keeps its connection if the rest comes in time', async () => {
    const { socket, until } = open(`GET /health/live HTTP/1.1${half}`);
    await until(/live":true/);
    socket.write(`${'x'.repeat(96)}GET /1.0/none HTTP/1.1\r\nHost: x\r\n\r\n`);
    await until(/"code":"7"/);
    await jest.advanceTimersByTimeAsync(60_000);
    socket.write('GET /1.0/notes HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(/"code":"1"/);
    socket.destroy();
  });
});

describe('a server that stops (decisions A12)', () => {
  it('gives up bodies that are still coming, and closes every connection', async () => {
    const stopping = await notesApp();
    await stopping.app.listen(0, '127.0.0.1');
    const to = (stopping.app.getHttpServer().address() as AddressInfo).port;
    const live = 'GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n';
    const idle = open(live, to);
    await idle.until(/live":true/);
    const coming = open(`${live}${post('a', ['Content-Length: 100'])}{"a"`, to);
    await coming.until(/live":true/);
    const heading = open(`${live}GET /health/live HTTP/1.1\r\nHo`, to);
    await heading.until(/live":true/);
    const half = open('GET /health/live HTTP/1.1\r\nHo', to);
    await once(half.socket, 'connect');
    // One that has not been accepted yet is reset.
    const ends = [idle, coming, heading, half].map(
      ({ socket }) => new Promise((resolve) => socket.once('close', resolve)),
    );

    const closed = stopping.app.close();
    const answer = await coming.until(/Service not responding/);
    expect(answer).toMatch(/HTTP\/1.1 500 .*retry-after: 5\r\n.*{"errors":\[{"code":"5",/s);
    // What comes now is not taken.
    heading.socket.write('st: x\r\n\r\n');
    expect(await heading.until(/HTTP.*HTTP.*not responding/s)).toMatch(/500 .*connection: close/is);
    await closed;
    await Promise.all(ends);
  });
});

describe('a client that breaks off', () => {
  it('is no failure of ours', async () => {
    const before = logged.length;
    const socket = connect(port, '127.0.0.1');
    socket.resume();
    socket.write(post('a', ['Content-Length: 100']) + '{"a"');
    socket.end();
    await once(socket, 'close');
    const received = await exchange(['GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n'], /live":true/);
    expect(received).toContain('200 OK');
    const lines = logged.slice(before).map((line) => JSON.parse(line) as object);
    const info = { level: 30, msg: 'request' };
    expect(lines).toEqual([
      expect.objectContaining({ ...info, method: 'POST', disconnected: true }),
      expect.objectContaining({ ...info, path: '/health/live', status: 200 }),
    ]);
  });
});

describe('what is no HTTP', () => {
  it.each([
    ['nonsense\r\n\r\n', '400'],
    [`GET /${'a'.repeat(70_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, '431'],
  ])('is told as any error: %#', async (sent, code) => {
    const received = await exchange([sent]);
    expect(received.startsWith(`HTTP/1.1 ${code} `)).toBe(true);
    expect(JSON.parse(received.split('\r\n\r\n')[1] ?? '')).toMatchObject({ errors: [{ code }] });
  });
});

describe('a body that comes too slowly (decisions X11)', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  const body = (): [IncomingMessage, AsyncIterator<Buffer>] => {
    const raw = new IncomingMessage(new Socket());
    raw.on('error', () => undefined);
    const request = { raw, contentType: undefined, service: notes, repeatable: undefined };
    const budgets = new BodyBudgets({ memory: 1e9, space: 1e9 });
    const share = new BodyShare(budgets, () => 'a');
    const reply = {
      headers: () => {
        throw new Error('not answered');
      },
    };
    return [raw, new PostedBody(request, reply, share, 1e9, new AbortController().signal).chunks()];
  };

  it('is given up when nothing comes for 30 s', async () => {
    const [raw, chunks] = body();
    raw.push('{');
    expect((await chunks.next()).value).toEqual(Buffer.from('{'));
    const next = expect(chunks.next()).rejects.toMatchObject({ status: 408 });
    await jest.advanceTimersByTimeAsync(30_000);
    await next;
  });

  const later = async (
    [raw, chunks]: ReturnType<typeof body>,
    milliseconds: number,
    bytes: number,
  ): Promise<unknown> => {
    const next = chunks.next().then(
      ({ value }) => (value as Buffer).length,
      (error: unknown) => (error as { readonly status: number }).status,
    );
    await jest.advanceTimersByTimeAsync(milliseconds);
    raw.push(Buffer.alloc(bytes));
    return next;
  };

  it('is given up when it comes drop by drop, whatever came before', async () => {
    const sent = body();
    expect(await later(sent, 0, 31_000_000)).toBe(31_000_000);
    // One byte every 17 s.
    expect(await later(sent, 17_000, 1)).toBe(1);
    expect(await later(sent, 17_000, 1)).toBe(408);
  });

  it('is given up when it comes in drops within a second', async () => {
    const sent = body();
    let drops = 0;
    while ((await later(sent, 900, 1)) === 1) drops += 1;
    expect(drops).toBeGreaterThanOrEqual(30);
    expect(drops).toBeLessThan(40);
  });

  it('may come at 4 KB per second with a pause of 20 s every half minute, as from a telephone', async () => {
    const sent = body();
    for (let minute = 0; minute < 30; minute += 1) {
      for (let second = 0; second < 12; second += 1) expect(await later(sent, 1_000, 4096)).toBe(4096);
      expect(await later(sent, 20_000, 4096)).toBe(4096);
    }
  });

  it('is not held to the time that its reader takes', async () => {
    const [raw, chunks] = body();
    for (let count = 0; count < 5; count += 1) {
      raw.push('x');
      await chunks.next();
      await jest.advanceTimersByTimeAsync(100_000);
    }
    raw.push(null);
    expect(await chunks.next()).toEqual({ done: true, value: undefined });
  });
});
