import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Controller, Get } from '@nestjs/common';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type Caller } from '../../src/network/organisations';
import { FailureCounts } from '../../src/http/failure-filter';
import { ListAnswer } from '../../src/http/answer';
import { type QueryOptions, QueryTooLong } from '../../src/kernel/query';
import { NoGeneration } from '../../src/kernel/read-store';
import { jsonList, listPieces } from '../../src/wire/record/list';
import { codesOf, type ErrorList } from './asking-notes';
import { tokenHash } from '../../src/network/organisations';
import { notesApp, TOKENS } from './notes-service';

/** What the list below is to do, and what has become of it. */
interface Play {
  readonly begun: QueryOptions[];
  begin: (query: QueryOptions) => Promise<void>;
  items: AsyncIterable<object[]>;
}

async function* items(count: number, text: string, failAt = Infinity): AsyncGenerator<object[]> {
  for (let id = 0; id < count; id += 100) {
    if (id >= failAt) throw new QueryTooLong(5_000);
    yield Array.from({ length: 100 }, (_, at) => ({ id: id + at, text }));
  }
}

/** What `X-Min-Position` waits for. */
let position: Promise<boolean>;
/** Requests that the server has read. */
let requests = 0;

const play: Play = { begun: [], begin: () => Promise.resolve(), items: items(0, '') };

@Controller('1.0/noteTrees')
class ListController {
  @Get()
  list(): ListAnswer {
    return new ListAnswer(async ({ view, query }) => {
      play.begun.push(query);
      await play.begin(query);
      return { pieces: listPieces(jsonList(view), play.items) };
    });
  }
}

/** Any token is one. */
const callerOf = (hash: string): Caller => ({
  tokenHash: hash,
  organisationId: 1,
  kind: 'publisher',
  system: 'PRODUCTS',
});

let app: NestFastifyApplication;
let logged: string[];
let port: number;
/** Connections that the server has seen closed. */
let closed = 0;

beforeEach(async () => {
  Object.assign(play, { begun: [], begin: () => Promise.resolve(), items: items(100, 'a') });
  position = Promise.resolve(true);
  const options = { waitFor: () => position, callerOf };
  ({ app, logged } = await notesApp(options, [ListController]));
  await app.listen(0, '127.0.0.1');
  closed = 0;
  requests = 0;
  app.getHttpServer().on('request', () => (requests += 1));
  app.getHttpServer().on('connection', (socket: Socket) => socket.on('close', () => (closed += 1)));
  port = (app.getHttpServer().address() as AddressInfo).port;
});
afterEach(async () => {
  const { unexpectedFailures: failures } = app.get(FailureCounts);
  await app.close();
  expect([failures, logged.filter((line) => /unexpected/.test(line))]).toEqual([0, []]);
});

const url = (token: string, rest = ''): string => `/1.0/noteTrees?token=${token}${rest}`;
const get = (token: string, rest = '') => app.inject({ method: 'GET', url: url(token, rest) });

/** Asks over a connection of its own, and stays. */
async function ask(token: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(`GET ${url(token)} HTTP/1.1\r\nHost: x\r\n\r\n`);
  return socket;
}

/** Lets all lists wait until it is called. */
function hold(): () => void {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  play.begin = () => held;
  return release;
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

describe('turns (decisions X70)', () => {
  test('a request is dropped when its client goes, while it waits and while it is answered', async () => {
    const release = hold();
    const sockets = await Promise.all(Array.from({ length: 40 }, () => ask(TOKENS.advertiser)));
    await until(() => play.begun.length === 8);
    for (const socket of sockets) socket.destroy();
    await until(() => closed === 40);
    expect(play.begun.map(({ signal }) => signal?.aborted)).toEqual(Array(8).fill(true));
    release();
    expect((await get(TOKENS.advertiser)).json()).toHaveLength(100);
    expect(play.begun).toHaveLength(9);
  });

  test('another token is answered while one has all that it may have, and more', async () => {
    const release = hold();
    const busy = Array.from({ length: 50 }, () => get(TOKENS.advertiser));
    await until(() => play.begun.length === 8);
    play.begin = () => Promise.resolve();
    expect((await get(TOKENS.publisher)).json()).toHaveLength(100);
    expect(play.begun).toHaveLength(9);
    release();
    expect((await Promise.all(busy)).map(({ statusCode }) => statusCode)).toEqual(Array(50).fill(200));
  });

  test('a token that has none gets one while others hold all that they may have', async () => {
    const release = hold();
    const tokens = ['1', '2', '3', '4', '5'].map((digit) => digit.repeat(40));
    const busy = tokens.flatMap((token) => Array.from({ length: 9 }, () => get(token)));
    await until(() => play.begun.length === 33);
    play.begin = () => Promise.resolve();
    expect((await get(TOKENS.publisher)).json()).toHaveLength(100);
    for (const token of tokens) expect(play.begun.map(({ client }) => client)).toContain(tokenHash(token));
    release();
    expect(new Set((await Promise.all(busy)).map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
  });

  test('a request that gets none for 30 s is refused with 503 and Retry-After', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] });
    try {
      const release = hold();
      const busy = Array.from({ length: 8 }, () => get(TOKENS.advertiser));
      await until(() => play.begun.length === 8);
      const waiting = Array.from({ length: 2 }, () => get(TOKENS.advertiser));
      await until(() => jest.getTimerCount() >= 2);
      await jest.advanceTimersByTimeAsync(30_000);
      for (const { statusCode, body, headers } of await Promise.all(waiting))
        expect([statusCode, codesOf(body), headers['retry-after']]).toEqual([503, ['503'], '1']);
      release();
      expect((await Promise.all(busy)).map(({ statusCode }) => statusCode)).toEqual(Array(8).fill(200));
    } finally {
      jest.useRealTimers();
    }
  });

  test('a request too many is refused with 503 and Retry-After', async () => {
    const release = hold();
    const busy = Array.from({ length: 8 + 1000 }, () => get(TOKENS.advertiser));
    await until(() => play.begun.length === 8);
    const refused = await get(TOKENS.advertiser);
    expect([refused.statusCode, codesOf(refused.body), refused.headers['retry-after']]).toEqual([
      503,
      ['503'],
      '1',
    ]);
    release();
    expect(new Set((await Promise.all(busy)).map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
  });
});

describe('lists that are asked for at once over one connection (decisions X70)', () => {
  const list = `GET ${url(TOKENS.advertiser)} HTTP/1.1\r\nHost: x\r\n`;

  /** Asks for nine lists, of which the first waits until it is released. */
  async function askTogether(): Promise<{ socket: Socket; release: () => void }> {
    let release = (): void => undefined;
    position = new Promise((resolve) => (release = () => resolve(true)));
    const socket = connect(port, '127.0.0.1');
    socket.write(`${list}X-Min-Position: ${'1'.padStart(19, '0')}\r\n\r\n${`${list}\r\n`.repeat(8)}`);
    await until(() => requests === 9);
    expect((await get(TOKENS.publisher)).statusCode).toBe(200);
    return { socket, release };
  }

  test('leave no turns behind when the connection closes before the first is answered', async () => {
    const { socket, release } = await askTogether();
    socket.destroy();
    await until(() => closed === 1);
    release();
    expect((await get(TOKENS.advertiser)).statusCode).toBe(200);
  });

  test('are all answered, though the first of them takes its turn last', async () => {
    const { socket, release } = await askTogether();
    let received = '';
    socket.on('data', (data) => (received += data.toString()));
    release();
    await until(() => received.split('HTTP/1.1 200 OK').length === 10 && received.endsWith(']'));
    socket.destroy();
  });

  test('close the connection when there are more than 100 behind the first', async () => {
    const release = hold();
    const socket = await ask(TOKENS.advertiser);
    await until(() => play.begun.length === 1);
    socket.write(`${list}\r\n`.repeat(101));
    await once(socket, 'close');
    release();
    expect(play.begun).toHaveLength(1);
  });

  test('close the connection when the headers behind the first have more than 128 KB', async () => {
    const release = hold();
    const socket = await ask(TOKENS.advertiser);
    await until(() => play.begun.length === 1);
    const large = `${list}X: ${'x'.repeat(60_000)}\r\n\r\n`;
    socket.write(large.repeat(2));
    await until(() => requests === 3);
    expect(closed).toBe(0);
    socket.write(large);
    await once(socket, 'close');
    release();
    expect(play.begun).toHaveLength(1);
  });
});

test('a search that has run too long is refused with what to do about it (decisions X71)', async () => {
  play.begin = (query) => Promise.reject(new QueryTooLong(query.timeLimit ?? 0));
  const answer = await get(TOKENS.advertiser);
  expect(answer.statusCode).toBe(400);
  expect(answer.json<ErrorList>().errors).toEqual([
    {
      code: 'N_2',
      message: 'the search was stopped after 5 s: use fewer words or values, or add keys that narrow it',
    },
  ]);
});

test('the queries of one request share its time, those of the next have their own (decisions X71)', async () => {
  play.begin = async ({ spent }) => {
    if (spent !== undefined) spent[0] = 4_000;
  };
  await get(TOKENS.advertiser);
  play.begin = () => Promise.resolve();
  await get(TOKENS.advertiser);
  expect(play.begun.map(({ spent, timeLimit }) => [spent?.[0], timeLimit])).toEqual([
    [4_000, 5_000],
    [0, 5_000],
  ]);
});

describe('a long list (decisions X72)', () => {
  const text = 'A note. '.repeat(1_000);
  const whole = JSON.stringify(Array.from({ length: 1_000 }, (_, id) => ({ id, text })));

  test('is sent in chunks while it is written, also to a function', async () => {
    play.items = items(1_000, text);
    const answer = await get(TOKENS.advertiser);
    expect(answer.headers['content-length']).toBeUndefined();
    expect(answer.body === whole).toBe(true);
    play.items = items(1_000, text);
    const called = await get(TOKENS.advertiser, '&jsonp=f');
    expect(called.body === `/**/f(${whole}, undefined, undefined);`).toBe(true);
  });

  test('is not written for HEAD, nor faster than the client takes it', async () => {
    let read = 0;
    async function* counted(): AsyncGenerator<object[]> {
      for await (const batch of items(10_000, text)) {
        read += 1;
        yield batch;
      }
    }
    play.items = counted();
    const head = await app.inject({ method: 'HEAD', url: url(TOKENS.advertiser) });
    expect([head.statusCode, head.body]).toEqual([200, '']);
    expect(read).toBeLessThan(10);

    play.items = counted();
    const socket = await ask(TOKENS.publisher);
    socket.pause();
    for (let before = -1; before < read;) {
      before = read;
      for (let at = 0; at < 1_000; at += 1) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(read).toBeLessThan(100);
    socket.destroy();
  });

  test('ends with its connection when the client then sends what is no request', async () => {
    play.items = items(Infinity, text);
    const socket = await ask(TOKENS.advertiser);
    let received = '';
    socket.on('data', (data) => {
      if (received === '') socket.write('nonsense\r\n\r\n');
      received += data.toString();
    });
    await once(socket, 'close');
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
  });

  test('that cannot be completed ends with its connection', async () => {
    play.items = items(1_000, text, 900);
    const socket = await ask(TOKENS.advertiser);
    let received = '';
    socket.on('data', (data) => (received += data.toString()));
    await once(socket, 'close');
    expect(received).toContain('{"id":500,');
    expect(received).not.toContain('\r\n0\r\n\r\n');
  });
});

describe('an answer whose generation was dropped meanwhile (decisions X126)', () => {
  const dropped = (query: QueryOptions): never => {
    query.generations!.set('notes', play.begun.length);
    throw new NoGeneration({ collection: 'notes', generation: play.begun.length });
  };

  test('begins again, once, with another one', async () => {
    play.begin = async (query) => {
      if (play.begun.length === 1) dropped(query);
      expect(query.generations!.size).toBe(0);
    };
    expect((await get(TOKENS.advertiser)).statusCode).toBe(200);
    expect(play.begun).toHaveLength(2);
    play.begin = async (query) => dropped(query);
    expect((await get(TOKENS.advertiser)).body).toContain('the read model notes is being built');
    expect(play.begun).toHaveLength(4);
  });

  test('begins again if the first part, of which nothing was sent, cannot be read', async () => {
    const [first] = [play.items];
    async function* failing(query: QueryOptions): AsyncGenerator<object[]> {
      yield* items(100, 'b');
      dropped(query);
    }
    play.begin = async (query) => {
      play.items = play.begun.length === 1 ? failing(query) : first;
    };
    const answer = await get(TOKENS.advertiser);
    expect([answer.statusCode, answer.body.includes('"b"')]).toEqual([200, false]);
    expect(play.begun).toHaveLength(2);
  });

  test('is unavailable at once if none is live', async () => {
    play.begin = async () => {
      throw new NoGeneration({ collection: 'notes' });
    };
    expect((await get(TOKENS.advertiser)).body).toContain('the read model notes is being built');
    expect(play.begun).toHaveLength(1);
  });
});
