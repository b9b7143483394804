import { type Clock } from './clock';

/**
 * Caches results by key for `ms`. A result is computed on demand, once at a time: callers meanwhile share it. Failures are
 * not cached.
 */
export class Shared<Result> {
  private readonly known = new Map<string, { until: number; readonly result: Promise<Result> }>();

  constructor(
    private readonly clock: Clock,
    private readonly ms: number,
  ) {}

  get(key: string, compute: () => Promise<Result>): Promise<Result> {
    const now = this.clock.monotonic();
    for (const [other, { until }] of this.known) if (until <= now) this.known.delete(other);
    const found = this.known.get(key);
    if (found !== undefined) return found.result;
    const result = compute();
    const computed = { until: Infinity, result };
    this.known.set(key, computed);
    result.then(
      () => (computed.until = now + this.ms),
      () => this.known.delete(key),
    );
    return result;
  }
}
