import { EventEmitter, once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform, type TransformCallback } from 'node:stream';

/** What a connection through the proxy meets. */
interface Faults {
  /** Each connection is cut when it has carried so many bytes, both ways together. */
  cutAfter: number;
  /** What the server sends is held back, and with it all that comes after it over the same connection. */
  mute: boolean;
  /** Each piece of data arrives so much later (ms). */
  delay: number;
}

/** Stands between a client and a server, and makes of the connection what a network may make of it. */
export interface FaultyProxy {
  readonly port: number;
  /** What happens from now on; may be set at any time. */
  readonly faults: Faults;
  /** How many connections there were, how many of them `cutAfter` has cut, and how many bytes the server has sent. */
  readonly seen: { connections: number; cut: number; bytes: number };
  /** Breaks all connections there are; new ones may be made. */
  cut(): void;
  /** Resolves when something is being held back. */
  holding(): Promise<void>;
  /** Resolves when so many connections are open. */
  open(count: number): Promise<void>;
  close(): Promise<void>;
}

export async function startFaultyProxy(target: number): Promise<FaultyProxy> {
  const faults: Faults = { cutAfter: Infinity, mute: false, delay: 0 };
  const seen = { connections: 0, cut: 0, bytes: 0 };
  const sockets = new Set<Socket>();
  const held = new EventEmitter();
  const ended = new EventEmitter();
  const server = createServer((client) => {
    seen.connections += 1;
    const upstream = connect(target, '127.0.0.1');
    const pair = [client, upstream];
    let carried = 0;
    const cut = (): void => {
      for (const socket of pair) socket.destroy();
    };
    const through = (fromServer: boolean): Transform =>
      new Transform({
        transform(chunk: Buffer, _, done) {
          carried += chunk.length;
          if (fromServer) seen.bytes += chunk.length;
          if (carried > faults.cutAfter) {
            seen.cut += 1;
            cut();
          } else if (fromServer && faults.mute) held.emit('held');
          else passed(chunk, faults.delay, done);
        },
      });
    for (const socket of pair) {
      sockets.add(socket);
      socket.on('error', cut).on('close', () => {
        sockets.delete(socket);
        cut();
        ended.emit('ended');
      });
    }
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
    holding: async () => {
      await once(held, 'held');
    },
    open: async (count) => {
      while (sockets.size !== 2 * count) await once(ended, 'ended');
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function passed(chunk: Buffer, delay: number, done: TransformCallback): void {
  if (delay > 0) setTimeout(() => done(null, chunk), delay);
  else done(null, chunk);
}
