import { Controller, Get, Inject, Res } from '@nestjs/common';
import { type FastifyReply } from 'fastify';

/** State of the engines and the read models. */
interface Health {
  /** Components that are not ready, with the reason; empty when the server is ready. */
  readonly waiting: Readonly<Record<string, string>>;
  /** Number of parked documents; absent while the read store is unavailable. */
  readonly parked?: number;
  /** Seconds for which the read models have been behind the log; absent while an engine is unavailable. */
  readonly behind?: number;
  /** Why the projector of this process makes no progress; absent while it does, or if this process has none. */
  readonly projector?: string;
}

export type Readiness = () => Promise<Health>;

export const READINESS = Symbol('Readiness');

/** Failures in this process since it started. */
export interface Failures {
  /** Requests that failed because of a bug (`docs/decisions.md#a12`). */
  readonly unexpectedFailures: number;
}

export const FAILURES = Symbol('Failures');

/** Health checks for operators and orchestrators; no token needed. */
@Controller('/health')
export class HealthController {
  constructor(
    @Inject(READINESS) private readonly readiness: Readiness,
    @Inject(FAILURES) private readonly failures: Failures,
  ) {}

  @Get('live')
  live(): object {
    return { status: 'ok' };
  }

  /** 503 until the log, the read models and the directory have caught up. */
  @Get('ready')
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<object> {
    const { waiting, ...facts } = await this.readiness();
    if (Object.keys(waiting).length === 0) return { status: 'ok', ...facts, ...this.failures };
    reply.code(503).header('Retry-After', 1);
    return { status: 'waiting', waiting, ...facts, ...this.failures };
  }
}
