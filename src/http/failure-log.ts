import { type FastifyBaseLogger } from 'fastify';
import { EngineUnavailable } from '../kernel/event-log';
import { NoGeneration } from '../kernel/read-store';
import { RepeatedFailures } from '../kernel/repeated-failures';
import { reasonsOf } from '../kernel/unavailable';

/** An engine is unavailable, or a read model is not built yet. */
export function isUnavailable(error: unknown): error is EngineUnavailable | NoGeneration {
  return error instanceof EngineUnavailable || error instanceof NoGeneration;
}

/** Logs the unavailable engines that requests find (`docs/decisions.md#x87`). */
export class UnavailableLog {
  private readonly repeated = new RepeatedFailures();

  /** Logs the reason, unless it was logged a short while ago; the stack at level `debug`. */
  add(log: FastifyBaseLogger, error: EngineUnavailable | NoGeneration): void {
    log.debug({ err: error }, 'an engine is unavailable');
    const reason = reasonsOf(error);
    const repeated = this.repeated.count(reason);
    if (repeated === undefined) return;
    log.warn({ reason, ...(repeated === 0 ? {} : { repeated }) }, 'an engine is unavailable');
  }
}
