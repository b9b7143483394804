import { setMaxListeners } from 'node:events';
import { type IncomingMessage } from 'node:http';
import { finished } from 'node:stream';
import { type FastifyInstance } from 'fastify';
import { notResponding } from '../wire/open-api';

/**
 * Milliseconds for which a client may go on sending what nobody reads any more, so that it gets to see the answer:
 * in general, and once the server stops.
 */
const LINGER = { serving: 30_000, stopping: 1_000 } as const;

/**
 * Sees to it that no connection stays open for what nobody waits for (`docs/decisions.md#x11`). The signal it gives
 * tells of the stop: from then on no request is taken, a body still coming is to be given up, and when everything is
 * answered the connections are closed, whatever is coming in over them.
 */
export function watchConnections(fastify: FastifyInstance): AbortSignal {
  const stop = new AbortController();
  const stopping = stop.signal;
  // As many bodies listen as are coming in.
  setMaxListeners(0, stopping);
  let unanswered = 0;
  const closeAll = (): void => {
    if (!stopping.aborted || unanswered > 0) return;
    setTimeout(() => fastify.server.closeAllConnections(), LINGER.stopping).unref();
  };
  fastify.addHook('onRequest', (_request, _reply, done) => {
    unanswered += 1;
    done(stopping.aborted ? notResponding() : undefined);
  });
  fastify.addHook('onSend', ({ raw }, reply, _payload, done) => {
    if (stopping.aborted && raw.complete) reply.header('Connection', 'close');
    done();
  });
  fastify.addHook('onResponse', ({ raw }, _reply, done) => {
    unanswered -= 1;
    letPass(raw);
    closeAll();
    done();
  });
  fastify.addHook('preClose', (done) => {
    stop.abort();
    closeAll();
    done();
  });
  return stopping;
}

/** Takes in what is left of a request's body, for a while. */
function letPass(raw: IncomingMessage): void {
  if (raw.complete) return;
  const late = setTimeout(() => raw.destroy(), LINGER.serving).unref();
  finished(raw, () => clearTimeout(late));
  raw.resume();
}
