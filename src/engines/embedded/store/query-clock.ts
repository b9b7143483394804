import { QueryTooLong } from '../../../kernel/query';
import { isExiting } from '../driver-calls';

/**
 * Stops queries that time out or are cancelled. The driver offers no interrupt, so queries call a function every few
 * rows (`stoppable`), which throws.
 */
export class QueryClock {
  private end = Infinity;
  private limit = Infinity;
  private failure: Error | undefined;

  /** `cancelled`: another thread sets it to 1 to stop the current query. */
  constructor(private readonly cancelled?: Int32Array) {}

  /** Runs a query for at most `limit` ms. Raises `QueryTooLong`. */
  run<Result>(limit: number | undefined, query: () => Result): Result {
    this.limit = limit ?? Infinity;
    this.end = performance.now() + this.limit;
    try {
      return query();
    } catch (error) {
      // SQLite may propagate just the message of the error that was thrown.
      throw this.failure ?? error;
    } finally {
      this.end = Infinity;
      this.failure = undefined;
    }
  }

  /** Whether the current query was stopped. */
  get hasStopped(): boolean {
    return this.failure !== undefined;
  }

  /** Called from SQL as `in_time()`. */
  check(): number {
    if (performance.now() > this.end) this.failure = new QueryTooLong(this.limit);
    else if (this.cancelled !== undefined && Atomics.load(this.cancelled, 0) === 1)
      this.failure = new Error('the query was cancelled');
    else if (isExiting()) this.failure = new Error('the process exits');
    if (this.failure !== undefined) throw this.failure;
    return 1;
  }
}
