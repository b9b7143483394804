import { Controller, Get, Inject, Res } from '@nestjs/common';
import { type FastifyReply } from 'fastify';

/** What has to be well before requests are worth while: by name, why it is not yet; empty when all is. */
export type Readiness = () => Promise<Readonly<Record<string, string>>>;

export const READINESS = Symbol('Readiness');

/** For those who start, watch and stop processes; needs no token. */
@Controller('/health')
export class HealthController {
  constructor(@Inject(READINESS) private readonly readiness: Readiness) {}

  @Get('live')
  live(): object {
    return { status: 'ok' };
  }

  /** 503 until the log, the read models and the directory have caught up. */
  @Get('ready')
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<object> {
    const waiting = await this.readiness();
    if (Object.keys(waiting).length === 0) return { status: 'ok' };
    reply.code(503).header('Retry-After', 1);
    return { status: 'waiting', waiting };
  }
}
