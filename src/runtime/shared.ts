import { type Clock } from './clock';

/**
 * Caches results by key for `ms`. A result is computed on demand, once at a time: callers meanwhile share it. Failures are
 * not cached.
 */
export class Shared<Result> {
  private readonly cached = new Map<string, { until: number; readonly result: Promise<Result> }>();

  constructor(
    private readonly clock: Clock,
    private readonly ms: number,
  ) {}

  get(key: string, compute: () => Promise<Result>): Promise<Result> {
    const now = this.clock.monotonic();
    for (const [other, { until }] of this.cached) if (until <= now) this.cached.delete(other);
    const found = this.cached.get(key);
    if (found !== undefined) return found.result;
    const result = compute();
    const computed = { until: Infinity, result };
    this.cached.set(key, computed);
    result.then(
      () => (computed.until = now + this.ms),
      () => this.cached.delete(key),
    );
    return result;
  }
}
