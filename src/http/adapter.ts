import { type IncomingMessage, STATUS_CODES } from 'node:http';
import { type Duplex } from 'node:stream';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type FastifyBaseLogger } from 'fastify';
import { type Fault } from '../kernel/fault';
import { errorsAsJson, httpFaults } from '../wire/api/errors';
import { CONTENT_TYPES } from '../wire/api/format';
import { writeJson } from '../wire/json/write';
import { isAnswering, requestOn } from './connections';
import { CORS, CORS_HEADERS } from './cors';
import { REQUEST_ID, requestIdIn, requestIdOf } from './request-id';
import { HttpLog } from './request-log';
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

/** Bytes of a request's line and headers: room for lists of ids in matrix keys. */
export const MAX_HEADERS = 64 * 1024;
/** Milliseconds for them to arrive. */
export const HEADERS_TIMEOUT = 20_000;
/** Milliseconds for a client to close its connection after CONNECT was refused. */
const LINGER = 1_000;

interface ParserError extends Error {
  readonly code?: string;
  readonly reason?: string;
  readonly rawPacket?: unknown;
}

const REQUEST = /^[\w!#$%&'*+.^`|~-]+ \S/;

const METHODS = [...CORS.methods, 'OPTIONS'];

/** By the codes of Node.js; any other code means invalid HTTP. */
const CLIENT_ERRORS: Readonly<Record<string, () => Fault>> = {
  HPE_HEADER_OVERFLOW: () =>
    httpFaults.headersTooLarge(
      `expected a request line and headers of at most ${MAX_HEADERS} bytes together`,
    ),
  ERR_HTTP_REQUEST_TIMEOUT: () =>
    httpFaults.timeout(`the request line and its headers must arrive within ${HEADERS_TIMEOUT / 1000} s`),
  HPE_INVALID_URL: () =>
    httpFaults.badRequest(
      'the request target has a byte that must be percent-encoded: é in UTF-8 is %C3%A9, a space %20',
    ),
};

/** Answers what could not be parsed as HTTP, and logs it. */
function answerClientError(error: ParserError, socket: Duplex, log?: FastifyBaseLogger): void {
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  const request = requestOn(socket);
  // A request that has begun logs its own line.
  if (request === undefined) answer(faultOf(error), socket, requestIdIn(bytesOf(error)), log);
  else answer(faultOf(error), socket, requestIdOf(request));
}

function bytesOf({ rawPacket }: ParserError): Buffer | undefined {
  return Buffer.isBuffer(rawPacket) ? rawPacket : undefined;
}

function faultOf(error: ParserError): Fault {
  const { code = '', reason = code } = error;
  const begin = bytesOf(error)?.toString('latin1', 0, 100) ?? '';
  if (code === 'HPE_INVALID_METHOD' && REQUEST.test(begin))
    return unknownMethod('the method of the request is unknown');
  return CLIENT_ERRORS[code]?.() ?? httpFaults.badRequest(`${httpFaults.badRequest().message}: ${reason}`);
}

/** Answers CONNECT, for which Node.js emits an event of its own. */
export function answerConnect(request: IncomingMessage, socket: Duplex, log: FastifyBaseLogger): void {
  // Node.js has detached the connection: errors, input and end are ours to handle.
  socket.on('error', () => socket.destroy());
  socket.resume();
  const late = setTimeout(() => socket.destroy(), LINGER);
  socket.once('close', () => clearTimeout(late));
  const fault = unknownMethod(`${request.method}: this server is not a proxy`);
  answer(fault, socket, requestIdOf(request), log);
}

function unknownMethod(problem: string): Fault {
  return httpFaults.methodNotAllowed(`${problem}: expected ${METHODS.join(', ')}`, { allow: METHODS });
}

function answer(fault: Fault, socket: Duplex, id: string, log?: FastifyBaseLogger): void {
  const { status, details } = fault;
  log?.info({ reqId: id, status, reason: fault.message }, 'request');
  const body = writeJson(errorsAsJson([fault]));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...CORS_HEADERS,
    `${REQUEST_ID}: ${id}`,
    ...(details.allow === undefined ? [] : [`Allow: ${details.allow.join(', ')}`]),
    `Content-Type: ${CONTENT_TYPES.json}`,
    'X-Content-Type-Options: nosniff',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `Date: ${new Date().toUTCString()}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
