import { Controller, Get, Inject, Res } from '@nestjs/common';
import { type FastifyReply } from 'fastify';

/** How the engines and what is made of them are. */
interface Health {
  /** What has to be well before requests are worth while: by name, why it is not yet; empty when all is. */
  readonly waiting: Readonly<Record<string, string>>;
  /** Documents that an event could not be folded into; absent where the read store does not answer. */
  readonly parked?: number;
  /** Seconds for which the read models have been behind the log; absent where one of the engines does not answer. */
  readonly behind?: number;
  /** Why the projector of this process does not get on; absent where it does, or where there is none. */
  readonly projector?: string;
}

export type Readiness = () => Promise<Health>;

export const READINESS = Symbol('Readiness');

/** What has gone wrong in this process since it started. */
export interface Failures {
  /** Requests that have met a bug (`docs/decisions.md#a12`). */
  readonly unexpectedFailures: number;
}

export const FAILURES = Symbol('Failures');

/** For those who start, watch and stop processes; needs no token. */
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
