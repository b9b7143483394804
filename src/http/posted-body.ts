import { type IncomingMessage } from 'node:http';
import { type BodyFormat, bodyFormat, type Format } from '../wire/format';
import { httpFaults, notResponding } from '../wire/open-api';
import { factsOf } from './request-facts';
import { askForBody } from './request-headers';
import { type Service } from './service';

/** Longest wait for the next bytes, in milliseconds. */
const MAX_WAIT = 30_000;
/** After this many milliseconds of waiting in all, bytes must have come at `MIN_RATE` on average. */
const GRACE = 60_000;
/** Bytes a millisecond. */
const MIN_RATE = 1;

/** A posted body: nothing of it is read or judged before it is asked for. */
export class PostedBody {
  constructor(
    private readonly raw: IncomingMessage,
    private readonly service: Service,
    private readonly maxBody: number,
    /** The server stops: what has not come by then is not waited for. */
    private readonly stopping: AbortSignal,
  ) {}

  /** What its headers declare; raises the service's faults (`docs/decisions.md#a10`). */
  format(): BodyFormat;
  format<Accepted extends Format>(accepted: readonly Accepted[]): Accepted;
  format(accepted: readonly Format[] = ['json', 'xml']): Format {
    const { bodyFaults } = this.service;
    const encoding = this.raw.headers['content-encoding'] ?? 'identity';
    if (encoding.toLowerCase() !== 'identity') {
      throw bodyFaults.type(`Content-Encoding: ${encoding}: expected an unencoded body`);
    }
    return bodyFormat(factsOf(this.raw).contentType, bodyFaults, accepted);
  }

  /**
   * Its bytes as they come in. Raises 413 when there are more than the setting allows, 408 when they come too
   * slowly, 400 when the client breaks off, Open API 5 when the server stops (`docs/decisions.md#a12`). Time that
   * the reader takes does not count.
   */
  async *chunks(): AsyncGenerator<Buffer, void> {
    const { raw, maxBody, stopping } = this;
    const tooLarge = () => httpFaults.bodyTooLarge(`the body may have ${maxBody} bytes at most`);
    if (Number(raw.headers['content-length'] ?? 0) > maxBody) throw tooLarge();
    askForBody(raw);
    // Leaving off early must not destroy the connection that the answer is to be sent over.
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
      // Whoever has the connection lets what is left pass by, as soon as nobody reads.
      void iterator.return?.().then(() => raw.resume());
    }
  }

  /** All of it, for services whose bodies are small: raises 413 beyond `limit` bytes. */
  async bytes(limit: number): Promise<Buffer> {
    const small = new PostedBody(this.raw, this.service, Math.min(limit, this.maxBody), this.stopping);
    const chunks: Buffer[] = [];
    for await (const chunk of small.chunks()) chunks.push(chunk);
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
