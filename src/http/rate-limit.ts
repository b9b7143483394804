import { type Caller } from '../directory/organisations';
import { httpFaults } from '../wire/open-api';
import { type HttpOptions } from './service';

const MINUTE = 60_000;

/** Counts the requests of each token in the present minute (`docs/decisions.md#a6`). */
export class RateLimit {
  private minute = -1;
  private counts = new Map<string, number>();

  constructor(private readonly options: Pick<HttpOptions, 'rateLimits' | 'now'>) {}

  /**
   * Counts a request: the headers that tell of the limit, and the fault if it is exceeded. None without a
   * limit.
   */
  count({ system, tokenHash }: Caller): { headers: Readonly<Record<string, number>>; fault?: Error } {
    const limit = this.options.rateLimits[system];
    if (limit === undefined) return { headers: {} };
    const now = this.options.now().getTime();
    const minute = Math.floor(now / MINUTE);
    if (minute !== this.minute) this.counts = new Map();
    this.minute = minute;
    const count = (this.counts.get(tokenHash) ?? 0) + 1;
    this.counts.set(tokenHash, count);
    const retryAfter = Math.ceil(((minute + 1) * MINUTE - now) / 1000);
    const headers = {
      'X-RateLimit-Limit': limit,
      'X-RateLimit-Remaining': Math.max(0, limit - count),
      'X-RateLimit-Reset': retryAfter,
    };
    if (count <= limit) return { headers };
    const message = `more than ${limit} requests a minute; the next may come in ${retryAfter} s`;
    return { headers, fault: httpFaults.quotaExceeded(message, { retryAfter }) };
  }
}
