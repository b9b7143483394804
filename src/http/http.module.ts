import {
  type CanActivate,
  type DynamicModule,
  type ExecutionContext,
  Injectable,
  Module,
  type Type,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, Reflector } from '@nestjs/core';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { type Caller, TOKEN, tokenHash } from '../network/organisations';
import { Clock } from '../runtime/clock';
import { httpFaults, openApiFaults } from '../wire/api/errors';
import { describeUnknown, unknownKeys } from '../wire/keys/keys';
import { nameList } from '../wire/keys/name-list';
import { AnswerWriter } from './answer-writer';
import { formatsOf, keyTableOf, rolesOf } from './decorators';
import { FailureCounts, FailureFilter } from './failure-filter';
import { ReadQueue } from './read-queue';
import { representationOf } from './representation';
import { sentTokens } from './request-state';
import { RequestsInProgress } from './requests-in-progress';
import { HttpOptions, type Service } from './service';
import { WaitForReadModels } from './visible-writes';

/**
 * Requires a token of the service (`docs/decisions.md#a4`). Routes of no service need none if `openRoutes` lists them.
 */
@Injectable()
class AuthenticationGuard implements CanActivate {
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
class RolesGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const { service, caller } = request;
    const roles = rolesOf(this.reflector, context.getHandler(), context.getClass());
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
class NegotiationGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const { service } = request;
    if (service === undefined) return true;
    const formats = formatsOf(this.reflector, context.getHandler(), context.getClass());
    request.view = representationOf(request, service, formats);
    return true;
  }
}

const MINUTE = 60_000;

/**
 * Limits the requests of each token in the current minute (`docs/decisions.md#a6`), and reports the limit in headers.
 */
@Injectable()
class RateLimitGuard implements CanActivate {
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

const READS = ['GET', 'HEAD'];

/**
 * Refuses keys that an operation does not have: all of them where the request changes something, otherwise those that
 * look like a misspelling. Names the others in `X-Ignored-Keys` (`docs/decisions.md#a14`).
 */
@Injectable()
class UnknownKeysGuard implements CanActivate {
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

const POSITION = /^\d{19}$/;
/** Longest wait for a position, in milliseconds (`docs/decisions.md#a7`). */
const MAX_WAIT = 2000;

/** Delays a request with `X-Min-Position` until queries see that position. */
@Injectable()
class MinPositionGuard implements CanActivate {
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

/** In the order of their checks (`docs/decisions.md#a8`). ADR 17 says why the last two are not interceptors. */
const GUARDS: readonly Type[] = [
  AuthenticationGuard,
  RateLimitGuard,
  RolesGuard,
  UnknownKeysGuard,
  NegotiationGuard,
  MinPositionGuard,
];

/** What all services share: guards, answers, failures. */
@Module({})
export class HttpModule {
  static with(options: HttpOptions, readModels: WaitForReadModels, clock: Clock): DynamicModule {
    return {
      module: HttpModule,
      global: true,
      providers: [
        { provide: HttpOptions, useValue: options },
        { provide: WaitForReadModels, useValue: readModels },
        { provide: Clock, useValue: clock },
        AnswerWriter,
        ReadQueue,
        RequestsInProgress,
        FailureCounts,
        ...GUARDS.map((useClass) => ({ provide: APP_GUARD, useClass })),
        { provide: APP_FILTER, useClass: FailureFilter },
      ],
      exports: [HttpOptions, WaitForReadModels, Clock, FailureCounts],
    };
  }
}
