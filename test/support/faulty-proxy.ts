import { EventEmitter, once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform, type TransformCallback } from 'node:stream';

/** What becomes of a connection in the end; one that is slow is cut when it has carried as much once more. */
export const FAULTS = ['cut', 'silent', 'slow'] as const;
type Fault = (typeof FAULTS)[number];

/** What connections meet from now on. */
interface Faults {
  /** Each connection carries so many bytes well, both ways together; then it meets one of `inTurn`, the next the next. */
  good: number;
  inTurn: readonly Fault[];
  /** What the server sends is held back, and with it all that comes after it over the same connection. */
  mute: boolean;
  /** Each piece of data arrives so much later (ms). */
  delay: number;
}

/** What there was so far. */
interface Seen {
  /** How many connections are open. */
  open: number;
  /** Those that have met a fault of `inTurn`. */
  met: Record<Fault, number>;
  /** How often something was held back because of `mute`. */
  held: number;
  /** That the server has sent. */
  bytes: number;
}

/** Stands between a client and a server, and makes of the connection what a network may make of it. */
export interface FaultyProxy {
  readonly port: number;
  /** May be set at any time. */
  readonly faults: Faults;
  readonly seen: Readonly<Seen>;
  /** Breaks all connections there are; new ones may be made. */
  cut(): void;
  /** Resolves when what was seen is so. */
  until(isSo: (seen: Readonly<Seen>) => boolean): Promise<void>;
  close(): Promise<void>;
}

/** How much later each piece comes over a connection that has become slow (ms). */
const SLOW = 1;

export async function startFaultyProxy(target: number): Promise<FaultyProxy> {
  const faults: Faults = { good: Infinity, inTurn: ['cut'], mute: false, delay: 0 };
  const seen: Seen = { open: 0, met: { cut: 0, silent: 0, slow: 0 }, held: 0, bytes: 0 };
  const sockets = new Set<Socket>();
  const news = new EventEmitter();
  let turns = 0;
  const server = createServer((client) => {
    seen.open += 1;
    const upstream = connect(target, '127.0.0.1');
    const pair = [client, upstream];
    let carried = 0;
    let fault: Fault | undefined;
    const cut = (): void => {
      for (const socket of pair) socket.destroy();
    };
    const pass = (fromServer: boolean, chunk: Buffer, done: TransformCallback): void => {
      carried += chunk.length;
      if (fromServer) seen.bytes += chunk.length;
      if (fault === undefined && carried > faults.good) {
        fault = faults.inTurn[turns % faults.inTurn.length] ?? 'cut';
        turns += 1;
        seen.met[fault] += 1;
      }
      const muted = fromServer && faults.mute;
      if (muted) seen.held += 1;
      if (fault === 'cut' || carried > 2 * faults.good) cut();
      else if (!muted && fault !== 'silent') later(chunk, fault === 'slow' ? SLOW : faults.delay, done);
      news.emit('news');
    };
    for (const socket of pair) {
      sockets.add(socket);
      socket.on('error', cut).on('close', () => {
        sockets.delete(socket);
        cut();
        if (socket === client) seen.open -= 1;
        news.emit('news');
      });
    }
    const through = (fromServer: boolean): Transform =>
      new Transform({ transform: (chunk: Buffer, _, done) => pass(fromServer, chunk, done) });
    client.pipe(through(false)).pipe(upstream);
    upstream.pipe(through(true)).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    faults,
    seen,
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    until: async (isSo) => {
      while (!isSo(seen)) await once(news, 'news');
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function later(chunk: Buffer, delay: number, done: TransformCallback): void {
  if (delay > 0) setTimeout(() => done(null, chunk), delay);
  else done(null, chunk);
}
