import { once } from 'node:events';
import { connect } from 'node:net';

/**
 * Sends chunks over one connection (strings as latin1) and returns everything received until it matches `until` or the
 * connection closes.
 */
export async function exchange(
  port: number,
  pieces: readonly (string | Buffer)[],
  until?: RegExp,
): Promise<string> {
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
  for (const piece of pieces) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece;
    if (!socket.write(bytes)) await Promise.race([once(socket, 'drain'), done]);
  }
  await done;
  socket.destroy();
  return received;
}

/** Parses an answer, ignoring what precedes it (`100 Continue`) and follows it. */
export function answerIn(received: string): {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
} {
  const answer = received.replace(/^(HTTP\/1\.1 1\d\d [^]*?\r\n\r\n)+/, '');
  const [head = '', ...rest] = answer.split('\r\n\r\n');
  const [line = '', ...lines] = head.split('\r\n');
  const headers = lines.map((one) => [
    one.slice(0, one.indexOf(':')).toLowerCase(),
    one.slice(one.indexOf(':') + 2),
  ]);
  return {
    status: Number(line.split(' ')[1]),
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: rest.join('\r\n\r\n'),
  };
}
