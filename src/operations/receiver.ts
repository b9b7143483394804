import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { printable, problemOfSignature } from '../delivery/sending/attempt';
import { UsageError } from './command-error';

export interface ReceiverOptions {
  readonly host: string;
  /** 0: any. */
  readonly port: number;
  /** `whsec_` and base64; absent: signatures are not verified. */
  readonly secret?: string;
  /** The status of its answers, and how long (ms) it waits with them. */
  readonly status: number;
  readonly delay: number;
}

/** No message is longer (`docs/decisions.md#n10`). */
const MOST_BYTES = 256 * 1024;

const SECRET = /^whsec_(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Receives messages until `signal` aborts, and prints each: for people who write receivers. Raises `UsageError`. */
export async function receive(
  options: ReceiverOptions,
  signal: AbortSignal,
  print: (line: string) => void,
  now: () => Date = () => new Date(),
): Promise<void> {
  const secret = options.secret === undefined ? undefined : secretOf(options.secret);
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => print(`a request was broken off: ${String(error)}`));
  });
  await once(server.listen(options.port, options.host), 'listening');
  const { address, family, port } = server.address() as AddressInfo;
  print(`listening on http://${family === 'IPv6' ? `[${address}]` : address}:${port}`);
  if (!signal.aborted) await once(signal, 'abort');
  server.closeAllConnections();
  server.close();
  await once(server, 'close');

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = now();
    const body = await bodyOf(request);
    if (body === undefined) {
      print(
        `${at.toISOString()} ${lineOf(request)}: the body is longer than ${MOST_BYTES / 1024} KiB, answered 413`,
      );
      response.writeHead(413, { connection: 'close' }).end();
      return;
    }
    const verdict = secret === undefined ? 'not verified, no --secret' : verdictOf(request, body, secret, at);
    print(`${at.toISOString()} ${lineOf(request)}: ${verdict}; answered ${options.status}`);
    for (const line of linesOf(body)) print(`  ${line}`);
    const answer = (): void => void response.writeHead(options.status).end();
    if (options.delay === 0) answer();
    else {
      const timer = setTimeout(answer, options.delay);
      response.once('close', () => clearTimeout(timer));
    }
  }
}

function secretOf(text: string): Buffer {
  if (!SECRET.test(text))
    throw new UsageError('the secret of the subscription: expected whsec_ and base64, as it is answered');
  return Buffer.from(text.slice('whsec_'.length), 'base64');
}

/** Undefined: it is too long. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    // The rest is read all the same: otherwise the answer would not arrive.
    if (length <= MOST_BYTES) chunks.push(chunk);
  }
  return length <= MOST_BYTES ? Buffer.concat(chunks) : undefined;
}

/** What was sent, in one line: `POST /hook msg_1 attempt 2 sequence 3`. */
function lineOf(request: IncomingMessage): string {
  const id = headerOf(request, 'webhook-id') ?? '(no webhook-id)';
  const numbers = ['attempt', 'sequence'].flatMap((name) => {
    const value = headerOf(request, `webhook-${name}`);
    return value === undefined ? [] : [`${name} ${value}`];
  });
  const marks = [
    ...(headerOf(request, 'webhook-redelivery') === undefined ? [] : ['redelivery']),
    ...(headerOf(request, 'webhook-test') === undefined ? [] : ['test']),
  ];
  return printable([request.method, request.url, id, ...numbers, ...marks].join(' '));
}

function verdictOf(request: IncomingMessage, body: Buffer, secret: Buffer, now: Date): string {
  const signed = { id: headerOf(request, 'webhook-id'), timestamp: headerOf(request, 'webhook-timestamp') };
  const problem = problemOf('webhook-signature', body);
  if (problem !== undefined) return `NOT VERIFIED, ${problem}`;
  // The body of a GET is empty: its target has a signature of its own.
  const target =
    request.method === 'GET' ? problemOf('webhook-signature-target', request.url ?? '') : undefined;
  return target === undefined ? 'verified' : `NOT VERIFIED, webhook-signature-target: ${target}`;

  function problemOf(name: string, content: string | Buffer): string | undefined {
    const signature = headerOf(request, name);
    return problemOfSignature(secret, { ...signed, signature }, content, now.getTime());
  }
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** The body as text, indented if it is JSON. */
function linesOf(body: Buffer): readonly string[] {
  const text = body.toString();
  if (text === '') return [];
  try {
    return printable(JSON.stringify(JSON.parse(text), undefined, 2)).split('\n');
  } catch {
    return printable(text).split('\n');
  }
}
