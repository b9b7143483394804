import { type ServerResponse } from 'node:http';
import { type FastifyRequest } from 'fastify';
import { isTracing, startSpan, startStep, validTrace, within } from '../runtime/tracing';
import { whenOver } from './send-stream';

/**
 * Handles a request to a service as a span, which continues the trace of its client if that has sent one. Health checks and
 * pages, which are asked for again and again, are none.
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
