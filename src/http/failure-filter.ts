import { type ArgumentsHost, Catch, type ExceptionFilter, Injectable } from '@nestjs/common';
import { type FastifyBaseLogger, type FastifyReply, type FastifyRequest } from 'fastify';
import { EngineUnavailable, STREAM_DELETED } from '../kernel/event-log';
import { Fault, Faults } from '../kernel/fault';
import { QueryTooLong } from '../kernel/query';
import { NoGeneration } from '../kernel/read-store';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { RepeatedFailures } from '../runtime/failure-report';
import { reasonsOf } from '../runtime/unavailable';
import { httpFaults, notBuilt, notResponding } from '../wire/api/errors';
import { AnsweredBefore, REPLAYED } from './idempotency';
import { ClientGone } from './read-queue';
import { failureRepresentation, helpLinks, renderErrors } from './representation';
import { dropIfSlow } from './send-stream';
import { errorNamespace, HttpParts } from './service';
import { namingRequest } from './request-state';

/** Failures of this process since it started. */
export class FailureCounts {
  /** Requests that failed because of a bug (`docs/decisions.md#a12`). */
  unexpectedFailures = 0;
}

/** Renders everything that is thrown as an error list (`docs/decisions.md#a1`, `#a12`). */
@Injectable()
@Catch()
export class FailureFilter implements ExceptionFilter {
  private readonly expected = new ExpectedFailureLog();

  constructor(
    private readonly parts: HttpParts,
    private readonly counts: FailureCounts,
  ) {}

  async catch(error: unknown, host: ArgumentsHost): Promise<void> {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    request.bodyShare.handled(reply.raw);
    if (error instanceof ClientGone) {
      // Nobody reads the answer, but Fastify waits for one.
      void reply.send();
      return;
    }
    if (error instanceof AnsweredBefore) {
      const { status, headers, body } = error.answer;
      dropIfSlow(reply.raw, Buffer.byteLength(body), this.parts.downloadRate);
      void reply.code(status).headers(headers).header(REPLAYED, 'true').send(body);
      return;
    }
    const failure = this.failureOf(error, request);
    if (reply.sent) return;
    const faults = failure instanceof Faults ? failure.faults : [failure];
    const namespace = errorNamespace(request.service, request.method, this.parts.baseUrl());
    const view = failureRepresentation(request);
    const { status, contentType, body } = renderErrors(faults, failure.status, namespace, view);
    addHeaders(reply.headers(helpLinks(faults, this.parts.baseUrl())), faults);
    const text = [...body].join('');
    dropIfSlow(reply.raw, Buffer.byteLength(text), this.parts.downloadRate);
    reply.code(status).type(contentType).header('Vary', 'Accept').header('X-Content-Type-Options', 'nosniff');
    await request.repeatable?.answered(reply, text);
    void reply.send(text);
  }

  private failureOf(error: unknown, request: FastifyRequest): Fault | Faults {
    const { service, target, id } = request;
    if (error instanceof Fault && error.status >= 500) return namingRequest(error, id);
    if (isStreamDeleted(error))
      this.expected.add(request.log, 'a stream of the event log was deleted', error);
    if (error instanceof Fault || error instanceof Faults) return error;
    if (isUnavailable(error)) {
      this.expected.add(request.log, 'an engine is unavailable', error);
      const fault = error instanceof NoGeneration ? notBuilt(error.collection) : notResponding();
      return namingRequest(fault, id);
    }
    if (error instanceof QueryTooLong && service !== undefined)
      return service.keyFaults.unusable(tooLong(error));
    const fault = service?.faultOf?.(error);
    if (fault !== undefined) return fault;
    this.counts.unexpectedFailures += 1;
    request.log.error({ err: error, path: target.path }, 'unexpected failure');
    return namingRequest(service?.faults.unexpected() ?? httpFaults.serviceDown(), id);
  }
}

/** `docs/decisions.md#x71`. */
function tooLong({ timeLimit }: QueryTooLong): string {
  return `the search was stopped after ${timeLimit / 1000} s: use fewer words or values, or add keys that narrow it`;
}

function addHeaders(reply: FastifyReply, faults: readonly Fault[]): void {
  for (const { status, details } of faults) {
    if (details.allow !== undefined) reply.header('Allow', details.allow.join(', '));
    if (details.retryAfter !== undefined) reply.header('Retry-After', details.retryAfter);
    // The rest of a body that arrives too slowly is not awaited.
    if (status === 408) reply.header('Connection', 'close');
  }
}

export function isUnavailable(error: unknown): error is EngineUnavailable | NoGeneration {
  return error instanceof EngineUnavailable || error instanceof NoGeneration;
}

/** Whether a request met a stream that somebody has deleted (`StreamDeleted`, which may come from another thread). */
function isStreamDeleted(error: unknown): error is Fault {
  return error instanceof Fault && error.status === STREAM_DELETED;
}

/** Logs failures that are no bugs, and that requests meet again and again (`docs/decisions.md#x87`). */
export class ExpectedFailureLog {
  private readonly repeated = new RepeatedFailures(SYSTEM_CLOCK);

  /** Logs the reason, unless it was logged a short while ago; the stack at level `debug`. */
  add(log: FastifyBaseLogger, what: string, error: Error): void {
    log.debug({ err: error }, what);
    const reason = reasonsOf(error);
    const repeated = this.repeated.count(reason);
    if (repeated === undefined) return;
    log.warn({ reason, ...(repeated === 0 ? {} : { repeated }) }, what);
  }
}
