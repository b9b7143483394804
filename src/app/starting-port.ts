import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { finished } from 'node:stream';
import { type Logger } from 'pino';
import { HEADERS_TIMEOUT, MAX_HEADERS } from '../http/client-error';
import { CORS_HEADERS } from '../http/cors';
import { loggedTarget } from '../http/logged-target';
import { namingRequest, REQUEST_ID, requestIdOf } from '../http/request-id';
import { errorsAsJson } from '../wire/api/errors';
import { CONTENT_TYPES } from '../wire/api/format';
import { starting } from '../wire/api/http-faults';
import { writeJson } from '../wire/json/write';
import { parseRequestTarget } from '../wire/keys/request-target';

interface Refusal {
  readonly status: number;
  readonly retryAfter?: number | undefined;
  readonly body: object;
}

/** How long the rest of a body is discarded, so that a client that sends all of it first gets the answer (ms). */
const LINGER_MS = 30_000;

const CORS_FIELDS = Object.fromEntries(CORS_HEADERS.map((line) => line.split(': '))) as Record<
  string,
  string
>;

/**
 * The port of a process that is starting (`docs/decisions.md#x98`): requests are answered 503, except `/health/live`,
 * until the port is handed over to the server of the application.
 */
export class StartingPort {
  private successor: Server | undefined;
  private readonly server = createServer(
    { maxHeaderSize: MAX_HEADERS, headersTimeout: HEADERS_TIMEOUT, requireHostHeader: false },
    (request, response) => this.take(request, response),
  );

  /** `reason` says what the process waits for. */
  private constructor(
    private readonly reason: () => string,
    private readonly log?: Logger,
  ) {}

  /** Raises the error of the system when it cannot listen. */
  static async open(port: number, host: string, reason: () => string, log?: Logger): Promise<StartingPort> {
    const opened = new StartingPort(reason, log);
    opened.server.listen(port, host);
    await once(opened.server, 'listening');
    return opened;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** From now on `successor` accepts the connections: it shares the socket, so that none is refused in between. */
  async handOver(successor: Server): Promise<void> {
    successor.listen(this.server);
    await once(successor, 'listening');
    this.successor = successor;
  }

  /** Closes the port unless it was handed over. */
  async close(): Promise<void> {
    if (this.successor !== undefined) return;
    this.server.close();
    this.server.closeAllConnections();
  }

  private take(request: IncomingMessage, response: ServerResponse): void {
    // A client that stays connected would never see the successor.
    response.shouldKeepAlive = false;
    if (this.successor === undefined) this.refuse(request, response);
    else this.successor.emit('request', request, response);
  }

  private refuse(request: IncomingMessage, response: ServerResponse): void {
    const id = requestIdOf(request);
    const { status, retryAfter, body } = this.answerTo(request.url ?? '', id);
    const text = writeJson(body);
    const path = loggedTarget(parseRequestTarget(request.url ?? ''));
    this.log?.info({ reqId: id, method: request.method, path, status }, 'request');
    response.writeHead(status, {
      ...CORS_FIELDS,
      [REQUEST_ID]: id,
      ...(retryAfter === undefined ? {} : { 'Retry-After': retryAfter }),
      'Content-Type': CONTENT_TYPES.json,
      'Content-Length': Buffer.byteLength(text),
      'X-Content-Type-Options': 'nosniff',
    });
    response.write(text);
    // The connection is closed after the answer: before the client has sent its body, it might not see the answer.
    const late = setTimeout(() => request.destroy(), LINGER_MS).unref();
    finished(request, () => {
      clearTimeout(late);
      response.end();
    });
    request.resume();
  }

  private answerTo(url: string, id: string): Refusal {
    const [path] = url.split('?');
    if (path === '/health/live') return { status: 200, body: { status: 'ok' } };
    if (path === '/health/ready')
      return { status: 503, retryAfter: 1, body: { status: 'waiting', waiting: { start: this.reason() } } };
    const fault = namingRequest(starting(this.reason()), id);
    return { status: fault.status, retryAfter: fault.details.retryAfter, body: errorsAsJson([fault]) };
  }
}
