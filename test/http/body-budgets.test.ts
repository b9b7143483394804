import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Body, Controller, Post } from '@nestjs/common';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type Caller } from '../../src/network/organisations';
import { Answer } from '../../src/http/answer';
import { BodyBudgets, PostedBody } from '../../src/http/posted-body';
import { Fault, Faults } from '../../src/kernel/fault';
import { notesApp } from './notes-service';

/** Called when a body has been received; the handler ends with it. */
let received: (bytes: number) => Promise<void>;

/** Whether the handler asks for the format before it reads. */
let asks: boolean;

@Controller('1.0/noteTrees')
class TreesController {
  @Post()
  async post(@Body() body: PostedBody): Promise<Answer> {
    if (asks) body.format();
    await received((await body.bytes(1_000_000)).length);
    return new Answer({ json: () => ({}) });
  }
}

/** Any token is one. */
const callerOf = (hash: string): Caller => ({
  tokenHash: hash,
  organisationId: 1,
  kind: 'publisher',
  system: 'PRODUCTS',
});
const [A, B] = ['a'.repeat(40), 'b'.repeat(40)] as const;

const KB = 1024;
/** For small bodies, which count 64 KB each: two of one token. */
const MEMORY = 256 * KB;

let app: NestFastifyApplication;
let port: number;
/** The server's side of all connections. */
let serverSockets: Socket[];
const clientSockets: Socket[] = [];
beforeEach(async () => {
  received = () => Promise.resolve();
  asks = true;
  const bodyBudgets = new BodyBudgets({ memory: MEMORY, space: MEMORY });
  const options = { callerOf, maxBody: 1_000_000, bodyBudgets };
  ({ app } = await notesApp(options, [TreesController]));
  await app.listen(0, '127.0.0.1');
  serverSockets = [];
  app.getHttpServer().on('connection', (socket: Socket) => serverSockets.push(socket));
  port = (app.getHttpServer().address() as AddressInfo).port;
});
afterEach(async () => {
  // The server waits a while for those that are open.
  for (const socket of clientSockets.splice(0)) socket.destroy();
  await app.close();
});

interface Client {
  readonly socket: Socket;
  /** What has been received, once it matches. */
  readonly until: (part: RegExp) => Promise<string>;
}

/** Sends the head of a post, and what follows it. */
function post(token: string, headers: readonly string[], body = ''): Client {
  const socket = connect(port, '127.0.0.1');
  clientSockets.push(socket);
  let text = '';
  socket.on('error', () => undefined);
  socket.on('data', (data) => (text += data.toString()));
  const lines = ['Host: x', 'Content-Type: application/json', ...headers, '\r\n'];
  socket.write([`POST /1.0/noteTrees?token=${token} HTTP/1.1`, ...lines].join('\r\n') + body);
  const until = async (part: RegExp): Promise<string> => {
    while (!part.test(text)) await once(socket, 'data');
    return text;
  };
  return { socket, until };
}

const expecting = (token: string, length = 100): Client =>
  post(token, [`Content-Length: ${length}`, 'Expect: 100-continue']);
const CONTINUE = /^HTTP\/1.1 100 /;
const BUSY = /^HTTP\/1.1 503 .*retry-after: 5\r\n.*"code":"503","message":"the bodies .*BODY_MEMORY.* 5 s/s;
const DONE = /HTTP\/1.1 200 /;

it('a token that receives as much as it may is refused before it sends the body, another is not (decisions X100)', async () => {
  const [first, second] = [expecting(A), expecting(A)];
  await Promise.all([first.until(CONTINUE), second.until(CONTINUE)]);
  // Refused though nothing of the body was sent, without being asked for it.
  await expecting(A).until(BUSY);
  await post(A, ['Content-Length: 100']).until(BUSY);
  const other = expecting(B);
  await other.until(CONTINUE);
  other.socket.write('x'.repeat(100));
  await other.until(DONE);
  first.socket.write('x'.repeat(100));
  await first.until(DONE);
  await expecting(A).until(CONTINUE);
  await expecting(A).until(BUSY);
});

it('a body counts until its request is answered, also when its client has gone (decisions X100)', async () => {
  let answer: () => void = () => undefined;
  let count = 0;
  let both: () => void = () => undefined;
  const bothReceived = new Promise<void>((resolve) => (both = resolve));
  const answered = new Promise<void>((resolve) => (answer = resolve));
  received = () => {
    count += 1;
    if (count === 2) both();
    return answered;
  };
  const [first, second] = [post(A, ['Content-Length: 2'], '{}'), post(A, ['Content-Length: 2'], '{}')];
  await bothReceived;
  await expecting(A).until(BUSY);
  const left = new Promise((resolve) => serverSockets[0]?.once('close', resolve));
  first.socket.destroy();
  await left;
  await expecting(A).until(BUSY);
  answer();
  await second.until(DONE);
  await expecting(A).until(CONTINUE);
  await expecting(A).until(CONTINUE);
});

it('bodies that were broken off count no more (decisions X100)', async () => {
  const held = [expecting(A), expecting(A)];
  for (const { socket, until } of held) {
    await until(CONTINUE);
    socket.write('{');
    const gone = once(socket, 'close');
    socket.destroy();
    await gone;
  }
  for (let next = expecting(A); ; next = expecting(A))
    if (CONTINUE.test(await next.until(/^HTTP\/1.1 \d+ /))) break;
});

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const CHUNKED = ['Transfer-Encoding: chunked'];
const TOO_LARGE =
  /^HTTP\/1.1 413 .*"message":"the body needs about \d+ bytes of memory.* at most 1262144 .*BODY_MEMORY/s;

const firstLine = /^HTTP\/1.1 \d+ /;

it('a body without a length is refused once it has more than is free, or than there ever is (decisions X100)', async () => {
  const large = post(B, CHUNKED, chunk('x'.repeat(70 * KB)));
  await expecting(B).until(firstLine);
  const larger = post(A, CHUNKED, chunk('x'.repeat(70 * KB)));
  await larger.until(BUSY);
  large.socket.destroy();
  await post(A, CHUNKED, chunk('x'.repeat(700 * KB))).until(TOO_LARGE);
  await expecting(A, 700 * KB).until(TOO_LARGE);
});

it('one body at a time may use more than its token may, and another token finds as much as before (decisions X100)', async () => {
  const large = expecting(A, 600 * KB);
  await large.until(CONTINUE);
  large.socket.write('x'.repeat(500 * KB));
  // A second one waits; what fits does not, of any token.
  await expecting(B, 600 * KB).until(BUSY);
  await expecting(A, 600 * KB).until(BUSY);
  for (const token of [B, A, B]) await post(token, ['Content-Length: 2'], '{}').until(DONE);
  large.socket.write('x'.repeat(100 * KB));
  await large.until(DONE);
  await expecting(B, 600 * KB).until(CONTINUE);
});

it('many small bodies of a token are no large one (decisions X100)', async () => {
  for (const held of [expecting(A), expecting(A)]) await held.until(CONTINUE);
  await expecting(A).until(BUSY);
  await expecting(A, 60 * KB).until(BUSY);
  await expecting(A, 70 * KB).until(CONTINUE);
});

it('a body counts with what is made of it: empty objects take more memory than their text (decisions X100)', async () => {
  const plain = `["${'x'.repeat(30_000)}"]`;
  await post(A, [`Content-Length: ${plain.length}`], plain).until(DONE);
  const nested = `[${'{},'.repeat(10_000)}{}]`;
  await post(A, [`Content-Length: ${nested.length}`], nested).until(TOO_LARGE);
});

it('a body counts by the format that its reader asks for, and texts are no values (decisions X100)', async () => {
  const marks = `["${'{},'.repeat(20_000)}"]`;
  const length = [`Content-Length: ${marks.length}`];
  await post(A, length, marks).until(DONE);
  // To a reader that has not asked, any of them may be values.
  asks = false;
  await post(A, length, marks).until(TOO_LARGE);
});

it('a body counts until its errors are sent, and a client that does not read them is disconnected (decisions X100, X52)', async () => {
  const faults = Array.from({ length: 50_000 }, () => new Fault('N_2', 400, 'x'.repeat(400)));
  received = () => Promise.reject(new Faults(faults));
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] });
  try {
    for (let at = 0; at < 2; at += 1) post(A, ['Content-Length: 2'], '{}').socket.pause();
    const sending = (): boolean =>
      serverSockets.filter(({ writableLength }) => writableLength > 0).length === 2;
    while (!sending()) await new Promise((resolve) => setImmediate(resolve));
    await expecting(A).until(BUSY);
    const left = serverSockets.slice(0, 2).map((socket) => once(socket, 'close'));
    // 20 to 28 MB at 10,000 bytes a second, and then ten seconds.
    await jest.advanceTimersByTimeAsync(1_900_000);
    expect(serverSockets.slice(0, 2).map(({ destroyed }) => destroyed)).toEqual([false, false]);
    await jest.advanceTimersByTimeAsync(1_000_000);
    expect(serverSockets.slice(0, 2).map(({ destroyed }) => destroyed)).toEqual([true, true]);
    await Promise.all(left);
    await expecting(A).until(CONTINUE);
    await expecting(A).until(CONTINUE);
  } finally {
    jest.useRealTimers();
  }
});
