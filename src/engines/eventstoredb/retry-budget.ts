import { Backoff } from '../../runtime/backoff';
import { type OnRetry } from '../../runtime/unavailable';
import { isTransient, unavailable } from './failure';

/** Delays (ms) between retries. */
const BACKOFF_MS = { first: 50, longest: 2_000 } as const;

/** Limits how long a failing server is retried. */
export class RetryBudget {
  #since: number | undefined;
  readonly #backoff = new Backoff(BACKOFF_MS);

  /** `retryMs`: maximum time from the first of a series of failures to the last. */
  constructor(private readonly retryMs: number) {}

  /** The time left (ms) for a call that began at `since` (`performance.now`). */
  leftSince(since: number): number {
    return (this.#since ?? since) + this.retryMs - performance.now();
  }

  /** Call when the server has answered: the next failure starts a new series. */
  reset(): void {
    this.#since = undefined;
    this.#backoff.reset();
  }

  /**
   * Waits before the next attempt. Raises `EngineUnavailable` if the error is permanent or the budget is exhausted; raises bugs
   * of our own code as they are. `since`: when the failed call began (`performance.now`).
   */
  async afterFailure(error: unknown, since: number, signal?: AbortSignal, onRetry?: OnRetry): Promise<void> {
    this.#since ??= since;
    const left = this.leftSince(since);
    if (!isTransient(error) || left <= 0) throw unavailable(error);
    onRetry?.(unavailable(error).message);
    await this.#backoff.wait(signal, left);
  }
}
