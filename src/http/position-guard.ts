import { type CanActivate, type ExecutionContext } from '@nestjs/common';
import { type FastifyRequest } from 'fastify';
import { httpFaults } from '../wire/open-api';
import { type Admission, admitted } from './decorators';
import { type HttpOptions } from './service';

const POSITION = /^\d{19}$/;
/** Longest wait for a position, in milliseconds (`docs/decisions.md#a7`). */
const MAX_WAIT = 2000;

/** Lets a request through once what it reads shows the position that it names, if it names one. */
export class PositionGuard implements CanActivate {
  constructor(private readonly options: HttpOptions) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const sent = request.headers['x-min-position'];
    if (sent === undefined) return true;
    const admission = admitted(request);
    return admission === undefined || this.waitFor(String(sent), admission);
  }

  private async waitFor(position: string, { service }: Admission): Promise<boolean> {
    if (!POSITION.test(position)) {
      throw service.keyFaults.unusable(
        `X-Min-Position: ${position}: expected the value of an X-Log-Position`,
      );
    }
    if (await this.options.waitFor(position, MAX_WAIT)) return true;
    throw httpFaults.notYet(`${position} cannot be read yet`, { retryAfter: 1 });
  }
}
