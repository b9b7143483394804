import { randomUUID } from 'node:crypto';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type FastifyBaseLogger } from 'fastify';
import { type Bindings, type ChildLoggerOptions } from 'pino';
import { answerClientError, HEADERS_TIMEOUT, MAX_HEADERS } from './client-error';
import { routedPath } from './request-state';

/** The HTTP server below Nest. Limits and time-outs of bodies are those of `PostedBody`. */
export function httpAdapter(log?: FastifyBaseLogger): FastifyAdapter {
  return new FastifyAdapter({
    rewriteUrl: routedPath,
    genReqId: () => randomUUID(),
    ...(log === undefined ? { logger: false } : { loggerInstance: log }),
    childLoggerFactory: loggerOfRequest,
    skipMiddie: true,
    bodyLimit: Number.MAX_SAFE_INTEGER,
    requestTimeout: 0,
    // `watchConnections` answers requests that arrive during a stop.
    return503OnClosing: false,
    // As long as the headers may be: beyond it Fastify sends an error of its own.
    routerOptions: { maxParamLength: MAX_HEADERS },
    http: {
      maxHeaderSize: MAX_HEADERS,
      headersTimeout: HEADERS_TIMEOUT,
      // `headerFault` checks it.
      requireHostHeader: false,
    },
    clientErrorHandler: answerClientError,
  });
}

/** Fastify logs each request at level info with its target, and targets contain tokens. */
function loggerOfRequest(
  log: FastifyBaseLogger,
  bindings: Bindings,
  options: ChildLoggerOptions,
): FastifyBaseLogger {
  const quiet = ['warn', 'error', 'fatal', 'silent'].includes(log.level);
  return log.child(bindings, { ...options, level: quiet ? log.level : 'warn' });
}
