import { type ServerResponse } from 'node:http';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ModulesContainer, Reflector } from '@nestjs/core';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { parsePosition } from '../kernel/event';
import { type Caller, TOKEN, tokenHash } from '../network/organisations';
import { Clock } from '../runtime/clock';
import { FairBudget } from '../runtime/fair-queue';
import { httpFaults, openApiFaults } from '../wire/api/errors';
import { type OperationText } from '../wire/api/description';
import { type Format } from '../wire/api/format';
import { describeUnknown, type KeyTable, spellingsOf, unknownKeys } from '../wire/keys/keys';
import { nameList } from '../wire/keys/name-list';
import { ApiOperation, formatsOf, keyTableOf, rolesOf } from './decorators';
import { operationsOf } from './describe';
import { RepeatableRequest, takesKey } from './idempotency';
import { representationOf } from './representation';
import { sentTokens } from './request-state';
import { whenOver } from './send-stream';
import { HttpParts, type Service, serviceOf } from './service';
import { WaitForReadModels } from './visible-writes';
import { beginCommand } from './request-log';

const READS = ['GET', 'HEAD'];
const MINUTE = 60_000;
/** Longest wait for a position, in milliseconds (`docs/decisions.md#a7`). */
const MAX_WAIT = 2000;

/** What an operation's decorators say. */
interface OperationRules {
  readonly roles: readonly Caller['kind'][] | undefined;
  readonly keys: KeyTable;
  readonly formats: readonly Format[];
  readonly text: OperationText;
}

/** Whether a request is handled: its checks, in this order (`docs/decisions.md#a8`). ADR 17: why it negotiates. */
@Injectable()
export class AdmissionGuard implements CanActivate {
  /** Those of requests being answered, by token: shared as memory for bodies is (`docs/decisions.md#x101`). */
  private readonly connections: FairBudget;
  /** The current minute, and the requests of each token in it. */
  private minute = -1;
  private counts = new Map<string, number>();
  /** What the decorators of operations say, by their handlers. */
  private readonly rules = new Map<ReturnType<ExecutionContext['getHandler']>, OperationRules>();
  /** The spellings of all keys that operations of a service have. */
  private readonly cached = new Map<Service, ReadonlySet<string>>();

  constructor(
    private readonly parts: HttpParts,
    private readonly modules: ModulesContainer,
    private readonly clock: Clock,
    private readonly reflector: Reflector,
    private readonly readModels: WaitForReadModels,
  ) {
    this.connections = new FairBudget(parts.maxConnections);
  }

  /** Routes of no service need no token if `openRoutes` lists them. */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const { service } = request;
    if (service === undefined) return this.parts.openRoutes.includes(request.routeOptions.url ?? '');
    const caller = this.authenticated(request, service);
    request.caller = caller;
    this.parts.tokenUsed(caller.tokenHash);
    this.begin(caller.tokenHash, reply.raw);
    this.limitRate(caller, reply);
    const { roles, keys, formats, text } = this.rulesOf(context);
    if (roles !== undefined) requireRole(roles, caller, service, request);
    refuseUnknownKeys(keys, service, request, reply, () => this.keysOf(service));
    request.view = representationOf(request, service, formats);
    if (takesKey(request.method, text))
      request.repeatable = RepeatableRequest.of(request, service, this.parts.journal);
    if (!READS.includes(request.method))
      beginCommand(request, context.getClass().name, context.getHandler().name);
    const position = request.headers['x-min-position'];
    const waits = position === undefined || this.waitFor(String(position), service);
    // Nobody reads a body that an operation does not have.
    if (request.repeatable === undefined || text.body !== undefined) return waits;
    return this.beginAfter(waits, request.repeatable);
  }

  /** Looking metadata up takes longer than most checks. */
  private rulesOf(context: ExecutionContext): OperationRules {
    const handler = context.getHandler();
    let known = this.rules.get(handler);
    if (known === undefined) {
      const operation = [handler, context.getClass()] as const;
      known = {
        roles: rolesOf(this.reflector, ...operation),
        keys: keyTableOf(context),
        formats: formatsOf(this.reflector, ...operation),
        text: this.reflector.get(ApiOperation, handler),
      };
      this.rules.set(handler, known);
    }
    return known;
  }

  private async beginAfter(waits: boolean | Promise<boolean>, request: RepeatableRequest): Promise<boolean> {
    await waits;
    await request.begin();
    return true;
  }

  /** Counts a request of a token until it is answered. Raises 503 if the token has too many. */
  private begin(client: string, response: ServerResponse): void {
    if (!this.connections.take(client, 1)) throw httpFaults.overloaded(undefined, { retryAfter: 1 });
    whenOver(response, () => this.connections.give(client, 1));
  }

  private keysOf(service: Service): ReadonlySet<string> {
    let known = this.cached.get(service);
    if (known === undefined) {
      const { services } = this.parts;
      const own = operationsOf(this.modules).filter(({ path }) => serviceOf(services, path) === service);
      known = new Set(own.flatMap(({ keys }) => [...spellingsOf(keys).keys()]));
      this.cached.set(service, known);
    }
    return known;
  }

  /** Requires a token of the service (`docs/decisions.md#a4`). */
  private authenticated(request: FastifyRequest, service: Service): Caller {
    const [token, ...others] = sentTokens(request);
    if (token === undefined) throw openApiFaults.missingToken();
    if (others.length > 0) {
      logRefused(request, 'given more than once');
      throw service.faults.tokenTwice('token is given more than once');
    }
    const caller = TOKEN.test(token) ? this.parts.callerOf(tokenHash(token)) : undefined;
    if (caller === undefined) {
      logRefused(request, 'unknown');
      throw openApiFaults.invalidToken();
    }
    if (caller.system === service.system) return caller;
    const problem = `for ${caller.system}: expected one for ${service.system}`;
    logRefused(request, problem, caller);
    throw openApiFaults.invalidToken(`the token is ${problem}`);
  }

  /** Limits the requests of a token in the current minute (`docs/decisions.md#a6`), and reports it in headers. */
  private limitRate({ system, tokenHash: token }: Caller, reply: FastifyReply): void {
    const limit = this.parts.rateLimits[system];
    if (limit === undefined) return;
    const now = this.clock.now().getTime();
    const minute = Math.floor(now / MINUTE);
    if (minute !== this.minute) this.counts = new Map();
    this.minute = minute;
    const count = (this.counts.get(token) ?? 0) + 1;
    this.counts.set(token, count);
    const retryAfter = Math.ceil(((minute + 1) * MINUTE - now) / 1000);
    reply.headers({
      'X-RateLimit-Limit': limit,
      'X-RateLimit-Remaining': Math.max(0, limit - count),
      'X-RateLimit-Reset': retryAfter,
    });
    if (count <= limit) return;
    const message = `more than ${limit} requests a minute: try again in ${retryAfter} s`;
    throw httpFaults.quotaExceeded(message, { retryAfter });
  }

  /** Delays a request with `X-Min-Position` until queries see that position. */
  private async waitFor(sent: string, { keyFaults }: Service): Promise<boolean> {
    const position = parsePosition(sent);
    if (position === undefined)
      throw keyFaults.unusable(`X-Min-Position: ${sent}: expected the value of an X-Log-Position`);
    if (await this.readModels.until(position, MAX_WAIT)) return true;
    throw httpFaults.notYet(`${position} cannot be read yet`, { retryAfter: 1 });
  }
}

function logRefused({ log }: FastifyRequest, reason: string, caller?: Caller): void {
  log.info({ reason, organisationId: caller?.organisationId }, 'token refused');
}

/** Admits the kinds of callers that `@Roles` names (`docs/decisions.md#a4`). */
function requireRole(
  roles: readonly Caller['kind'][],
  caller: Caller,
  { faults }: Service,
  request: FastifyRequest,
): void {
  if (roles.includes(caller.kind)) return;
  const article = caller.kind === 'publisher' ? 'a' : 'an';
  const problem = `one of ${article} ${caller.kind}: expected ${roles.join(' or ')}`;
  logRefused(request, problem, caller);
  throw faults.notAdmitted[caller.kind](`the token is ${problem}`);
}

/**
 * Refuses keys that an operation does not have: all of them where the request changes something, otherwise those that
 * look like a misspelling, or that another operation of the service has. Names the others in `X-Ignored-Keys`
 * (`docs/decisions.md#a14`).
 */
function refuseUnknownKeys(
  table: KeyTable,
  { keyFaults }: Service,
  { target, method }: FastifyRequest,
  reply: FastifyReply,
  keysOfService: () => ReadonlySet<string>,
): void {
  const unknown = unknownKeys(table, target);
  if (unknown.length === 0) return;
  const known = keysOfService();
  const refused = unknown.find(
    ({ meant, name }) => !READS.includes(method) || meant !== undefined || known.has(name),
  );
  if (refused !== undefined)
    throw keyFaults.unusable(describeUnknown(refused, table, known.has(refused.name)));
  reply.header('X-Ignored-Keys', nameList(unknown.map(({ name }) => name)));
}
