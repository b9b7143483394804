import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { type AttemptResult } from '../../../src/delivery/sending/attempt';
import {
  accepting,
  answer,
  attemptTo,
  type Behaviour,
  handles,
  RawReceiver,
  sendingTo,
  untilNoSockets,
} from './receivers';

const { sender, receiver } = sendingTo();

/** Shorter than in production, so that the tests are. */
const LIMITS = { connectMs: 400, attemptMs: 800, answerMs: 200 };

const NO_ANSWER = { end: 'timeout', error: 'no answer within 0.8 s' };
const CLOSED = { end: 'failure', error: 'the connection was closed before there was an answer' };
const NOT_HTTP = { end: 'failure', error: 'the answer is not HTTP/1.1' };
const TOO_LONG = { end: 'failure', error: 'the answer is too long' };
const SUCCESS = { end: 'success', status: 200 };

const BOMB = gzipSync(Buffer.alloc(10_000_000));

/** Writes a byte at a time until the other side ends it. */
function drip(socket: Socket, text: string): void {
  let at = 0;
  const timer = setInterval(() => socket.write(text[at++ % text.length] ?? ''), 5);
  socket.on('close', () => clearInterval(timer));
}

/** Writes without end. */
function flood(socket: Socket, piece: string | Buffer): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', more);
  more();
}

const HOSTILE: readonly (readonly [does: string, behaviour: Behaviour, expected: object])[] = [
  ['never answers', () => undefined, NO_ANSWER],
  ['drips the head', (socket) => drip(socket, 'HTTP/1.1 200 OK\r\nx: ' + 'y'.repeat(5_000)), NO_ANSWER],
  [
    'drips the body',
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n');
      drip(socket, 'z');
    },
    { ...SUCCESS, answer: expect.stringMatching(/^z+$/) },
  ],
  [
    'drips the body of an error',
    (socket) => {
      socket.write('HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n');
      drip(socket, '1\r\nz\r\n');
    },
    { end: 'failure', status: 500, error: 'the status is 500', answer: expect.stringMatching(/^z+$/) },
  ],
  ['drips interim answers', (socket) => drip(socket, 'HTTP/1.1 102 Processing\r\n\r\n'), NO_ANSWER],
  [
    'floods interim answers',
    (socket) => flood(socket, 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(100)),
    TOO_LONG,
  ],
  ['floods empty lines', (socket) => flood(socket, '\r\n'.repeat(1_000)), TOO_LONG],
  [
    'floods a chunk extension',
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;');
      flood(socket, 'x'.repeat(1_000));
    },
    SUCCESS,
  ],
  [
    'floods trailers',
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nf\r\n0\r\n');
      flood(socket, 'x: y\r\n'.repeat(1_000));
    },
    { ...SUCCESS, answer: 'f' },
  ],
  [
    'floods the body',
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      flood(socket, 'f'.repeat(65_536));
    },
    { ...SUCCESS, answer: 'f'.repeat(1024) },
  ],
  [
    'floods chunks of one byte',
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      flood(socket, '1\r\nf\r\n'.repeat(1_000));
    },
    { ...SUCCESS, answer: 'f'.repeat(1024) },
  ],
  [
    'floods headers',
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      flood(socket, `x: ${'y'.repeat(100)}\r\n`.repeat(100));
    },
    { end: 'failure', error: 'the headers of the answer are too large' },
  ],
  [
    'sends 100 headers',
    (socket) =>
      socket.write(
        answer(
          200,
          '',
          Array.from({ length: 100 }, (_, at) => `x-${at}: ${at}`),
        ),
      ),
    SUCCESS,
  ],
  [
    'sends a header of 20 KiB',
    (socket) => socket.write(answer(200, '', [`x: ${'y'.repeat(20_480)}`])),
    { end: 'failure', error: 'the headers of the answer are too large' },
  ],
  ['closes at once', (socket) => socket.end(), CLOSED],
  ['resets', (socket) => socket.resetAndDestroy(), CLOSED],
  ['closes within the head', (socket) => socket.end('HTTP/1.1 200 OK\r\nx:'), CLOSED],
  [
    'resets within the body',
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc');
      setTimeout(() => socket.resetAndDestroy(), 20);
    },
    { ...SUCCESS, answer: 'abc' },
  ],
  [
    'sends less than content-length',
    (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'),
    { ...SUCCESS, answer: 'abc' },
  ],
  [
    'sends less than content-length and waits',
    (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'),
    { ...SUCCESS, answer: 'abc' },
  ],
  [
    'sends more than content-length',
    (socket) => socket.write(`${answer(200, 'abc')}and more${answer(500)}`),
    { ...SUCCESS, answer: 'abc' },
  ],
  [
    'has a negative content-length',
    (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n'),
    NOT_HTTP,
  ],
  [
    'has two values of content-length',
    (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'),
    NOT_HTTP,
  ],
  [
    'has an endless content-length',
    (socket) => socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${'9'.repeat(40)}\r\n\r\n`),
    NOT_HTTP,
  ],
  ['sends garbage', (socket) => socket.write('SSH-2.0-OpenSSH_9.6\r\n'), NOT_HTTP],
  ['sends bytes', (socket) => socket.write(Buffer.from([0, 255, 1, 254, 13, 10])), NOT_HTTP],
  ['sends HTTP/2', (socket) => socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])), NOT_HTTP],
  [
    'upgrades',
    (socket) => socket.write('HTTP/1.1 101 Up\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
    { end: 'failure', status: 101, error: 'the status is 101: no change of protocol was asked for' },
  ],
  ['asks to continue', (socket) => socket.write('HTTP/1.1 100 Continue\r\n\r\n'), NO_ANSWER],
  ['asks to continue, and closes', (socket) => socket.end('HTTP/1.1 100 Continue\r\n\r\n'), CLOSED],
  ['floods 100s', (socket) => flood(socket, 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(100)), TOO_LONG],
  [
    'floods the head of an interim answer',
    (socket) => {
      socket.write('HTTP/1.1 100 Continue\r\n');
      flood(socket, `x: ${'y'.repeat(100)}\r\n`.repeat(100));
    },
    TOO_LONG,
  ],
  [
    'sends an interim answer of 16 KB, and then its answer',
    (socket) => socket.write(interimOf(16 * 1024 + 1) + answer(200, '')),
    TOO_LONG,
  ],
  [
    'sends 33 interim answers, and then its answer',
    (socket) => socket.write('HTTP/1.1 100 \r\n\r\n'.repeat(33) + answer(200, '')),
    TOO_LONG,
  ],
  [
    'sends 16 KB of empty lines, and then its answer',
    (socket) => socket.write('\r\n'.repeat(8 * 1024 + 1) + answer(200, '')),
    TOO_LONG,
  ],
  [
    'sends a bomb',
    (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${BOMB.length}\r\n\r\n`);
      socket.write(BOMB);
    },
    SUCCESS,
  ],
];

/** An interim answer of so many bytes. */
function interimOf(size: number): string {
  const head = 'HTTP/1.1 103 Early Hints\r\nx: \r\n\r\n';
  return head.replace('x: ', `x: ${'y'.repeat(size - head.length)}`);
}

function withoutTimes({ at, ms, ...result }: AttemptResult): object {
  expect([at, ms]).toEqual([expect.any(Number), expect.any(Number)]);
  return result;
}

describe('a receiver that', () => {
  it.each(HOSTILE)(
    '%s costs an attempt its bounds at most (decisions N4)',
    async (_, behaviour, expected) => {
      const to = await receiver(behaviour);
      await untilNoSockets();
      const before = handles();
      const sending = sender(LIMITS);
      const url = `http://127.0.0.1:${to.port}/`;
      expect(withoutTimes(await sending.attempt(attemptTo(url)))).toEqual(expected);
      // A second message finds neither rests of the first answer nor its connection.
      expect(withoutTimes(await sending.attempt(attemptTo(url)))).toEqual(expected);
      await sending.close();
      await to.idle();
      await untilNoSockets();
      expect(handles()).toEqual(before);
    },
  );

  it('accepts no connection is a time-out (decisions N4)', async () => {
    // A process that is stuck: its backlog is one connection, and then nothing is accepted.
    const stuck = `require('node:net').createServer().listen(0, '127.0.0.1', 1, function () {
      require('node:fs').writeSync(1, String(this.address().port));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    })`;
    const child = spawn(process.execPath, ['-e', stuck], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [port] = (await once(child.stdout, 'data')) as [Buffer];
    const sending = sender(LIMITS);
    const results = await Promise.all(
      Array.from({ length: 6 }, () => sending.attempt(attemptTo(`http://127.0.0.1:${port.toString()}/`))),
    );
    child.kill('SIGKILL');
    expect(results.map(({ end }) => end)).toEqual(Array(6).fill('timeout'));
    expect(results.map(({ error }) => error)).toContain('no connection within 0.4 s');
  });

  it('does not listen is a failure (decisions N4)', async () => {
    const to = await RawReceiver.start(accepting);
    const url = `http://127.0.0.1:${to.port}/`;
    await to.close();
    const result = await sender(LIMITS).attempt(attemptTo(url));
    expect(result).toMatchObject({ end: 'failure', error: 'the connection was refused' });
  });
});
