import { type FastifyBaseLogger } from 'fastify';
import { EngineUnavailable, STREAM_DELETED } from '../kernel/event-log';
import { Fault } from '../kernel/fault';
import { NoGeneration } from '../kernel/read-store';
import { RepeatedFailures } from '../runtime/repeated-failures';
import { reasonsOf } from '../runtime/unavailable';

/** An engine is unavailable, or a read model is not built yet. */
export function isUnavailable(error: unknown): error is EngineUnavailable | NoGeneration {
  return error instanceof EngineUnavailable || error instanceof NoGeneration;
}

/** Whether a request met a stream that somebody has deleted (`StreamDeleted`, which may come from another thread). */
export function isStreamDeleted(error: unknown): error is Fault {
  return error instanceof Fault && error.status === STREAM_DELETED;
}

/** Logs failures that are no bugs, and that requests meet again and again (`docs/decisions.md#x87`). */
export class ExpectedFailureLog {
  private readonly repeated = new RepeatedFailures();

  /** Logs the reason, unless it was logged a short while ago; the stack at level `debug`. */
  add(log: FastifyBaseLogger, what: string, error: Error): void {
    log.debug({ err: error }, what);
    const reason = reasonsOf(error);
    const repeated = this.repeated.count(reason);
    if (repeated === undefined) return;
    log.warn({ reason, ...(repeated === 0 ? {} : { repeated }) }, what);
  }
}
