import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type FastifyBaseLogger } from 'fastify';
import { answerClientError, HEADERS_TIMEOUT, MAX_HEADERS } from './client-error';
import { HttpLog } from './request-log';
import { requestIdOf } from './request-id';
import { routedPath } from './request-state';

/** The HTTP server below Nest. Limits and time-outs of bodies are those of `PostedBody`. */
export function httpAdapter(log?: FastifyBaseLogger): FastifyAdapter {
  return new FastifyAdapter({
    rewriteUrl: routedPath,
    genReqId: requestIdOf,
    ...(log === undefined ? { logger: false } : { loggerInstance: log }),
    logController: new HttpLog(),
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
    clientErrorHandler: (error, socket) => answerClientError(error, socket, log),
  });
}
