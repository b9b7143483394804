import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { EngineUnavailable } from '../kernel/event-log';

/** The connection preface of HTTP/2. */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** Idle time-out (ms) of connections other than HTTP/2. */
const IDLE_MS = 10_000;

/** A port that serves both HTTP/2 and HTTP/1.1. */
export interface Front {
  readonly port: number;
  /** Stops listening and closes open connections. */
  close(): void;
}

/**
 * Listens on a port and passes each connection to the server of its protocol, which it detects from the first bytes. Raises
 * `EngineUnavailable` if it cannot listen.
 */
export async function openFront(
  host: string,
  port: number,
  http2: (socket: Socket) => void,
  http1: RequestListener,
): Promise<Front> {
  const http = createHttpServer(http1);
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    // An error before the protocol is detected closes the socket; the server of the protocol handles later ones.
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
    detectProtocol(socket, (isHttp2) => {
      if (isHttp2) {
        http2(socket);
        return;
      }
      http.emit('connection', socket);
      socket.resume();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(new EngineUnavailable(`cannot listen on ${host}, port ${port}`, { cause: error })),
    );
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Detects the protocol from the first bytes, and unshifts them. A socket that ends before is closed. */
function detectProtocol(socket: Socket, decide: (isHttp2: boolean) => void): void {
  let bytes = Buffer.alloc(0);
  const end = (): unknown => socket.destroy();
  const look = (part: Buffer): void => {
    bytes = Buffer.concat([bytes, part]);
    const length = Math.min(bytes.length, PREFACE.length);
    const isHttp2 = bytes.subarray(0, length).equals(PREFACE.subarray(0, length));
    if (isHttp2 && length < PREFACE.length) return;
    // HTTP/2 has its own keep-alive; an idle HTTP/1.1 connection is closed.
    if (isHttp2) socket.setTimeout(0).off('timeout', end);
    socket.off('data', look).off('end', end).pause();
    socket.unshift(bytes);
    decide(isHttp2);
  };
  socket.setTimeout(IDLE_MS, end);
  socket.on('data', look).once('end', end);
}
