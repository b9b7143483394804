import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const HEAD_END = '\r\n\r\n';

/**
 * A connection that is kept alive, with one request at a time. It does little more than its socket: a client for all
 * purposes would take as long as a small request.
 */
export class LightClient {
  private received: Buffer = Buffer.alloc(0);
  /** Bytes of the answer that is received; until its head is complete, infinite. */
  private expected = Infinity;
  private settle: { resolve: (answer: Buffer) => void; reject: (error: Error) => void } | undefined;

  private constructor(private readonly socket: Socket) {
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.take(chunk));
    socket.on('error', (error) => this.settle?.reject(error));
    socket.on('close', () => this.settle?.reject(new Error('the connection was closed')));
  }

  static async open(origin: string): Promise<LightClient> {
    const { hostname, port } = new URL(origin);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    return new LightClient(socket);
  }

  /** Sends the text of a request; returns the bytes of its answer. Raises for any status but 2xx. */
  ask(request: string): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
      this.socket.write(request);
    });
  }

  close(): void {
    this.settle = undefined;
    this.socket.destroy();
  }

  private take(chunk: Buffer): void {
    this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
    if (this.expected === Infinity) this.expected = lengthOf(this.received);
    if (this.received.length < this.expected) return;
    const { settle, received } = this;
    this.received = Buffer.alloc(0);
    this.expected = Infinity;
    this.settle = undefined;
    if (received.toString('latin1', 9, 10) === '2') settle?.resolve(received);
    else settle?.reject(new Error(`answered ${received.toString()}`));
  }
}

/** Bytes of an answer with a `Content-Length`; infinite until its head is complete. */
function lengthOf(received: Buffer): number {
  const end = received.indexOf(HEAD_END);
  if (end === -1) return Infinity;
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(received.toString('latin1', 0, end)) ?? [];
  if (length === undefined) throw new Error('expected an answer with a Content-Length');
  return end + HEAD_END.length + Number(length);
}

/** The text of a request; a body is JSON. */
export function requestText(method: string, path: string, body?: object): string {
  const text = body === undefined ? '' : JSON.stringify(body);
  const type = body === undefined ? '' : 'Content-Type: application/json; charset=utf-8\r\n';
  const length = body === undefined ? '' : `Content-Length: ${Buffer.byteLength(text)}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nHost: bench\r\nAccept: application/json\r\n${type}${length}\r\n${text}`;
}
