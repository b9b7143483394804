import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { EngineUnavailable } from '../../kernel/event-log';

/** How a connection over HTTP/2 begins. */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** How long a connection may say nothing (ms), unless it is HTTP/2. */
const SILENCE = 10_000;

/** A port on which HTTP/2 and HTTP/1.1 are served. */
export interface Front {
  readonly port: number;
  /** Takes no more connections, and ends those that are open. */
  close(): void;
}

/**
 * Listens on a port and hands each connection on as a whole, after a look at its first bytes. Raises
 * `EngineUnavailable` when it cannot listen.
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
    // Errors before the protocol is known close the socket; later ones are those of its server.
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
    sniff(socket, (isHttp2) => {
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

/** Decides by the first bytes, and leaves them to be read. A socket that ends before is closed. */
function sniff(socket: Socket, decide: (isHttp2: boolean) => void): void {
  let bytes = Buffer.alloc(0);
  const end = (): unknown => socket.destroy();
  const look = (part: Buffer): void => {
    bytes = Buffer.concat([bytes, part]);
    const length = Math.min(bytes.length, PREFACE.length);
    const isHttp2 = bytes.subarray(0, length).equals(PREFACE.subarray(0, length));
    if (isHttp2 && length < PREFACE.length) return;
    // HTTP/2 has a keep-alive of its own; an HTTP/1.1 connection that is idle is closed.
    if (isHttp2) socket.setTimeout(0).off('timeout', end);
    socket.off('data', look).off('end', end).pause();
    socket.unshift(bytes);
    decide(isHttp2);
  };
  socket.setTimeout(SILENCE, end);
  socket.on('data', look).once('end', end);
}
