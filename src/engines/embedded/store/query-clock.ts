import { QueryTooLong } from '../../../kernel/query';

/**
 * Stops queries that take too long, or that nobody waits for any more. SQLite has no interrupt here, so queries call
 * a function every few rows (`stoppable`), which throws.
 */
export class QueryClock {
  private end = Infinity;
  private limit = Infinity;
  private failure: Error | undefined;

  /** `cancelled`: another thread stores 1 there to stop the query under way. */
  constructor(private readonly cancelled?: Int32Array) {}

  /** Runs a query, for `limit` ms at most. Raises `QueryTooLong`. */
  run<Result>(limit: number | undefined, query: () => Result): Result {
    this.limit = limit ?? Infinity;
    this.end = performance.now() + this.limit;
    try {
      return query();
    } catch (error) {
      // SQLite does not always propagate the error that was thrown, only its message.
      throw this.failure ?? error;
    } finally {
      this.end = Infinity;
      this.failure = undefined;
    }
  }

  /** Whether it has stopped the query under way. */
  get hasStopped(): boolean {
    return this.failure !== undefined;
  }

  /** Called from SQL as `in_time()`. */
  check(): number {
    if (performance.now() > this.end) this.failure = new QueryTooLong(this.limit);
    else if (this.cancelled !== undefined && Atomics.load(this.cancelled, 0) === 1)
      this.failure = new Error('the query was cancelled');
    if (this.failure !== undefined) throw this.failure;
    return 1;
  }
}
