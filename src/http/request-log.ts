import { Socket } from 'node:net';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { type RequestTarget, type SentKey } from '../wire/keys/request-target';
import { ExpectedFailureLog, isUnavailable } from './failure-filter';
import { ClientGone } from './read-queue';
import { TooSlow, whenOver } from './send-stream';
import { type ServerResponse } from 'node:http';
import { isTracing, startSpan, startStep, validTrace, within } from '../runtime/tracing';

const LEVELS = ['trace', 'debug', 'info'];

/** Logs each request once it is over (`docs/decisions.md#x86`): call it when one begins. `bytes` includes headers. */
export function requestLogger({
  log: { level },
}: FastifyInstance): (request: FastifyRequest, reply: FastifyReply) => void {
  if (!LEVELS.includes(level)) return () => undefined;
  return (request, { raw: response }) => {
    const { log, raw } = request;
    const { socket } = raw;
    const began = performance.now();
    // The console asks operations within this process.
    const isInProcess = !(socket instanceof Socket);
    const sentBefore = socket.bytesWritten;
    whenOver(response, () => {
      log.info(
        {
          method: raw.method,
          path: loggedTarget(request.target),
          // Until headers are sent, Node.js reports 200.
          status: response.headersSent ? response.statusCode : undefined,
          ms: Math.round((performance.now() - began) * 10) / 10,
          bytes: isInProcess ? undefined : socket.bytesWritten - sentBefore,
          organisationId: request.caller?.organisationId,
          disconnected: isInProcess || response.writableFinished || isEndless(response) ? undefined : true,
        },
        'request',
      );
    });
  };
}

/** Server-sent events end when their page is left: that is no disconnection. */
function isEndless(response: ServerResponse): boolean {
  return String(response.getHeader('content-type')).startsWith('text/event-stream');
}

/** What Fastify logs itself: all but the lines that `requestLogger` replaces, and answers that end early. */
export class HttpLog extends LogController {
  private readonly expected = new ExpectedFailureLog();

  override incomingRequest(): void {
    // `requestLogger` logs requests.
  }

  override requestCompleted(): void {
    // As above.
  }

  override streamError(error: NodeJS.ErrnoException, { log }: FastifyRequest): void {
    if (isUnavailable(error)) this.expected.add(log, 'an engine is unavailable', error);
    else if (error instanceof TooSlow) log.info('the client reads too slowly: it was disconnected');
    else if (error instanceof ClientGone || error.code === 'ERR_STREAM_PREMATURE_CLOSE')
      log.debug({ err: error }, 'the client has disconnected');
    else log.warn({ err: error }, 'the answer was broken off');
  }
}

const MAX_LENGTH = 500;

/** A request target as it is logged: without its token (`docs/decisions.md#x86`). */
export function loggedTarget({ path, extension, matrix, query }: RequestTarget): string {
  const keys = withoutToken(matrix).map(({ name, sent }) => `;${name}=${sent}`);
  const parameters = withoutToken(query).map(({ name, sent }) => `${name}=${sent}`);
  const target = [
    path,
    ...(extension === undefined ? [] : ['.', extension]),
    ...keys,
    ...(parameters.length === 0 ? [] : ['?', parameters.join('&')]),
  ].join('');
  return target.length <= MAX_LENGTH ? target : `${target.slice(0, MAX_LENGTH)}…`;
}

/** A token among the matrix keys is a mistake of the client, but no less a token. */
function withoutToken(keys: readonly SentKey[]): readonly SentKey[] {
  return keys.filter(({ name }) => name !== 'token');
}

/**
 * Handles a request to a service as a span, which continues the trace of its client if that has sent one. Health checks
 * and pages, which are asked for again and again, are none.
 */
export function traceRequest(request: FastifyRequest, response: ServerResponse, handle: () => void): void {
  const span = isTracing() && request.service !== undefined ? startRequest(request) : undefined;
  if (span === undefined) {
    handle();
    return;
  }
  whenOver(response, () => {
    endCommand(request);
    // Until headers are sent, Node.js reports 200.
    const status = response.headersSent ? response.statusCode : undefined;
    span.end({ 'http.response.status_code': status }, status === undefined || status >= 500);
  });
  within(span.traceparent, handle);
}

function startRequest({ method, routeOptions: { url: route }, raw, id }: FastifyRequest) {
  return startSpan({
    name: route === undefined ? method : `${method} ${route}`,
    kind: 'server',
    parent: validTrace(raw.headers['traceparent']),
    attributes: { 'http.request.method': method, 'http.route': route, 'affilog.request.id': id },
  });
}

/** The handler of a request that may change something begins, such as `TransactionsController.report`. */
export function beginCommand(request: FastifyRequest, controller: string, handler: string): void {
  if (isTracing()) request.command = startStep(`${controller}.${handler}`);
}

/** The handler has returned; its answer is written afterwards. */
export function endCommand(request: FastifyRequest): void {
  request.command?.end();
  request.command = undefined;
}
