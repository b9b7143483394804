import { type FastifyRequest } from 'fastify';
import { type BodyFormat, bodyFormat, type Format } from '../wire/format';
import { httpFaults, notResponding } from '../wire/http-faults';
import { askForBody } from './request-headers';

/** Longest wait for the next bytes, in milliseconds. */
const MAX_WAIT = 30_000;
/** After this many milliseconds of waiting in all, bytes must have come at `MIN_RATE` on average. */
const GRACE = 60_000;
/** Bytes a millisecond. */
const MIN_RATE = 1;

/** The body of a request, as `@Body()` passes it to handlers. Nothing is read or checked before a handler asks for it. */
export class PostedBody {
  constructor(
    private readonly request: Pick<FastifyRequest, 'raw' | 'contentType' | 'service'>,
    private readonly maxBody: number,
    /** Aborted when the server stops: bodies that are incomplete by then are given up. */
    private readonly stopping: AbortSignal,
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
    return bodyFormat(contentType, service.bodyFaults, accepted);
  }

  /**
   * Its bytes as they arrive. Raises 413 when there are more than the setting allows, 408 when they arrive too
   * slowly, 400 when the client aborts, Open API 5 when the server stops (`docs/decisions.md#a12`). Time that
   * the reader spends between chunks does not count.
   */
  async *chunks(): AsyncGenerator<Buffer, void> {
    const { maxBody, stopping } = this;
    const { raw } = this.request;
    const tooLarge = () => httpFaults.bodyTooLarge(`expected a body of at most ${maxBody} bytes`);
    if (Number(raw.headers['content-length'] ?? 0) > maxBody) throw tooLarge();
    askForBody(raw);
    // Ending early must not destroy the connection: the answer is sent over it.
    const iterator = raw.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer, undefined, undefined>;
    let received = 0;
    let waited = 0;
    try {
      for (;;) {
        if (stopping.aborted) throw notResponding();
        const asked = performance.now();
        const { value: chunk } = await inTime(iterator.next(), stopping);
        if (chunk === undefined) return;
        waited += performance.now() - asked;
        received += chunk.length;
        if (received > maxBody) throw tooLarge();
        if (waited > GRACE && received < waited * MIN_RATE) throw httpFaults.timeout();
        yield chunk;
      }
    } finally {
      // `watchConnections` discards the rest once nobody reads.
      void iterator.return?.().then(() => raw.resume());
    }
  }

  /** The same with another limit, if that is lower: raises 413 beyond `limit` bytes. */
  upTo(limit: number): PostedBody {
    return new PostedBody(this.request, Math.min(limit, this.maxBody), this.stopping);
  }

  /** The whole body, for operations whose bodies are small: raises 413 beyond `limit` bytes. */
  async bytes(limit: number): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.upTo(limit).chunks()) chunks.push(chunk);
    return Buffer.concat(chunks);
  }
}

async function inTime<T>(next: Promise<T>, stopping: AbortSignal): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let stop: () => void = () => undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(httpFaults.timeout()), MAX_WAIT);
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
    clearTimeout(timer);
    stopping.removeEventListener('abort', stop);
  }
}
