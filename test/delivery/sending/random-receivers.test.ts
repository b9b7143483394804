import fc from 'fast-check';
import { type Socket } from 'node:net';
import { cases } from '../../support/size';
import { answer, attemptTo, handles, sendingTo, untilNoSockets } from './receivers';

const { sender, receiver } = sendingTo();

/** What receivers do, one after the other, with each piece of a request. */
const STEPS: Readonly<Record<string, (socket: Socket) => unknown>> = {
  answers: (socket) => socket.write(answer(200, 'ok')),
  fails: (socket) => socket.write(answer(500, 'no')),
  'is gone': (socket) => socket.write(answer(410)),
  'says that it closes': (socket) => socket.write(answer(200, '', ['connection: close'])),
  'sends interim answers': (socket) => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(3)),
  'says that it goes on': (socket) => socket.write('HTTP/1.1 100 Continue\r\n\r\n'),
  'begins a head': (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-le'),
  'ends a head': (socket) => socket.write('ngth: 4\r\n\r\n'),
  'begins chunks': (socket) => socket.write('HTTP/1.1 201 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nab'),
  'ends chunks': (socket) => socket.write('cd\r\n0\r\n\r\n'),
  'sends garbage': (socket) => socket.write(Buffer.from([0, 1, 2, 255, 13, 10, 13, 10])),
  'sends a lot': (socket) => socket.write('x'.repeat(100_000)),
  ends: (socket) => socket.end(),
  // After its end Node.js does not reset a socket, and leaves it open.
  resets: (socket) => (socket.writableEnded ? socket.destroy() : socket.resetAndDestroy()),
  waits: () => undefined,
};

describe('a receiver that does anything', () => {
  it('costs each attempt its bounds at most, and leaves no socket and no timer (decisions N4)', async () => {
    const step = fc.constantFrom(...Object.keys(STEPS));
    const scripts = fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 });
    const law = async (script: readonly (readonly string[])[]): Promise<void> => {
      let request = 0;
      const to = await receiver((socket) => {
        for (const name of script[request++ % script.length] ?? []) STEPS[name]?.(socket);
      });
      await untilNoSockets();
      const before = handles();
      const sending = sender({ connectMs: 100, attemptMs: 60, answerMs: 30 });
      const attempts = Array.from({ length: 8 }, () =>
        sending.attempt(attemptTo(`http://127.0.0.1:${to.port}/`)),
      );
      const results = [...(await Promise.all(attempts))];
      for (let count = 0; count < 4; count += 1)
        results.push(await sending.attempt(attemptTo(`http://127.0.0.1:${to.port}/`)));
      for (const { end, status, error } of results) {
        expect(['success', 'gone', 'failure', 'timeout']).toContain(end);
        expect(error).not.toBe('the request failed');
        expect(end === 'success').toBe(status === 200 || status === 201);
        expect(end === 'gone').toBe(status === 410);
      }
      await sending.close();
      await to.close();
      await untilNoSockets();
      expect(handles()).toEqual(before);
    };
    await fc.assert(fc.asyncProperty(scripts, law), { numRuns: cases(200, 25) });
  });
});
