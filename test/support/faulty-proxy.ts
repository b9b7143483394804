import { EventEmitter, once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform, type TransformCallback } from 'node:stream';

/** Faults of a connection; a slow one is cut after the same number of bytes again. */
export const FAULTS = ['cut', 'silent', 'slow'] as const;
type Fault = (typeof FAULTS)[number];

/** The faults of connections. */
interface Faults {
  /** Bytes, in both directions, that a connection transfers before its fault, taken from `inTurn` in rotation. */
  good: number;
  inTurn: readonly Fault[];
  /** Holds back what the server sends, and everything after it over the same connection. */
  mute: boolean;
  /** The same for what the client sends. */
  deaf: boolean;
  /** Delay of each chunk (ms). */
  delay: number;
}

/** Statistics. */
interface Seen {
  /** Open connections. */
  open: number;
  /** Connections by the fault of `inTurn` they had. */
  met: Record<Fault, number>;
  /** Number of chunks held back because of `mute` or `deaf`. */
  held: number;
  /** Bytes that the server has sent. */
  bytes: number;
}

/** A proxy between a client and a server that simulates network faults. */
export interface FaultyProxy {
  readonly port: number;
  /** May be changed at any time. */
  readonly faults: Faults;
  readonly seen: Readonly<Seen>;
  /** Cuts all open connections; new ones are accepted. */
  cut(): void;
  /** Waits until the statistics match. */
  until(isSo: (seen: Readonly<Seen>) => boolean): Promise<void>;
  close(): Promise<void>;
}

/** Delay of each chunk over a slow connection (ms). */
const SLOW = 1;

export async function startFaultyProxy(target: number): Promise<FaultyProxy> {
  const faults: Faults = { good: Infinity, inTurn: ['cut'], mute: false, deaf: false, delay: 0 };
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
      const held = fromServer ? faults.mute : faults.deaf;
      if (held) seen.held += 1;
      if (fault === 'cut' || carried > 2 * faults.good) cut();
      else if (!held && fault !== 'silent') later(chunk, fault === 'slow' ? SLOW : faults.delay, done);
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
