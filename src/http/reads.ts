import { finished } from 'node:stream';
import { type FastifyReply } from 'fastify';
import { FairQueue, QueueFull } from '../kernel/fair-queue';
import { type Fault } from '../kernel/fault';
import { type QueryOptions } from '../kernel/query';
import { httpFaults } from '../wire/open-api';
import { admissionOf } from './decorators';

/** The client of a request has closed its connection: nobody waits for the answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/**
 * Lists that are read, written or sent at once, and requests that wait for their turn (`docs/decisions.md#x70`). They
 * bound memory: an answer under way has some megabytes, a request that waits some kilobytes. Clients that take their
 * answers slowly leave the reserved turns to others.
 */
const LIMITS = {
  atOnce: 48,
  perClient: 8,
  reserved: 16,
  waiting: 2_000,
  waitingPerClient: 1_000,
} as const;

/** Milliseconds that a request waits at most. */
const MAX_WAIT = 30_000;

/** Seconds after which a request may find the queue shorter. */
const RETRY_AFTER = 1;

const overloaded = (): Fault => httpFaults.overloaded(undefined, { retryAfter: RETRY_AFTER });

/** The turns of all requests of a server that read lists. */
export function readQueue(): FairQueue {
  return new FairQueue(LIMITS);
}

/**
 * Does the work of an answer when it is the client's turn, which lasts until the answer has been sent. Raises
 * `ClientGone`, and 503 when too many requests wait, or this one for too long.
 */
export async function inTurn<Result>(
  reply: FastifyReply,
  work: (query: QueryOptions) => Promise<Result>,
): Promise<Result> {
  const { reads, caller, options } = admissionOf(reply.request);
  // Closed before we listen for it: there is no event any more.
  if (reply.request.raw.socket.destroyed || reply.raw.destroyed) throw new ClientGone();
  const gone = new AbortController();
  const { signal } = gone;
  const sent = new Promise<void>((resolve) => {
    finished(reply.raw, (error) => {
      if (error !== undefined && error !== null) gone.abort(new ClientGone());
      resolve();
    });
  });
  const query = { client: caller.tokenHash, timeLimit: options.searchTime, signal };
  return await new Promise<Result>((resolve, reject) => {
    const waiting = new AbortController();
    const late = setTimeout(() => waiting.abort(overloaded()), MAX_WAIT);
    signal.addEventListener('abort', () => waiting.abort(signal.reason), { once: true });
    const turn = async (): Promise<void> => {
      clearTimeout(late);
      resolve(await work(query));
      await sent;
    };
    reads.run(caller.tokenHash, turn, waiting.signal).catch((error: unknown) => {
      clearTimeout(late);
      reject(error instanceof QueueFull ? overloaded() : (error as Error));
    });
  });
}
