import { ModulesContainer, APP_FILTER, APP_GUARD } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { type Fault } from '../kernel/fault';
import { type Operation } from '../wire/api/openapi-operation';
import { API_VERSION, missingRoute, type Routes } from '../wire/api/errors';
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
import { requestLogger, endCommand, traceRequest } from './request-log';
import { RequestMetrics } from './request-metrics';
import { decorateRequests, headerFault, REQUEST_ID } from './request-state';
import { HttpParts, serviceOf } from './service';
import { type DynamicModule, Module } from '@nestjs/common';
import { Clock } from '../runtime/clock';
import { FailureCounts, FailureFilter } from './failure-filter';
import { ReadQueue } from './read-queue';
import { WaitForReadModels } from './visible-writes';
import { AdmissionGuard } from './admission';

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
