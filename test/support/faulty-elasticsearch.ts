import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** A request as the proxy sees it. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

/** How a request fails; without a fault it is forwarded. */
export type Fault =
  /** Answered with this status instead of forwarded. */
  | { readonly status: number; readonly error?: string }
  /** Never answered. */
  | 'silence'
  /** The connection is cut before the request is forwarded, or after, so that only the answer is lost. */
  | 'cut'
  | 'lost'
  /** Forwarded after this delay (ms). */
  | { readonly delay: number }
  /** These operations of a bulk are refused with 429, the others are forwarded. */
  | { readonly busy: (place: number) => boolean };

/** A proxy for an Elasticsearch, or a replacement of it, with injected faults. */
export class FaultyElasticsearch {
  /** Selects the fault of each request; may be changed at any time. */
  fault: (asked: Asked) => Fault | undefined = () => undefined;
  readonly asked: Asked[] = [];
  private server: Server | undefined;
  private port = 0;

  private constructor(private readonly target: string) {}

  static async start(target = 'http://127.0.0.1:9'): Promise<FaultyElasticsearch> {
    const proxy = new FaultyElasticsearch(target);
    await proxy.resume();
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Starts refusing connections. */
  async stop(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    server?.closeAllConnections();
    await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  }

  /** Accepts connections again, at the same address. */
  async resume(): Promise<void> {
    const server = createServer((request, response) => {
      this.take(request, response).catch(() => response.destroy());
    });
    this.server = server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.port = (server.address() as AddressInfo).port;
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const asked: Asked = {
      method: request.method ?? '',
      path: request.url ?? '',
      authorization: request.headers.authorization,
      body: Buffer.concat(pieces).toString(),
    };
    this.asked.push(asked);
    const fault = this.fault(asked);
    if (fault === 'silence') return;
    if (fault === 'cut') {
      response.destroy();
      return;
    }
    if (typeof fault === 'object' && 'status' in fault) {
      const { status, error = 'made_up_exception' } = fault;
      answer(response, status, { error: { type: error, reason: 'as the test wants it' }, status });
      return;
    }
    if (typeof fault === 'object' && 'delay' in fault) await pause(fault.delay);
    const busy = typeof fault === 'object' && 'busy' in fault ? fault.busy : undefined;
    const { status, body } = await this.pass(asked, request, busy);
    if (fault === 'lost') response.destroy();
    else answer(response, status, body);
  }

  private async pass(
    { method, path, body }: Asked,
    { headers }: IncomingMessage,
    busy: ((place: number) => boolean) | undefined,
  ): Promise<{ status: number; body: unknown }> {
    const operations = (body.match(/.+\n.+\n/g) ?? []).map((text, place) => ({ text, busy: busy?.(place) }));
    const passed = operations.filter((operation) => operation.busy !== true);
    const sent = busy === undefined ? body : passed.map(({ text }) => text).join('');
    const { status, text } =
      busy !== undefined && sent === ''
        ? { status: 200, text: '{"items":[]}' }
        : await fetch(`${this.target}${path}`, {
            method,
            headers: {
              accept: headers.accept ?? '*/*',
              ...(sent === '' ? {} : { 'content-type': headers['content-type'] ?? '' }),
            },
            ...(sent === '' ? {} : { body: sent }),
          }).then(async (answered) => ({ status: answered.status, text: await answered.text() }));
    const parsed: unknown = text === '' ? undefined : JSON.parse(text);
    if (busy === undefined) return { status, body: parsed };
    const { items = [] } = parsed as { items?: unknown[] };
    const refused = {
      index: { status: 429, error: { type: 'es_rejected_execution_exception', reason: '' } },
    };
    const all = operations.map((operation) => (operation.busy === true ? refused : items.shift()));
    return { status, body: { errors: true, items: all } };
  }
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'x-elastic-product': 'Elasticsearch', 'content-type': 'application/json' });
  response.end(body === undefined ? '' : JSON.stringify(body));
}
