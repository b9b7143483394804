import { type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { type Caller } from '../directory/organisations';
import { TOKEN, tokenHash } from '../directory/organisations';
import { type Format } from '../wire/format';
import { openApiFaults } from '../wire/open-api';
import { admit, FORMATS, KINDS } from './decorators';
import { RateLimit } from './rate-limit';
import { readQueue } from './reads';
import { factsOf } from './request-facts';
import { type HttpOptions, type Service, serviceOf } from './service';
import { viewOf } from './view';

/**
 * Lets a request through to a service's operation if its token does (`docs/decisions.md#a4`), and if its answer can
 * be given as it is wanted. Other paths need no token.
 */
export class AdmissionGuard implements CanActivate {
  private readonly reflector = new Reflector();
  private readonly rateLimit: RateLimit;
  private readonly reads = readQueue();

  constructor(
    private readonly options: HttpOptions,
    private readonly stopping: AbortSignal,
  ) {
    this.rateLimit = new RateLimit(options);
  }

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    // By the route that was found, so that no spelling of a path gets around it.
    const { url: route = '' } = request.routeOptions;
    const service = serviceOf(this.options.services, route);
    if (service === undefined) return this.options.openRoutes.includes(route);
    const caller = this.callerOf(request, service);
    this.limit(caller, context.switchToHttp().getResponse<FastifyReply>());
    const kinds = this.reflector.get<readonly Caller['kind'][] | undefined>(KINDS, context.getHandler());
    if (kinds !== undefined && !kinds.includes(caller.kind)) {
      throw service.faults.notAdmitted(
        `the token is one of a ${caller.kind}, needed is ${kinds.join(' or ')}`,
      );
    }
    const offered = this.reflector.get<readonly Format[] | undefined>(FORMATS, context.getHandler());
    const view = viewOf(request, service, offered ?? ['json', 'xml']);
    const { options, stopping, reads } = this;
    admit(request, { caller, service, view, options, stopping, reads });
    return true;
  }

  private callerOf(request: FastifyRequest, { system, faults }: Service): Caller {
    const [token, ...others] = factsOf(request.raw).target.query.filter(({ name }) => name === 'token');
    if (token === undefined) throw openApiFaults.missingToken();
    if (others.length > 0) throw faults.tokenTwice('token is given more than once');
    const text = token.value ?? '';
    const caller = TOKEN.test(text) ? this.options.callerOf(tokenHash(text)) : undefined;
    if (caller?.system !== system) throw openApiFaults.invalidToken();
    return caller;
  }

  private limit(caller: Caller, reply: FastifyReply): void {
    const { headers, fault } = this.rateLimit.count(caller);
    reply.headers(headers);
    if (fault !== undefined) throw fault;
  }
}
