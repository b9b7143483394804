import { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type FastifyRequest } from 'fastify';
import { type BodyFormat, bodyFormat, type Format } from '../wire/api/format';
import { httpFaults, notResponding } from '../wire/api/errors';
import { GrowingBytes } from '../wire/bytes';
import { type BodyShare } from './body-budgets';
import { type BodyCost, type CostOf, parsedCost } from './body-cost';

/**
 * The body of a request, as `@Body()` passes it to handlers. Nothing is read or checked before a handler asks for it.
 */
export class PostedBody {
  constructor(
    private readonly request: Pick<FastifyRequest, 'raw' | 'contentType' | 'service'>,
    private readonly share: BodyShare,
    private readonly maxBody: number,
    /** Aborted when the server stops: bodies that are incomplete by then are given up. */
    private readonly stopping: AbortSignal,
    /** What it is read as: what its marks count as. */
    private readAs?: Format,
  ) {}

  /** The server stops: a handler that waits answers now. */
  get isStopping(): boolean {
    return this.stopping.aborted;
  }

  /** The format that its headers declare. Raises the service's faults (`docs/decisions.md#a10`). */
  format(): BodyFormat;
  format<Accepted extends Format>(accepted: readonly Accepted[]): Accepted;
  format(accepted: readonly Format[] = ['json', 'xml']): Format {
    const { raw, contentType, service } = this.request;
    if (service === undefined) throw new Error('only routes of a service take bodies');
    const encoding = raw.headers['content-encoding'] ?? 'identity';
    if (encoding.toLowerCase() !== 'identity') {
      throw service.bodyFaults.charset(`Content-Encoding: ${encoding}: expected an unencoded body`);
    }
    return (this.readAs = bodyFormat(contentType, service.bodyFaults, accepted));
  }

  /**
   * Its bytes as they arrive. Raises 413 when there are more than the setting allows, 503 when the token or all
   * together receive too much, 408 when they arrive too slowly, 400 when the client aborts, Open API 5 when the server
   * stops (`docs/decisions.md#x11`, `#a12`). Time that the reader spends between chunks does not count. `costOf`: what
   * the body takes until its request is answered; by default parsed as the format that was asked for before.
   */
  async *chunks(costOf: CostOf = parsedCost(this.readAs)): AsyncGenerator<Buffer, void> {
    const { maxBody, stopping, share } = this;
    const { raw } = this.request;
    const tooLarge = () => httpFaults.bodyTooLarge(`expected a body of at most ${maxBody} bytes`);
    const declared = Number(raw.headers['content-length'] ?? 0);
    if (declared > maxBody) throw tooLarge();
    share.grow(costOf(declared), maxBody);
    askForBody(raw);
    // Ending early must not destroy the connection: the answer is sent over it.
    const iterator = raw.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer, undefined, undefined>;
    const pace = new BodyPace();
    let received = 0;
    try {
      for (;;) {
        if (stopping.aborted) throw notResponding();
        const { value: chunk } = await inTime(iterator.next(), pace, stopping);
        if (chunk === undefined) return;
        pace.received(chunk.length);
        received += chunk.length;
        if (received > maxBody) throw tooLarge();
        share.grow(costOf(Math.max(declared, received), chunk), maxBody);
        yield chunk;
      }
    } finally {
      pace.end();
      // `watchConnections` discards the rest once nobody reads; there is none if the request has broken off.
      iterator
        .return?.()
        .then(() => raw.resume())
        .catch(() => undefined);
    }
  }

  /** Its reader takes at least this much, until the request is answered. Raises 503 and 413 as `chunks` does. */
  takes(cost: BodyCost): void {
    this.share.grow(cost, this.maxBody);
  }

  /** The same with another limit, if that is lower: raises 413 beyond `limit` bytes. */
  upTo(limit: number): PostedBody {
    const most = Math.min(limit, this.maxBody);
    return new PostedBody(this.request, this.share, most, this.stopping, this.readAs);
  }

  /** The whole body, for operations whose bodies are small: raises 413 beyond `limit` bytes. */
  async bytes(limit: number): Promise<Buffer> {
    const bytes = new GrowingBytes();
    for await (const chunk of this.upTo(limit).chunks()) bytes.add(chunk);
    return bytes.take();
  }
}

async function inTime<T>(next: Promise<T>, pace: BodyPace, stopping: AbortSignal): Promise<T> {
  let stop: () => void = () => undefined;
  const late = new Promise<never>((_, reject) => {
    pace.waiting(() => reject(tooSlow()));
    stop = () => reject(notResponding());
    stopping.addEventListener('abort', stop, { once: true });
  });
  const read = next.catch((cause: unknown) => {
    throw httpFaults.badRequest(
      `the body broke off: ${cause instanceof Error ? cause.message : String(cause)}`,
    );
  });
  try {
    return await Promise.race([read, late]);
  } finally {
    stopping.removeEventListener('abort', stop);
  }
}

/**
 * Seconds for which a client may keep us waiting, and bytes for which it has one of them back
 * (`docs/decisions.md#x11`).
 */
const PATIENCE = 30;
const PER_SECOND = 1024;
const SECOND_MS = 1_000;

/**
 * The pace at which a client sends a body. Counts the seconds in which the reader waits for it, one at a time: those in
 * which nobody reads, or in which this thread is busy, are not the client's.
 */
class BodyPace {
  private left = PATIENCE;
  private late: (() => void) | undefined;
  private readonly timer = setInterval(() => this.second(), SECOND_MS).unref();

  /** Calls `late` if the client keeps us waiting for too long, until `received` or `end` is called. */
  waiting(late: () => void): void {
    this.late = late;
  }

  received(bytes: number): void {
    this.late = undefined;
    this.left = Math.min(PATIENCE, this.left + bytes / PER_SECOND);
  }

  end(): void {
    this.late = undefined;
    clearInterval(this.timer);
  }

  private second(): void {
    if (this.late === undefined) return;
    this.left -= 1;
    if (this.left <= 0) this.late();
  }
}

const tooSlow = (): Error =>
  httpFaults.timeout(
    `the body arrives too slowly: expected ${PER_SECOND} bytes a second, and no pause of ${PATIENCE} s`,
  );

/** Requests whose client waits for `100 Continue` before it sends the body. */
const awaiting = new WeakMap<IncomingMessage, ServerResponse>();

/** Keeps Node.js from answering `Expect` before a request is checked (`docs/decisions.md#x73`). */
export function takeExpectations(server: Server): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    awaiting.set(request, response);
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    server.emit('request', request, response),
  );
}

/** Sends `100 Continue` if the client waits for it: the body is about to be read. */
function askForBody(request: IncomingMessage): void {
  awaiting.get(request)?.writeContinue();
  awaiting.delete(request);
}
