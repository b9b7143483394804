import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { type FastifyRequest } from 'fastify';
import { TOKEN, tokenHash } from '../directory/organisations';
import { openApiFaults } from '../wire/http-faults';
import { formatsOf, rolesOf } from './decorators';
import { HttpOptions } from './service';
import { representationOf } from './representation';

/** Requires a token of the service (`docs/decisions.md#a4`). Routes of no service need none if `openRoutes` lists them. */
@Injectable()
export class AuthenticationGuard implements CanActivate {
  constructor(private readonly options: HttpOptions) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const { service } = request;
    if (service === undefined) return this.options.openRoutes.includes(request.routeOptions.url ?? '');
    const [token, ...others] = request.target.query.filter(({ name }) => name === 'token');
    if (token === undefined) throw openApiFaults.missingToken();
    if (others.length > 0) throw service.faults.tokenTwice('token is given more than once');
    const text = token.value ?? '';
    const caller = TOKEN.test(text) ? this.options.callerOf(tokenHash(text)) : undefined;
    if (caller?.system !== service.system) throw openApiFaults.invalidToken();
    request.caller = caller;
    this.options.tokenUsed(caller.tokenHash);
    return true;
  }
}

/** Admits the kinds of callers that `@Roles` names (`docs/decisions.md#a4`). */
@Injectable()
export class RolesGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const { service, caller } = context.switchToHttp().getRequest<FastifyRequest>();
    const roles = rolesOf(this.reflector, context.getHandler());
    if (service === undefined || caller === undefined || roles === undefined || roles.includes(caller.kind))
      return true;
    throw service.faults.notAdmitted(`the token is one of a ${caller.kind}: expected ${roles.join(' or ')}`);
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
