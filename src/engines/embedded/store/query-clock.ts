import { type QueryOptions, QueryTooLong } from '../../../kernel/query';

/** Stops queries that time out or are cancelled: they call `check` every few ms, which throws. */
export class QueryClock {
  private end = Infinity;
  private limit = Infinity;

  /** `cancelled`: another thread sets it to 1 to stop the current query. */
  constructor(private readonly cancelled?: Int32Array) {}

  /** Runs a query within its time limit. Raises `QueryTooLong`. */
  run<Result>(
    { timeLimit = Infinity, spent }: Pick<QueryOptions, 'timeLimit' | 'spent'>,
    query: () => Result,
  ): Result {
    const [before = 0] = spent ?? [];
    const start = performance.now();
    this.limit = timeLimit;
    this.end = start + timeLimit - before;
    try {
      this.check();
      return query();
    } finally {
      this.end = Infinity;
      if (spent !== undefined) spent[0] = before + performance.now() - start;
    }
  }

  check(): void {
    if (performance.now() > this.end) throw new QueryTooLong(this.limit);
    if (this.cancelled !== undefined && Atomics.load(this.cancelled, 0) === 1)
      throw new Error('the query was cancelled');
  }
}
