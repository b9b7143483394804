import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { httpFaults } from '../wire/api/http-faults';
import { Clock } from './clock';
import { HttpOptions } from './service';

const MINUTE = 60_000;

/** Limits the requests of each token in the current minute (`docs/decisions.md#a6`), and reports the limit in headers. */
@Injectable()
export class RateLimitGuard implements CanActivate {
  private minute = -1;
  private counts = new Map<string, number>();

  constructor(
    private readonly options: HttpOptions,
    private readonly clock: Clock,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const { caller } = context.switchToHttp().getRequest<FastifyRequest>();
    const limit = caller && this.options.rateLimits[caller.system];
    if (caller === undefined || limit === undefined) return true;
    const now = this.clock.now().getTime();
    const minute = Math.floor(now / MINUTE);
    if (minute !== this.minute) this.counts = new Map();
    this.minute = minute;
    const count = (this.counts.get(caller.tokenHash) ?? 0) + 1;
    this.counts.set(caller.tokenHash, count);
    const retryAfter = Math.ceil(((minute + 1) * MINUTE - now) / 1000);
    context
      .switchToHttp()
      .getResponse<FastifyReply>()
      .headers({
        'X-RateLimit-Limit': limit,
        'X-RateLimit-Remaining': Math.max(0, limit - count),
        'X-RateLimit-Reset': retryAfter,
      });
    if (count <= limit) return true;
    const message = `more than ${limit} requests a minute: try again in ${retryAfter} s`;
    throw httpFaults.quotaExceeded(message, { retryAfter });
  }
}
