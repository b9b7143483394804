import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { watchConnections } from './connections';
import { FailureFilter } from './failure-filter';
import { PositionGuard } from './position-guard';
import { RouteBook } from './route-book';
import { type HttpOptions } from './service';
import { AdmissionGuard } from './admission-guard';

/** What browsers may send, and scripts of other origins may read (Document 1, Conventions 7). */
const CORS = {
  origin: '*',
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
  exposedHeaders: [
    'X-Log-Position',
    'X-Next-Cursor',
    'X-Next-Since',
    'X-RateLimit-Limit',
    'X-RateLimit-Remaining',
    'X-RateLimit-Reset',
    'Retry-After',
    'ETag',
  ],
  maxAge: 86_400,
  strictPreflight: false,
};

/**
 * Makes an application on `httpAdapter` speak as all services do: tokens, answers, failures, cross-origin
 * requests. To be called before it is initialised.
 */
export function installHttp(app: NestFastifyApplication, options: HttpOptions): void {
  const fastify = app.getHttpAdapter().getInstance();
  const routes = new RouteBook();
  fastify.addHook('onRoute', ({ method, url }) => routes.add([method].flat(), url));
  // Bodies are left unread for `PostedBody`; no other parser is asked, as no Content-Type gets this far.
  fastify.addContentTypeParser('*', (_request, _payload, done) => done(null));
  const stopping = watchConnections(fastify);
  app.enableCors(CORS);
  app.useGlobalGuards(new AdmissionGuard(options, stopping), new PositionGuard(options));
  app.useGlobalFilters(new FailureFilter(options, routes));
}
