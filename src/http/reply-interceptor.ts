import { type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Readable } from 'node:stream';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { concatMap, type Observable } from 'rxjs';
import { mapInSlices } from '../kernel/slices';
import { acceptsGzip } from '../wire/conditions';
import { CONTENT_TYPES, type Format } from '../wire/format';
import { httpFaults } from '../wire/open-api';
import { Answer, type AnswerDetails } from './answer';
import { FORMATS } from './decorators';
import { renderErrors, renderResult, type Rendered } from './render';
import { factsOf } from './request-facts';
import { streamOf } from './send-stream';
import { type HttpOptions, type Service, serviceOf } from './service';
import { StreamedAnswer } from './streamed-answer';
import { checkJsonp, type View, viewOf } from './view';

const POSITION = /^\d{19}$/;
/** Longest wait for a position, in milliseconds (`docs/decisions.md#a7`). */
const MAX_WAIT = 2000;

/**
 * Waits for the position that a read names, and writes what a handler returns: an `Answer`, else it is left
 * to Nest.
 */
export class ReplyInterceptor implements NestInterceptor {
  private readonly reflector = new Reflector();

  constructor(private readonly options: HttpOptions) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    const service = serviceOf(this.options.services, factsOf(request.raw).target.path);
    if (service === undefined) return next.handle();
    const offered = this.reflector.get<readonly Format[] | undefined>(FORMATS, context.getHandler());
    const view = viewOf(request, service, offered ?? ['json', 'xml']);
    await this.waitForPosition(request, service);
    return next
      .handle()
      .pipe(
        concatMap(async (value: unknown) =>
          value instanceof Answer
            ? this.write(value, view, service, reply)
            : value instanceof StreamedAnswer
              ? this.send(value, view, service, { request, reply })
              : value,
        ),
      );
  }

  private async waitForPosition(request: FastifyRequest, service: Service): Promise<void> {
    const sent = request.headers['x-min-position'];
    if (sent === undefined) return;
    const position = String(sent);
    if (!POSITION.test(position)) {
      throw service.keyFaults.unusable(
        `X-Min-Position: ${position}: accepted is the value of an X-Log-Position`,
      );
    }
    if (await this.options.waitFor(position, MAX_WAIT)) return;
    throw httpFaults.notYet(`${position} cannot be read yet`, { retryAfter: 1 });
  }

  private async write(
    answer: Answer,
    view: View,
    service: Service,
    reply: FastifyReply,
  ): Promise<string | undefined> {
    const { headers = {}, position, status: ended = 200 } = answer.details;
    if (position !== undefined) reply.header('X-Log-Position', position);
    if (answer.renderings === 'none') {
      reply.code(ended);
      return undefined;
    }
    const { status, contentType, body } = this.render(answer.renderings, answer.details, view, service);
    const pieces = await mapInSlices(body, (piece) => piece);
    reply.code(status).type(contentType).headers(headers).header('X-Content-Type-Options', 'nosniff');
    return pieces.join('');
  }

  private async send(
    { begin, details }: StreamedAnswer,
    wanted: View,
    service: Service,
    { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  ): Promise<Readable> {
    const view = { ...wanted, format: details.format ?? wanted.format };
    checkJsonp(view, service);
    const { 'accept-encoding': accepted, 'if-none-match': ifNoneMatch } = request.headers;
    const gzip = details.gzip === true || acceptsGzip(accepted?.toString());
    const headOnly = request.method === 'HEAD';
    const {
      status,
      headers,
      body,
      ended = () => undefined,
    } = await begin({ view, gzip, ifNoneMatch, headOnly });
    const type = CONTENT_TYPES[view.jsonp === undefined ? view.format : 'jsonp'];
    reply.code(status).type(type).headers(headers).header('Vary', 'Accept, Accept-Encoding');
    reply.header('X-Content-Type-Options', 'nosniff');
    if (gzip) reply.header('Content-Encoding', 'gzip');
    if (body === undefined) return Readable.from([]);
    return streamOf(body, { gzip, leastRate: details.leastRate }).once('close', ended);
  }

  private render(
    renderings: Exclude<Answer['renderings'], 'none'>,
    { status = 200, format: named }: AnswerDetails,
    wanted: View,
    service: Service,
  ): Rendered {
    const format = named ?? wanted.format;
    const view = { ...wanted, format };
    checkJsonp(view, service);
    if (!('faults' in renderings)) return renderResult(renderings, status, view);
    return renderErrors(renderings.faults, status, `${this.options.baseUrl()}${service.namespace}`, view);
  }
}
