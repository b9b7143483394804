import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { type Socket } from 'node:net';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type FastifyBaseLogger, type FastifyReply } from 'fastify';
import { type Bindings, type ChildLoggerOptions } from 'pino';
import { CONTENT_TYPES } from '../wire/format';
import { writeJson } from '../wire/json-write';
import { payloadOf } from './answer-writer';
import { takeFacts } from './request-facts';

/** Bytes of a request's line and headers: room for lists of ids in matrix keys. */
const MAX_HEADERS = 64 * 1024;
/** Milliseconds for them to arrive. */
const HEADERS_TIMEOUT = 20_000;
/** Characters of an id in a path. */
const MAX_PARAMETER = 1000;

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
    routerOptions: { maxParamLength: MAX_PARAMETER },
    http: { maxHeaderSize: MAX_HEADERS, headersTimeout: HEADERS_TIMEOUT },
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

const CLIENT_ERRORS: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** What could not be read as HTTP at all. */
function answerClientError(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = CLIENT_ERRORS[error.code ?? ''] ?? 400;
  const message = STATUS_CODES[status] ?? '';
  const body = writeJson({ errors: [{ code: String(status), message }] });
  const head = [
    `HTTP/1.1 ${status} ${message}`,
    `Content-Type: ${CONTENT_TYPES.json}`,
    `Content-Length: ${body.length}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
