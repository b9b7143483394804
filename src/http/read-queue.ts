import { Injectable } from '@nestjs/common';
import { type FastifyReply } from 'fastify';
import { type Fault, NamedError } from '../kernel/fault';
import { nothingSpent, oneAnswer, type QueryOptions } from '../kernel/query';
import { NoGeneration } from '../kernel/read-store';
import { FairQueue, QueueFull } from '../runtime/fair-queue';
import { httpFaults } from '../wire/api/errors';
import { admissionOf } from './request-state';
import { whenOver } from './send-stream';
import { HttpParts } from './service';

export class ClientGone extends NamedError {}

/**
 * Lists that are read, written or sent concurrently, and requests that wait (`docs/decisions.md#x70`). The limits
 * bound memory: an answer takes some megabytes, a waiting request some kilobytes. Slow clients
 * leave the reserved places to others.
 */
const LIMITS = { atOnce: 48, perClient: 8, reserved: 16, waiting: 2_000, waitingPerClient: 1_000 } as const;

/** Longest wait of a request (ms). */
const MAX_WAIT = 30_000;

/** Value of `Retry-After`, in seconds. */
const RETRY_AFTER = 1;

const overloaded = (): Fault => httpFaults.overloaded(undefined, { retryAfter: RETRY_AFTER });

/** The queue of all requests that read lists, fair between tokens. */
@Injectable()
export class ReadQueue {
  private readonly queue = new FairQueue(LIMITS);

  constructor(private readonly parts: HttpParts) {}

  /** Produces an answer once admitted, and frees the place once it is sent. Raises `ClientGone`, 503 if overloaded. */
  async run<Result>(reply: FastifyReply, work: (query: QueryOptions) => Promise<Result>): Promise<Result> {
    const { caller } = admissionOf(reply.request);
    // A connection that is closed already emits no further event.
    if (reply.request.raw.socket.destroyed || reply.raw.destroyed) throw new ClientGone();
    const gone = new AbortController();
    const { signal } = gone;
    const sent = new Promise<void>((resolve) => {
      whenOver(reply.raw, () => {
        if (!reply.raw.writableFinished) gone.abort(new ClientGone());
        resolve();
      });
    });
    const query = {
      client: caller.tokenHash,
      timeLimit: this.parts.searchTime,
      spent: nothingSpent(),
      signal,
    };
    return await new Promise<Result>((resolve, reject) => {
      const patience = this.queue.hasSlot(caller.tokenHash) ? undefined : patienceOf(signal);
      const turn = async (): Promise<void> => {
        patience?.end();
        resolve(await inOneGeneration(query, work));
        await sent;
      };
      const started = { signal: patience?.signal ?? signal };
      this.queue.run(caller.tokenHash, turn, started).catch((error: unknown) => {
        patience?.end();
        reject(error instanceof QueueFull ? overloaded() : (error as Error));
      });
    });
  }
}

/** Of a request that waits: its signal aborts when the client disconnects, and when it has waited for too long. */
function patienceOf(client: AbortSignal): { readonly signal: AbortSignal; readonly end: () => void } {
  const waiting = new AbortController();
  const late = setTimeout(() => waiting.abort(overloaded()), MAX_WAIT);
  client.addEventListener('abort', () => waiting.abort(client.reason), { once: true });
  return { signal: waiting.signal, end: () => clearTimeout(late) };
}

/** An answer begins again if a generation that it had read was dropped before anything was sent. */
async function inOneGeneration<Result>(
  query: QueryOptions,
  work: (query: QueryOptions) => Promise<Result>,
): Promise<Result> {
  const first = oneAnswer(query);
  try {
    return await work(first);
  } catch (error) {
    if (!(error instanceof NoGeneration) || first.generations?.has(error.collection) !== true) throw error;
    return await work(oneAnswer(query));
  }
}
