import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { describeUnknown, unknownKeys } from '../wire/keys/keys';
import { keyTableOf } from './decorators';
import { nameList } from '../wire/keys/name-list';

const READS = ['GET', 'HEAD'];

/**
 * Refuses keys that an operation does not have: all of them where the request changes something, otherwise those that
 * look like a misspelling. Names the others in `X-Ignored-Keys` (`docs/decisions.md#a14`).
 */
@Injectable()
export class UnknownKeysGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const { service, target, method } = http.getRequest<FastifyRequest>();
    if (service === undefined) return true;
    const table = keyTableOf(context);
    const unknown = unknownKeys(table, target);
    if (unknown.length === 0) return true;
    const [refused] = READS.includes(method) ? unknown.filter(({ meant }) => meant !== undefined) : unknown;
    if (refused !== undefined) throw service.keyFaults.unusable(describeUnknown(refused, table));
    http.getResponse<FastifyReply>().header('X-Ignored-Keys', nameList(unknown.map(({ name }) => name)));
    return true;
  }
}
