import { readFile } from 'node:fs/promises';
import { removeFolder, temporaryFolder } from '../../support/server';
import { TlsFront } from '../../support/tls-front';
import { accepting, answer, attemptTo, handles, sendingTo, untilNoSockets } from './receivers';

const { sender, receiver } = sendingTo();

describe('a connection that the receiver has closed while it was idle', () => {
  it.each([
    ['in order', (socket) => socket.end()],
    ['by a reset', (socket) => socket.resetAndDestroy()],
  ] satisfies [string, (socket: import('node:net').Socket) => void][])(
    '%s is replaced, and no attempt fails (decisions N4)',
    async (_, close) => {
      const to = await receiver(accepting);
      const sending = sender();
      const url = `http://127.0.0.1:${to.port}/`;
      for (let count = 0; count < 20; count += 1) {
        const before = to.requests.length;
        expect(await sending.attempt(attemptTo(url))).toMatchObject({ end: 'success' });
        expect(to.requests).toHaveLength(before + 1);
        // In this process the next request begins before it is read that the idle connection is closed.
        await new Promise(setImmediate);
        for (const socket of to.sockets) close(socket);
      }
    },
  );

  it('after a request was written fails the attempt, since the message may have arrived (decisions N4)', async () => {
    let requests = 0;
    const to = await receiver((socket) => {
      requests += 1;
      if (requests === 1) socket.write(answer(200));
      else socket.resetAndDestroy();
    });
    const sending = sender();
    const url = `http://127.0.0.1:${to.port}/`;
    expect((await sending.attempt(attemptTo(url))).end).toBe('success');
    expect(await sending.attempt(attemptTo(url))).toMatchObject({
      end: 'failure',
      error: 'the connection was closed before there was an answer',
    });
    expect(requests).toBe(2);
  });
});

describe('a connection', () => {
  it('is replaced when it is old, so that names are resolved again (decisions N9)', async () => {
    const to = await receiver(accepting);
    let resolved = 0;
    const sending = sender({
      mostAgeMs: 100,
      resolve: async () => {
        resolved += 1;
        return ['127.0.0.1'];
      },
    });
    while (to.connections < 5)
      expect(await sending.attempt(attemptTo(`http://name.example:${to.port}/`))).toMatchObject({
        end: 'success',
      });
    expect(resolved).toBe(5);
    expect(to.requests.length).toBeGreaterThan(5);
    // The old ones are closed.
    while (to.sockets.size > 2) await new Promise(setImmediate);
  });
});

describe('over TLS', () => {
  const fronts: TlsFront[] = [];
  let folder = '';
  beforeAll(async () => (folder = await temporaryFolder()));
  afterAll(() => removeFolder(folder));
  afterEach(async () => {
    await Promise.all(fronts.splice(0).map((front) => front.stop()));
  });

  async function front(
    target: number,
    until?: string,
  ): Promise<{ readonly port: number; readonly ca: string }> {
    const made = await TlsFront.start(target, folder, until === undefined ? {} : { until });
    fronts.push(made);
    return { port: made.port, ca: await readFile(made.certificate, 'utf8') };
  }

  const resolve = async (): Promise<readonly string[]> => ['127.0.0.1'];

  it('a message arrives if the certificate is trusted and for the host (decisions N4)', async () => {
    const to = await receiver(accepting);
    const { port, ca } = await front(to.port);
    const sending = sender({ ca, resolve });
    for (const host of ['localhost', 'localhost.', '127.0.0.1'])
      expect(await sending.attempt(attemptTo(`https://${host}:${port}/`))).toMatchObject({ end: 'success' });
    expect(to.requests).toHaveLength(3);
  });

  it.each([
    ['is self-signed', { isTrusted: false }, 'the certificate is self-signed'],
    ['has expired', { until: '20210101000000Z' }, 'the certificate has expired'],
    ['is for another host', { host: 'other.example' }, 'the certificate is for another host name'],
  ])('a certificate that %s is a failure, and nothing is sent (decisions N4)', async (_, bad, error) => {
    const {
      isTrusted = true,
      until,
      host = 'localhost',
    } = bad as Record<string, string> & { isTrusted?: boolean };
    const to = await receiver(accepting);
    const { port, ca } = await front(to.port, until);
    const sending = sender({ resolve, ...(isTrusted ? { ca } : {}) });
    const result = await sending.attempt(attemptTo(`https://${host}:${port}/`));
    expect(result).toMatchObject({ end: 'failure', error });
    expect(to.requests).toEqual([]);
  });

  it.each([
    ['never shakes hands', () => undefined, 'timeout', 'no connection within 0.3 s'],
    [
      'closes instead',
      (socket) => socket.end(),
      'failure',
      'the connection was closed before there was an answer',
    ],
    ['answers in plain HTTP', (socket) => socket.write(answer(200)), 'failure', 'TLS failed'],
  ] satisfies [string, (socket: import('node:net').Socket) => unknown, string, string][])(
    'a receiver that %s costs its bounds at most (decisions N4)',
    async (_, does, end, error) => {
      const to = await receiver((socket) => void does(socket));
      await untilNoSockets();
      const before = handles();
      const sending = sender({ connectMs: 300 });
      const result = await sending.attempt(attemptTo(`https://127.0.0.1:${to.port}/`));
      expect(result).toMatchObject({ end, error });
      await sending.close();
      await untilNoSockets();
      expect(handles()).toEqual(before);
    },
  );

  it('a receiver that shakes hands and hangs is a time-out (decisions N4)', async () => {
    const to = await receiver(() => undefined);
    const { port, ca } = await front(to.port);
    const sending = sender({ ca, attemptMs: 400 });
    expect(await sending.attempt(attemptTo(`https://127.0.0.1:${port}/`))).toMatchObject({
      end: 'timeout',
      error: 'no answer within 0.4 s',
    });
    await to.idle();
  });
});

describe('stopping', () => {
  const STOPPED = { end: 'aborted', error: 'the sender was stopped' };

  it('ends attempts in progress as aborted, at whatever point they are (decisions N4)', async () => {
    const silent = await receiver(() => undefined);
    await untilNoSockets();
    const before = handles();
    const sending = sender({ resolve: () => new Promise(() => undefined) });
    const urls = [
      `http://127.0.0.1:${silent.port}/`,
      `https://127.0.0.1:${silent.port}/`,
      'http://name.example/',
    ];
    const attempts = urls.map((url) => sending.attempt(attemptTo(url)));
    while (silent.requests.length < 2) await new Promise(setImmediate);
    await sending.close();
    for (const attempt of attempts) expect(await attempt).toMatchObject(STOPPED);
    expect(await sending.attempt(attemptTo(urls[0] ?? ''))).toMatchObject(STOPPED);
    await silent.idle();
    await untilNoSockets();
    expect(handles()).toEqual(before);
  });

  it('by a signal ends one attempt, and its socket (decisions N4)', async () => {
    const to = await receiver(() => undefined);
    const sending = sender();
    const stop = new AbortController();
    const attempts = Array.from({ length: 12 }, () =>
      sending.attempt(attemptTo(`http://127.0.0.1:${to.port}/`), stop.signal),
    );
    while (to.requests.length < 12) await new Promise(setImmediate);
    stop.abort();
    for (const attempt of attempts) expect(await attempt).toMatchObject(STOPPED);
    await to.idle();
    const again = await sending.attempt(attemptTo(`http://127.0.0.1:${to.port}/`), stop.signal);
    expect(again).toMatchObject(STOPPED);
    expect(to.connections).toBe(12);
  });

  it('by a signal before there is a connection sends nothing later (decisions N4)', async () => {
    const to = await receiver(accepting);
    let resolved = (): void => undefined;
    const resolve = (): Promise<readonly string[]> =>
      new Promise((done) => (resolved = () => done(['127.0.0.1'])));
    const sending = sender({ resolve });
    const stop = new AbortController();
    const attempt = sending.attempt(attemptTo(`http://name.example:${to.port}/`), stop.signal);
    stop.abort();
    expect(await attempt).toMatchObject(STOPPED);
    resolved();
    const next = sending.attempt(attemptTo(`http://127.0.0.1:${to.port}/next`));
    expect(await next).toMatchObject({ end: 'success' });
    expect([to.connections, to.requests.length]).toEqual([1, 1]);
  });

  it('does not discard a status that has arrived (decisions N4)', async () => {
    const to = await receiver((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc');
    });
    const sending = sender({ answerMs: 60_000, attemptMs: 60_000 });
    const stop = new AbortController();
    const attempt = sending.attempt(attemptTo(`http://127.0.0.1:${to.port}/`), stop.signal);
    while (to.requests.length === 0) await new Promise(setImmediate);
    setTimeout(() => stop.abort(), 100);
    expect(await attempt).toMatchObject({ end: 'success', status: 200, answer: 'abc' });
  });
});

describe('isolation', () => {
  it('lets 1,000 attempts to hostile receivers delay none to a good one (decisions N7)', async () => {
    const hostile = await receiver(
      (socket) => {
        const timer = setInterval(() => socket.write('HTTP/1.1 102 Wait\r\n\r\n'), 500);
        socket.on('close', () => clearInterval(timer));
      },
      { host: '0.0.0.0' },
    );
    const good = await receiver(accepting);
    const sending = sender({ attemptMs: 60_000, connectMs: 60_000 });
    const stop = new AbortController();
    let ended = 0;
    const attempts = Array.from({ length: 1_000 }, async (_, at) => {
      const url = `http://127.0.${1 + (at >> 8)}.${at % 256}:${hostile.port}/`;
      const result = await sending.attempt(attemptTo(url), stop.signal);
      ended += 1;
      return result;
    });
    // Before, while and after all are connected.
    const goodUrl = `http://127.0.0.1:${good.port}/`;
    expect(await sending.attempt(attemptTo(goodUrl))).toMatchObject({ end: 'success' });
    while (hostile.requests.length < 1_000)
      expect(await sending.attempt(attemptTo(goodUrl))).toMatchObject({ end: 'success' });
    for (let count = 0; count < 100; count += 1)
      expect(await sending.attempt(attemptTo(goodUrl))).toMatchObject({ end: 'success' });
    expect(ended).toBe(0);
    stop.abort();
    for (const { end } of await Promise.all(attempts)) expect(end).toBe('aborted');
  });
});
