import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type Attempt } from '../../../src/delivery/sending/attempt';
import { AllowedAddresses } from '../../../src/delivery/sending/addresses';
import { Sender, type SenderOptions } from '../../../src/delivery/sending/sender';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';

/** Sockets that other test files have left open in this process: `untilNoSockets` would wait for them for ever. */
let foreign = 0;

/** Resolves when the tests of this file have no open socket in this process. */
export async function untilNoSockets(): Promise<void> {
  while (sockets() > foreign) await new Promise(setImmediate);
}

function sockets(): number {
  return handles().TCPSocketWrap ?? 0;
}

/** Sockets and timers of this process. */
export function handles(): Readonly<Record<string, number>> {
  const counts: Record<string, number> = { TCPSocketWrap: 0, TLSWrap: 0, Timeout: 0 };
  for (const name of process.getActiveResourcesInfo())
    if (name in counts) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** What a receiver does with a request; `request` is its head and body as far as they have arrived at once. */
export type Behaviour = (socket: Socket, request: string) => void;

interface RawOptions {
  readonly host?: string;
  readonly port?: number;
  /** What it does before there is a request. */
  readonly onConnection?: (socket: Socket) => void;
}

/** A receiver on a raw socket: it answers what it likes. */
export class RawReceiver {
  /** Of all connections ever made. */
  connections = 0;
  readonly requests: string[] = [];
  readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async start(
    behaviour: Behaviour,
    { host = '127.0.0.1', port = 0, onConnection = () => undefined }: RawOptions = {},
  ): Promise<RawReceiver> {
    const server = createServer();
    const receiver = new RawReceiver(server);
    server.on('connection', (socket) => {
      receiver.connections += 1;
      receiver.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => receiver.sockets.delete(socket));
      socket.on('data', (data) => {
        receiver.requests.push(data.toString('latin1'));
        behaviour(socket, data.toString('latin1'));
      });
      onConnection(socket);
    });
    await once(server.listen(port, host), 'listening');
    return receiver;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Resolves when no connection is open. */
  async idle(): Promise<void> {
    while (this.sockets.size > 0) await new Promise(setImmediate);
  }

  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }
}

/** An answer with a body, on a connection that stays open. */
export function answer(status: number, body = '', headers: readonly string[] = []): string {
  const length = `content-length: ${Buffer.byteLength(body)}`;
  return [`HTTP/1.1 ${status} Text`, length, ...headers, '', body].join('\r\n');
}

export const accepting: Behaviour = (socket) => void socket.write(answer(200, 'thanks'));

/** An attempt to POST a message. */
export function attemptTo(url: string, change: Partial<Attempt> = {}): Attempt {
  return {
    id: 'msg_0123456789abcdefghijklmnopqrstuv',
    sequence: 7,
    request: { method: 'POST', url, contentType: 'application/json; charset=utf-8', body: '{"a":"ü"}' },
    number: 1,
    secrets: [new Uint8Array(32).fill(1)],
    ...change,
  };
}

const LOOPBACK = AllowedAddresses.parse('127.0.0.0/8, ::1');

/** Senders that may send to loopback; closed, with all receivers, after each test. */
export function sendingTo() {
  // Those that are being closed are gone by then.
  beforeAll(async () => {
    for (const end = performance.now() + 1_000; sockets() > 0 && performance.now() < end;)
      await new Promise(setImmediate);
    foreign = sockets();
  });
  const open: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((one) => one.close()));
  });
  const keep = <T extends { close(): Promise<void> }>(one: T): T => {
    open.push(one);
    return one;
  };
  return {
    keep,
    sender: (options: Partial<SenderOptions> = {}): Sender =>
      keep(new Sender({ clock: SYSTEM_CLOCK, allowed: LOOPBACK, ...options })),
    receiver: async (...args: Parameters<typeof RawReceiver.start>): Promise<RawReceiver> =>
      keep(await RawReceiver.start(...args)),
  };
}
