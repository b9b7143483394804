import { setMaxListeners } from 'node:events';
import { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Socket } from 'node:net';
import { type Duplex, finished } from 'node:stream';
import { type FastifyInstance } from 'fastify';
import { notResponding } from '../wire/api/errors';

/** Milliseconds for which the rest of a body is discarded, so that its sender can receive the answer. */
const LINGER = { serving: 30_000, stopping: 1_000 } as const;

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
    setTimeout(() => fastify.server.closeAllConnections(), LINGER.stopping).unref();
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
  const late = setTimeout(() => raw.destroy(), LINGER.serving).unref();
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
export function isAnswering(socket: Duplex): boolean {
  const response = responses.get(socket);
  return response?.socket === socket && response.headersSent;
}

/** The request of this connection whose answer is not complete. */
export function requestOn(socket: Duplex): IncomingMessage | undefined {
  const response = responses.get(socket);
  return response === undefined || response.writableFinished ? undefined : response.req;
}

/** True if all requests are answered to the last byte: Node.js ignores bytes that wait for a slow client. */
function isIdle(socket: Socket): boolean {
  return (
    readBy.get(socket) === socket.bytesRead && requestOn(socket) === undefined && socket.writableLength === 0
  );
}
