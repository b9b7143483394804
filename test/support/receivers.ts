import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

/** A request as a receiver has got it. */
export interface Received {
  readonly id: string;
  readonly host: string;
  readonly path: string;
  readonly body: string;
  readonly attempt: number;
  readonly at: number;
}

/** Receivers on many loopback addresses: each is a host of its own. */
export class Receivers {
  readonly received: Received[] = [];
  private readonly hanging: ServerResponse[] = [];
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer((request, response) => void this.receive(request, response));

  /** `answer` returns the status; undefined: none, the request hangs until `answerHanging`. */
  constructor(private readonly answer: (received: Received) => number | undefined = () => 200) {}

  async listen(): Promise<void> {
    this.server.keepAliveTimeout = 60_000;
    this.server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
    this.server.listen(0, '0.0.0.0');
    await once(this.server, 'listening');
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** The URL of a receiver by its number. */
  url(number: number): string {
    return `http://127.0.${1 + Math.floor(number / 200)}.${1 + (number % 200)}:${this.port}/r${number}`;
  }

  /** Answers all requests that hang and whose senders are there; resolves when the answers have been sent. */
  async answerHanging(status: number): Promise<void> {
    const there = this.hanging.splice(0).filter(({ destroyed }) => !destroyed);
    await Promise.all(
      there.map(async (response) => {
        const ended = Promise.race([once(response, 'finish'), once(response, 'close')]);
        response.writeHead(status).end();
        await ended;
      }),
    );
  }

  /** Resolves when the only sender has left, and all that it had sent has been received. */
  async untilLeft(): Promise<void> {
    // Connections are accepted in the order in which they were made.
    await once(connect(this.port, '127.0.0.1').resume().end(), 'close');
    while (this.sockets.size > 0) await turn();
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    request.on('error', () => undefined);
    for await (const chunk of request.setEncoding('utf8')) body += String(chunk);
    const { headers } = request;
    const received = {
      id: String(headers['webhook-id']),
      host: String(headers.host),
      path: String(request.url),
      body,
      attempt: Number(headers['webhook-attempt']),
      at: Date.now(),
    };
    this.received.push(received);
    const status = this.answer(received);
    if (status === undefined) this.hanging.push(response);
    else response.writeHead(status).end();
  }
}
