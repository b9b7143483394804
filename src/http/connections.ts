import { setMaxListeners } from 'node:events';
import { type IncomingMessage, type Server } from 'node:http';
import { type Socket } from 'node:net';
import { finished } from 'node:stream';
import { type FastifyInstance } from 'fastify';
import { notResponding } from '../wire/api/http-faults';
import { isIdle } from './pipeline';

/**
 * Milliseconds for which the rest of a body is discarded, so that a client that sends all of it before it reads gets
 * the answer: in general, and once the server stops.
 */
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

/** Discards the rest of a request's body, for a while. */
function discardRest(raw: IncomingMessage): void {
  if (raw.complete) return;
  const late = setTimeout(() => raw.destroy(), LINGER.serving).unref();
  finished(raw, () => clearTimeout(late));
  raw.resume();
}

/** Part of the connections beyond which idle ones are closed, and how often at most (ms): finding them takes a while. */
const CROWDED = 0.75;
const CLOSE_EVERY = 1_000;

/**
 * Accepts at most so many connections (`docs/decisions.md#x101`). When most of them are used, those that wait for a next
 * request are closed, so that they do not keep others out.
 */
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
