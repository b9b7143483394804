import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { type Duplex, finished } from 'node:stream';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { setMaxListeners } from 'node:events';
import { type Socket } from 'node:net';
import { type Fault } from '../kernel/fault';
import { errorsAsJson, httpFaults, notResponding } from '../wire/api/errors';
import { CONTENT_TYPES } from '../wire/api/format';
import { writeJson } from '../wire/json/write';
import { HttpLog } from './request-log';
import { routedPath, REQUEST_ID, requestIdIn, requestIdOf } from './request-state';
import { REPLAYED } from './idempotency';

/** Response headers that scripts of other origins may read (Document 1, Conventions 7). */
const EXPOSED = [
  REPLAYED,
  'Link',
  'X-As-Of',
  'X-Dry-Run',
  'X-Has-More',
  'X-Ignored-Fields',
  'X-Ignored-Keys',
  'X-Load-Counts',
  'X-Load-Id',
  'X-Log-Position',
  'X-Next-Cursor',
  'X-Next-Since',
  'X-Page-Size',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Removed',
  REQUEST_ID,
  'X-Since-Reset',
  'X-Total-Count',
  'Retry-After',
  'ETag',
];

/** Methods that scripts of other origins may use. */
export const CORS_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'];

/** Headers of every answer: scripts of all origins may read it. */
export const CORS_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': EXPOSED.join(', '),
} as const;

/** How long browsers remember the answer to a preflight request (s). */
const PREFLIGHT_AGE = 86_400;

/** Answers a preflight request, on any path; false for other requests. A plugin would cost more than all of routing. */
export function answerPreflight({ method, headers }: FastifyRequest, reply: FastifyReply): boolean {
  if (method !== 'OPTIONS') return false;
  const asked = headers['access-control-request-headers'];
  reply
    .code(204)
    .headers({
      'Access-Control-Allow-Methods': CORS_METHODS.join(', '),
      Vary: 'Access-Control-Request-Headers',
      ...(asked === undefined ? {} : { 'Access-Control-Allow-Headers': asked }),
      'Access-Control-Max-Age': String(PREFLIGHT_AGE),
      'Content-Length': '0',
    })
    .send();
  return true;
}

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

const METHODS = [...CORS_METHODS, 'OPTIONS'];

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
    ...Object.entries(CORS_HEADERS).map(([name, value]) => `${name}: ${value}`),
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

/** Milliseconds for which the rest of a body is discarded, so that its sender can receive the answer. */
const CLOSED_AFTER = { serving: 30_000, stopping: 1_000 } as const;

/**
 * Closes idle connections (`docs/decisions.md#x11`). When the server stops, aborts `stop`: from
 * then on requests are refused, incomplete bodies are given up, and connections are closed once everything is answered.
 */
export function watchConnections(fastify: FastifyInstance, stop: AbortController): void {
  const stopping = stop.signal;
  // One listener for each body that is being received.
  setMaxListeners(0, stopping);
  let unanswered = 0;
  const closeAll = (): void => {
    if (!stopping.aborted || unanswered > 0) return;
    setTimeout(() => fastify.server.closeAllConnections(), CLOSED_AFTER.stopping).unref();
  };
  fastify.addHook('onRequest', (_request, { raw }, done) => {
    unanswered += 1;
    raw.once('close', () => {
      unanswered -= 1;
      closeAll();
    });
    done(stopping.aborted ? notResponding() : undefined);
  });
  fastify.addHook('onSend', ({ raw }, reply, _payload, done) => {
    if (stopping.aborted && raw.complete) reply.header('Connection', 'close');
    done();
  });
  fastify.addHook('onResponse', ({ raw }, _reply, done) => {
    discardRest(raw);
    done();
  });
  fastify.addHook('preClose', (done) => {
    stop.abort();
    closeAll();
    done();
  });
}

function discardRest(raw: IncomingMessage): void {
  if (raw.complete) return;
  const late = setTimeout(() => raw.destroy(), CLOSED_AFTER.serving).unref();
  finished(raw, () => clearTimeout(late));
  raw.resume();
}

/** Share of the connections beyond which idle ones are closed, and how often at most (ms): it takes a while. */
const CROWDED = 0.75;
const CLOSE_EVERY = 1_000;

/** Accepts a limited number of connections (`docs/decisions.md#x101`), and closes idle ones when most are used. */
export function boundConnections(server: Server, most: number): void {
  server.maxConnections = most;
  const open = new Set<Socket>();
  let closed = -Infinity;
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    const now = performance.now();
    if (open.size <= CROWDED * most || now - closed < CLOSE_EVERY) return;
    closed = now;
    for (const one of open) if (isIdle(one)) one.destroy();
  });
}

/** Requests sent ahead over one connection before earlier ones are answered, and characters of their heads. */
const MAX_AHEAD = { requests: 100, characters: 128 * 1024 } as const;

/** Requests of a connection that wait for the answers to earlier ones, and the characters of their heads. */
const waiting = new WeakMap<Duplex, { requests: number; characters: number }>();

/** The latest response of a connection that could be sent at once. */
const responses = new WeakMap<Duplex, ServerResponse>();

/** The bytes received over a connection when its latest request had arrived and was answered. */
const readBy = new WeakMap<Duplex, number>();

/**
 * Calls back when all earlier requests of the connection have been answered (HTTP pipelining), and never if the
 * connection closes before that: Node.js reports nothing about a response that is behind another one. Closes the
 * connection when too many requests wait.
 */
export function whenFirst(request: IncomingMessage, response: ServerResponse, onFirst: () => void): void {
  const { socket } = request;
  const begin = (): void => {
    responses.set(socket, response);
    const over = (): unknown => readBy.set(socket, socket.bytesRead);
    request.once('close', over);
    response.once('close', over);
    onFirst();
  };
  if (response.socket !== null) {
    begin();
    return;
  }
  const ahead = waiting.get(socket) ?? { requests: 0, characters: 0 };
  const characters = charactersIn(request);
  ahead.requests += 1;
  ahead.characters += characters;
  if (ahead.requests > MAX_AHEAD.requests || ahead.characters > MAX_AHEAD.characters) {
    socket.destroy();
    return;
  }
  waiting.set(socket, ahead);
  response.once('socket', () => {
    ahead.requests -= 1;
    ahead.characters -= characters;
    begin();
  });
}

function charactersIn({ url = '', rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((sum, text) => sum + text.length, url.length);
}

/** True while a response is partly sent over this connection. */
function isAnswering(socket: Duplex): boolean {
  const response = responses.get(socket);
  return response?.socket === socket && response.headersSent;
}

/** The request of this connection whose answer is not complete. */
function requestOn(socket: Duplex): IncomingMessage | undefined {
  const response = responses.get(socket);
  return response === undefined || response.writableFinished ? undefined : response.req;
}

/** True if all requests are answered to the last byte: Node.js ignores bytes that wait for a slow client. */
function isIdle(socket: Socket): boolean {
  return (
    readBy.get(socket) === socket.bytesRead && requestOn(socket) === undefined && socket.writableLength === 0
  );
}
