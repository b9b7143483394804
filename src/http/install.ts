import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { missingRoute } from '../wire/routes';
import { answerConnect } from './client-error';
import { watchConnections } from './connections';
import { CORS } from './cors';
import { FailureFilter } from './failure-filter';
import { PositionGuard } from './position-guard';
import { whenFirst } from './pipeline';
import { factsOf } from './request-facts';
import { headerFault, takeExpectations } from './request-headers';
import { RouteBook } from './route-book';
import { type HttpOptions, refuseUnguarded } from './service';
import { AdmissionGuard } from './admission-guard';

/**
 * Makes an application on `httpAdapter` speak as all services do: tokens, answers, failures, cross-origin
 * requests. To be called before it is initialised.
 */
export function installHttp(app: NestFastifyApplication, options: HttpOptions): void {
  const fastify = app.getHttpAdapter().getInstance();
  const routes = new RouteBook();
  fastify.addHook('onRoute', ({ method, url }) => {
    routes.add([method].flat(), url);
    // Preflight requests are answered for any path.
    if (method !== 'OPTIONS') refuseUnguarded(url, options);
  });
  // Bodies are left unread for `PostedBody`; no other parser is asked, as no Content-Type gets this far.
  fastify.addContentTypeParser('*', (_request, _payload, done) => done(null));
  takeExpectations(fastify.server);
  fastify.server.on('connect', answerConnect);
  fastify.addHook('onRequest', ({ raw }, reply, done) => whenFirst(raw, reply.raw, done));
  const stopping = watchConnections(fastify);
  // Before anything is made of the body, which Fastify wants to have a type for methods that it does not know.
  fastify.addHook('onRequest', ({ raw, is404, method }, _reply, done) => {
    done(headerFault(raw) ?? (is404 ? missingRoute(method, factsOf(raw).target.path, routes) : undefined));
  });
  app.enableCors(CORS);
  app.useGlobalGuards(new AdmissionGuard(options, stopping), new PositionGuard(options));
  app.useGlobalFilters(new FailureFilter(options));
}
