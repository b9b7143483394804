import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { PostedBody } from '../../src/http/posted-body';
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

/** Sends these pieces over one connection, and gives all that comes back until it holds `until` or the end. */
async function exchange(pieces: readonly (string | Buffer)[], until?: RegExp): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.on('error', () => undefined);
  const done = new Promise<void>((resolve) => {
    socket.on('data', (data) => {
      received += data.toString();
      if (until?.test(received)) resolve();
    });
    socket.on('close', () => resolve());
  });
  for (const piece of pieces) if (!socket.write(piece)) await Promise.race([once(socket, 'drain'), done]);
  await done;
  socket.destroy();
  return received;
}

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
      /^HTTP\/1.1 413 .*the body may have 500 bytes at most.*HTTP\/1.1 200 .*"live":true/s,
    );
  });

  it('is answered before it is sent if its length is told', async () => {
    const received = await exchange([post('a', ['Content-Length: 501'])], /at most/);
    expect(received).toMatch(/^HTTP\/1.1 413 /);
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
    expect(logged.slice(before)).toEqual([]);
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

describe('a body that comes too slowly', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  const body = (): [IncomingMessage, AsyncIterator<Buffer>] => {
    const raw = new IncomingMessage(new Socket());
    raw.on('error', () => undefined);
    return [raw, new PostedBody(raw, notes, 1e9).chunks()];
  };

  it('is given up when nothing comes for 30 s', async () => {
    const [raw, chunks] = body();
    raw.push('{');
    expect((await chunks.next()).value).toEqual(Buffer.from('{'));
    const next = expect(chunks.next()).rejects.toMatchObject({ status: 408 });
    await jest.advanceTimersByTimeAsync(30_000);
    await next;
  });

  it('is given up when it comes drop by drop', async () => {
    const [raw, chunks] = body();
    const drop = async (): Promise<unknown> => {
      const next = chunks.next();
      await jest.advanceTimersByTimeAsync(25_000);
      raw.push('x');
      return next;
    };
    await drop();
    await drop();
    await expect(drop()).rejects.toMatchObject({ status: 408 });
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
