import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { EngineUnavailable } from '../kernel/event-log';
import { QueryTooLong } from '../kernel/query';
import { NoGeneration } from '../kernel/read-store';
import { Fault, Faults } from '../kernel/fault';
import { httpFaults, notResponding } from '../wire/open-api';
import { renderFailure } from './render';
import { ClientGone } from './reads';
import { factsOf } from './request-facts';
import { type HttpOptions, type Service, serviceOf } from './service';
import { failureView } from './view';

/** Tells of whatever was thrown, once and in one shape (`docs/decisions.md#a1`, `#a12`). */
@Catch()
export class FailureFilter implements ExceptionFilter {
  constructor(private readonly options: HttpOptions) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    if (error instanceof ClientGone) {
      // Nobody reads it, but the request has to end.
      void reply.send();
      return;
    }
    const service = serviceOf(this.options.services, factsOf(request.raw).target.path);
    const failure = this.failureOf(error, request, service);
    if (reply.sent) return;
    const faults = failure instanceof Faults ? failure.faults : [failure];
    const namespace = `${this.options.baseUrl()}${service?.namespace ?? ''}`;
    const { status, contentType, body } = renderFailure(
      faults,
      failure.status,
      namespace,
      failureView(request, service),
    );
    addHeaders(reply, faults);
    void reply
      .code(status)
      .type(contentType)
      .header('Vary', 'Accept')
      .header('X-Content-Type-Options', 'nosniff')
      .send([...body].join(''));
  }

  private failureOf(error: unknown, request: FastifyRequest, service: Service | undefined): Fault | Faults {
    if (error instanceof Fault || error instanceof Faults) return error;
    const { path } = factsOf(request.raw).target;
    if (error instanceof EngineUnavailable || error instanceof NoGeneration) {
      request.log.warn({ err: error, path }, 'an engine did not answer');
      return notResponding();
    }
    if (error instanceof QueryTooLong && service !== undefined)
      return service.keyFaults.unusable(tooLong(error));
    const unexpected = service?.faults.unexpected ?? httpFaults.serviceDown;
    this.options.onUnexpected();
    request.log.error({ err: error, path }, 'unexpected failure');
    return unexpected(`${unexpected().message} (request ${request.id})`);
  }
}

/** `docs/decisions.md#x71`. */
function tooLong({ timeLimit }: QueryTooLong): string {
  return `the search was stopped after ${timeLimit / 1000} s: give fewer words or values, or narrow it by other keys`;
}

function addHeaders(reply: FastifyReply, faults: readonly Fault[]): void {
  for (const { status, details } of faults) {
    if (details.allow !== undefined) reply.header('Allow', details.allow.join(', '));
    if (details.retryAfter !== undefined) reply.header('Retry-After', details.retryAfter);
    // What is left of a body that comes too slowly is not waited for.
    if (status === 408) reply.header('Connection', 'close');
  }
}
