import { ModulesContainer, APP_FILTER, APP_GUARD, Reflector } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { type Fault } from '../kernel/fault';
import { type Operation } from '../wire/api/openapi-operation';
import { API_VERSION, missingRoute, type Routes, httpFaults, openApiFaults } from '../wire/api/errors';
import {
  answerConnect,
  answerPreflight,
  boundConnections,
  CORS_HEADERS,
  watchConnections,
  whenFirst,
} from './adapter';
import { AnswerWriter } from './answer-writer';
import { takeExpectations } from './posted-body';
import { operationsOf } from './describe';
import { requestLogger, endCommand, traceRequest, beginCommand } from './request-log';
import { RequestMetrics } from './request-metrics';
import { decorateRequests, headerFault, REQUEST_ID, sentTokens } from './request-state';
import { HttpParts, serviceOf, type Service } from './service';
import {
  type DynamicModule,
  Module,
  type CanActivate,
  type ExecutionContext,
  Injectable,
} from '@nestjs/common';
import { Clock } from '../runtime/clock';
import { FailureCounts, FailureFilter } from './failure-filter';
import { ReadQueue } from './read-queue';
import { WaitForReadModels } from './visible-writes';
import { type ServerResponse } from 'node:http';
import { parsePosition } from '../kernel/event';
import { type Caller, TOKEN, tokenHash } from '../network/organisations';
import { FairBudget } from '../runtime/fair-queue';
import { type OperationText } from '../wire/api/description';
import { type Format } from '../wire/api/format';
import { describeUnknown, type KeyTable, spellingsOf, unknownKeys } from '../wire/keys/keys';
import { nameList } from '../wire/keys/name-list';
import { ApiOperation, formatsOf, keyTableOf, rolesOf } from './decorators';
import { RepeatableRequest, takesKey } from './idempotency';
import { representationOf } from './representation';
import { whenOver } from './send-stream';

/** Sets up the HTTP server of an application with `HttpModule`. Call it before the application is initialised. */
export function installHttp(app: NestFastifyApplication): void {
  const adapter = app.getHttpAdapter();
  const fastify = adapter.getInstance();
  if (!(adapter instanceof FastifyAdapter)) throw new Error('expected an application on `httpAdapter`');
  const { services, openRoutes, maxBody, bodyBudgets: budgets, maxConnections } = app.get(HttpParts);
  const routes = new RouteBook(
    new Set(services.flatMap(({ legacyPrefixes }) => legacyPrefixes)),
    operationsOf(app.get(ModulesContainer)),
  );
  fastify.addHook('onRoute', ({ method, url }) => {
    routes.add([method].flat(), url);
    const isGuarded = openRoutes.includes(url) || serviceOf(services, url) !== undefined;
    // Preflight requests are answered on any path.
    if (method !== 'OPTIONS' && !isGuarded)
      throw new Error(`${url} belongs to no service and is not among the routes that need no token`);
  });
  boundConnections(fastify.server, maxConnections);
  takeExpectations(fastify.server);
  fastify.server.on('connect', (request, socket) => answerConnect(request, socket, fastify.log));
  const stop = new AbortController();
  const decorate = decorateRequests(fastify, { services, maxBody, budgets, stopping: stop.signal });
  const log = requestLogger(fastify);
  const metrics = app.get(RequestMetrics);
  adapter.setOnRequestHook((request: FastifyRequest, reply: FastifyReply, done: (fault?: Fault) => void) => {
    // Many parts listen for the end of an answer; Node.js would warn of a leak.
    reply.raw.setMaxListeners(0);
    reply.headers(CORS_HEADERS).header(REQUEST_ID, request.id);
    decorate(request, reply);
    whenFirst(request.raw, reply.raw, () => {
      log(request, reply);
      metrics.begin(request, reply.raw);
      // Nest would answer a target that is no path, such as `*`, before the hooks below.
      const { method, target, raw } = request;
      const missing =
        raw.url?.startsWith('/') === true ? undefined : missingRoute(method, target.path, routes);
      traceRequest(request, reply.raw, () => {
        if (missing !== undefined || !answerPreflight(request, reply)) done(missing);
      });
    });
  });
  watchConnections(fastify, stop);
  // Fastify itself would refuse bodies without a Content-Type for unknown methods.
  fastify.addHook('onRequest', (request, _reply, done) => {
    const { raw, method, target, service } = request;
    const missing = isMissing(request)
      ? missingRoute(method, target.path, routes, service?.faults)
      : undefined;
    done(headerFault(raw) ?? missing);
  });
  // So that preflight requests have a route, whatever their path is.
  fastify.options('*', (_, reply) => {
    reply.callNotFound();
  });
  const writer = app.get(AnswerWriter);
  const reply = adapter.reply.bind(adapter);
  // Nest waits for the promise. An interceptor would cost a tenth of a search (ADR 17).
  Object.assign(adapter, {
    reply: async (response: FastifyReply, returned: unknown, status?: number): Promise<unknown> => {
      response.request.bodyShare.handled(response.raw);
      endCommand(response.request);
      const payload = await writer.payloadOf(returned, response);
      await response.request.repeatable?.answered(response, payload);
      return reply(response, payload, status);
    },
  });
}

/** Fastify takes an empty segment as a parameter, such as the id in `/1.0/notes//text`; Nest does not. */
function isMissing({ is404, params }: FastifyRequest): boolean {
  return is404 || Object.values(params ?? {}).includes('');
}

/** The registered routes, to explain why a request matches none. */
class RouteBook implements Routes {
  readonly modules = new Set<string>();
  private readonly routes: { readonly pattern: RegExp; readonly methods: readonly string[] }[] = [];

  constructor(
    readonly legacyPrefixes: ReadonlySet<string>,
    private readonly operations: readonly Pick<Operation, 'method' | 'path' | 'formats'>[],
  ) {}

  /** A route in Fastify's notation: `/1.0/productFeeds/:id`. */
  add(methods: readonly string[], url: string): void {
    const [version, ...segments] = url.split('/').slice(1);
    if (url.includes('*')) return;
    const module = segments.find((segment) => !this.legacyPrefixes.has(segment));
    // The index of a version (`docs/decisions.md#x85`): any other method lacks a module.
    if (version === API_VERSION && module === undefined) return;
    if (version === API_VERSION && module !== undefined) this.modules.add(module);
    this.routes.push({ pattern: patternOf(url), methods });
  }

  methodsOf(path: string): readonly string[] {
    const found = this.routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods);
    return [...new Set(found)].sort();
  }

  formatsOf(method: string, path: string): readonly string[] {
    const read = method === 'HEAD' ? 'GET' : method;
    const found = this.operations.find((one) => one.method === read && patternOf(one.path).test(path));
    return found?.formats ?? [];
  }
}

function patternOf(url: string): RegExp {
  const segments = url
    .split('/')
    .map((segment) => (segment.startsWith(':') ? '[^/]+' : segment.replace(/[^\w-]/g, '\\$&')));
  return new RegExp(`^${segments.join('/')}$`);
}

@Module({})
export class HttpModule {
  static with(parts: HttpParts, readModels: WaitForReadModels, clock: Clock): DynamicModule {
    return {
      module: HttpModule,
      global: true,
      providers: [
        { provide: HttpParts, useValue: parts },
        { provide: WaitForReadModels, useValue: readModels },
        { provide: Clock, useValue: clock },
        AnswerWriter,
        ReadQueue,
        FailureCounts,
        RequestMetrics,
        { provide: APP_GUARD, useClass: AdmissionGuard },
        { provide: APP_FILTER, useClass: FailureFilter },
      ],
      exports: [HttpParts, WaitForReadModels, Clock, FailureCounts, RequestMetrics],
    };
  }
}

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
class AdmissionGuard implements CanActivate {
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
    const waits = position === undefined || this.waitFor(String(position), request, service);
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
  private async waitFor(
    sent: string,
    { target }: FastifyRequest,
    { keyFaults, readModels, streamRead }: Service,
  ): Promise<boolean> {
    const position = parsePosition(sent);
    if (position === undefined)
      throw keyFaults.unusable(`X-Min-Position: ${sent}: expected the value of an X-Log-Position`);
    if (await this.readModels.until(position, MAX_WAIT, { readModels, stream: streamRead?.(target) }))
      return true;
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
