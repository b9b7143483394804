import { randomUUID } from 'node:crypto';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type FastifyBaseLogger, type FastifyReply } from 'fastify';
import { type Bindings, type ChildLoggerOptions } from 'pino';
import { payloadOf } from './answer-writer';
import { answerClientError, HEADERS_TIMEOUT, MAX_HEADERS } from './client-error';
import { takeFacts } from './request-facts';

/**
 * The HTTP server below Nest. Bodies have neither limit nor time-out here, but where they are read
 * (`PostedBody`).
 */
export function httpAdapter(log?: FastifyBaseLogger): FastifyAdapter {
  const adapter = new FastifyAdapter({
    rewriteUrl: takeFacts,
    genReqId: () => randomUUID(),
    ...(log === undefined ? { logger: false } : { loggerInstance: log }),
    childLoggerFactory: loggerOfRequest,
    skipMiddie: true,
    bodyLimit: Number.MAX_SAFE_INTEGER,
    requestTimeout: 0,
    // What still comes in during a stop is answered in our own words (`watchConnections`).
    return503OnClosing: false,
    // No more than the headers may have: Fastify would answer in words of its own.
    routerOptions: { maxParamLength: MAX_HEADERS },
    http: {
      maxHeaderSize: MAX_HEADERS,
      headersTimeout: HEADERS_TIMEOUT,
      // Checked, and answered in our own words, by `headerFault`.
      requireHostHeader: false,
    },
    clientErrorHandler: answerClientError,
  });
  const reply = adapter.reply.bind(adapter);
  // Nest waits for it. An interceptor in its place would cost a tenth of all that a request does.
  return Object.assign(adapter, {
    reply: async (response: FastifyReply, returned: unknown, status?: number) =>
      reply(response, await payloadOf(returned, response), status),
  });
}

/** Fastify logs each request as information, with its target; targets hold tokens. */
function loggerOfRequest(
  log: FastifyBaseLogger,
  bindings: Bindings,
  options: ChildLoggerOptions,
): FastifyBaseLogger {
  const quiet = ['warn', 'error', 'fatal', 'silent'].includes(log.level);
  return log.child(bindings, { ...options, level: quiet ? log.level : 'warn' });
}
