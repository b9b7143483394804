import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { type Caller, TOKEN, tokenHash } from '../network/organisations';
import { openApiFaults } from '../wire/api/http-faults';
import { formatsOf, rolesOf } from './decorators';
import { RequestsInProgress } from './requests-in-progress';
import { HttpOptions } from './service';
import { representationOf } from './representation';
import { sentTokens } from './sent-tokens';

/** Requires a token of the service (`docs/decisions.md#a4`). Routes of no service need none if `openRoutes` lists them. */
@Injectable()
export class AuthenticationGuard implements CanActivate {
  constructor(
    private readonly options: HttpOptions,
    private readonly requests: RequestsInProgress,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const { service } = request;
    if (service === undefined) return this.options.openRoutes.includes(request.routeOptions.url ?? '');
    const [token, ...others] = sentTokens(request);
    if (token === undefined) throw openApiFaults.missingToken();
    if (others.length > 0) {
      logRefused(request, 'given more than once');
      throw service.faults.tokenTwice('token is given more than once');
    }
    const caller = TOKEN.test(token) ? this.options.callerOf(tokenHash(token)) : undefined;
    if (caller === undefined) {
      logRefused(request, 'unknown');
      throw openApiFaults.invalidToken();
    }
    if (caller.system !== service.system) {
      const problem = `for ${caller.system}: expected one for ${service.system}`;
      logRefused(request, problem, caller);
      throw openApiFaults.invalidToken(`the token is ${problem}`);
    }
    request.caller = caller;
    this.options.tokenUsed(caller.tokenHash);
    this.requests.begin(caller.tokenHash, http.getResponse<FastifyReply>().raw);
    return true;
  }
}

function logRefused({ log }: FastifyRequest, reason: string, caller?: Caller): void {
  log.info({ reason, organisationId: caller?.organisationId }, 'token refused');
}

/** Admits the kinds of callers that `@Roles` names (`docs/decisions.md#a4`). */
@Injectable()
export class RolesGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const { service, caller } = request;
    const roles = rolesOf(this.reflector, context.getHandler());
    if (service === undefined || caller === undefined || roles === undefined || roles.includes(caller.kind))
      return true;
    const article = caller.kind === 'publisher' ? 'a' : 'an';
    const problem = `one of ${article} ${caller.kind}: expected ${roles.join(' or ')}`;
    logRefused(request, problem, caller);
    throw service.faults.notAdmitted[caller.kind](`the token is ${problem}`);
  }
}

/** Chooses the format of the answer among those that `@Produces` names (`docs/decisions.md#a1`). */
@Injectable()
export class NegotiationGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const { service } = request;
    if (service === undefined) return true;
    request.view = representationOf(request, service, formatsOf(this.reflector, context.getHandler()));
    return true;
  }
}
