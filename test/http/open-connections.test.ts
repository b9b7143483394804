import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { boundConnections, whenFirst } from '../../src/http/adapter';
import { notesApp, TOKENS } from './notes-service';

let app: NestFastifyApplication;
let port: number;
const sockets: Socket[] = [];
/** The server's side of the connections. */
const atServer: Socket[] = [];

/** Ends what `X-Min-Position` waits for. */
let release: () => void;

beforeEach(async () => {
  const hold = new Promise<boolean>((resolve) => (release = () => resolve(true)));
  ({ app } = await notesApp({ maxConnections: 8, waitFor: () => hold }));
  await app.listen(0, '127.0.0.1');
  app.getHttpServer().on('connection', (socket: Socket) => atServer.push(socket));
  port = (app.getHttpServer().address() as AddressInfo).port;
});
afterEach(async () => {
  release();
  for (const socket of sockets.splice(0)) socket.destroy();
  atServer.length = 0;
  await app.close();
});

interface Client {
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
  /** What has been received, once it matches. */
  readonly until: (part: RegExp) => Promise<string>;
}

async function open(sent: string): Promise<Client> {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  let text = '';
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => undefined);
  socket.on('data', (data) => (text += data.toString()));
  await once(socket, 'connect');
  socket.write(sent);
  const until = async (part: RegExp): Promise<string> => {
    while (!part.test(text)) await once(socket, 'data');
    return text;
  };
  return { socket, closed, until };
}

const LIVE = 'GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n';
const waiting = (token: string): string =>
  `GET /1.0/notes/all?token=${token} HTTP/1.1\r\nHost: x\r\nX-Min-Position: 0000000000000000099\r\n\r\n`;
const begun = (): Promise<void> =>
  new Promise((resolve) => app.getHttpServer().once('request', () => resolve()));

/** A request that is being answered. */
async function askAndWait(token: string): Promise<Client> {
  const asked = begun();
  const client = await open(waiting(token));
  await asked;
  return client;
}

it('are closed when they are idle and three quarters are used, and are never more than there may be (decisions X101)', async () => {
  const idle: Client[] = [];
  for (let at = 0; at < 4; at += 1) {
    idle.push(await open(LIVE));
    await idle[at]?.until(/live":true/);
  }
  for (const token of [TOKENS.advertiser, TOKENS.publisher]) await askAndWait(token);
  expect(idle.map(({ socket }) => socket.closed)).toEqual([false, false, false, false]);
  // The seventh of eight.
  const seventh = await open(LIVE);
  await Promise.all(idle.map(({ closed }) => closed));
  await seventh.until(/live":true/);
  const busy = await Promise.all([0, 1, 2, 3, 4].map(() => open('GET /')));
  const refused = await open(LIVE);
  await refused.closed;
  expect(busy.map(({ socket }) => socket.closed)).toEqual([false, false, false, false, false]);
  const gone = once(atServer.at(-1)!, 'close');
  busy[4]?.socket.destroy();
  await gone;
  await (await open(LIVE)).until(/live":true/);
});

it('a token may use as many as it leaves free for others (decisions X101)', async () => {
  const own = [];
  for (let at = 0; at < 4; at += 1) own.push(await askAndWait(TOKENS.advertiser));
  const fifth = await open(waiting(TOKENS.advertiser));
  expect(await fifth.until(/"errors"/)).toMatch(/^HTTP\/1.1 503 .*retry-after: 1\r\n.*"code":"503"/s);
  await askAndWait(TOKENS.publisher);
  const gone = once(atServer[0]!, 'close');
  own[0]?.socket.destroy();
  await gone;
  await askAndWait(TOKENS.advertiser);
});

it('are not idle while a slow client reads the answer: it gets all of it (decisions X101)', async () => {
  const body = Buffer.alloc(16_000_000);
  const responses: ServerResponse[] = [];
  const server = createServer((request, response) =>
    whenFirst(request, response, () => {
      responses.push(response);
      response.end(body);
    }),
  );
  boundConnections(server, 3);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const ask = (): Socket => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    sockets.push(socket);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    return socket;
  };
  const length = async (socket: Socket): Promise<number> => {
    let received = 0;
    for await (const data of socket) {
      received += (data as Buffer).length;
      if (received > body.length) break;
    }
    return received;
  };
  const slow = ask().pause();
  while (responses.length === 0) await once(server, 'request');
  const [{ socket, writableFinished, writableEnded }] = responses as [ServerResponse];
  // Node.js calls it idle from here on.
  expect([writableEnded, writableFinished]).toEqual([true, false]);
  const quick = ask();
  expect(await length(quick)).toBeGreaterThan(body.length);
  const third = ask();
  expect(await length(third)).toBeGreaterThan(body.length);
  expect(socket?.destroyed).toBe(false);
  expect(await length(slow)).toBeGreaterThan(body.length);
  await new Promise((resolve) => server.close(resolve));
});
