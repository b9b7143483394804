import { QueryTooLong } from '../../../kernel/query';

/** Stops queries that time out or are cancelled: they call `check` every few ms, which throws. */
export class QueryClock {
  private end = Infinity;
  private limit = Infinity;

  /** `cancelled`: another thread sets it to 1 to stop the current query. */
  constructor(private readonly cancelled?: Int32Array) {}

  /** Runs a query for at most `limit` ms. Raises `QueryTooLong`. */
  run<Result>(limit: number | undefined, query: () => Result): Result {
    this.limit = limit ?? Infinity;
    this.end = performance.now() + this.limit;
    try {
      return query();
    } finally {
      this.end = Infinity;
    }
  }

  check(): void {
    if (performance.now() > this.end) throw new QueryTooLong(this.limit);
    if (this.cancelled !== undefined && Atomics.load(this.cancelled, 0) === 1)
      throw new Error('the query was cancelled');
  }
}
