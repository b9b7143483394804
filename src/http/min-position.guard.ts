import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { type FastifyRequest } from 'fastify';
import { httpFaults } from '../wire/api/http-faults';
import { type Service } from './service';
import { WaitForReadModels } from './wait-for-read-models';

const POSITION = /^\d{19}$/;
/** Longest wait for a position, in milliseconds (`docs/decisions.md#a7`). */
const MAX_WAIT = 2000;

/** Delays a request with `X-Min-Position` until queries see that position. */
@Injectable()
export class MinPositionGuard implements CanActivate {
  constructor(private readonly readModels: WaitForReadModels) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const { headers, service } = context.switchToHttp().getRequest<FastifyRequest>();
    const position = headers['x-min-position'];
    return position === undefined || service === undefined || this.waitFor(String(position), service);
  }

  private async waitFor(position: string, { keyFaults }: Service): Promise<boolean> {
    if (!POSITION.test(position))
      throw keyFaults.unusable(`X-Min-Position: ${position}: expected the value of an X-Log-Position`);
    if (await this.readModels.until(position, MAX_WAIT)) return true;
    throw httpFaults.notYet(`${position} cannot be read yet`, { retryAfter: 1 });
  }
}
