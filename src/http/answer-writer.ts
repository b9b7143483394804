import { Readable } from 'node:stream';
import { type FastifyReply } from 'fastify';
import { mapInSlices } from '../kernel/slices';
import { acceptsGzip } from '../wire/conditions';
import { CONTENT_TYPES } from '../wire/format';
import { Answer, type AnswerDetails } from './answer';
import { type Admission, admissionOf } from './decorators';
import { renderErrors, renderResult, type Rendered } from './render';
import { streamOf } from './send-stream';
import { StreamedAnswer } from './streamed-answer';
import { checkJsonp } from './view';

/**
 * What Fastify is to send for what a handler has returned: status and headers are set here. Anything but an answer is
 * left to Nest. Raises faults of the service.
 */
export async function payloadOf(returned: unknown, reply: FastifyReply): Promise<unknown> {
  if (returned instanceof Answer) return write(returned, reply);
  if (returned instanceof StreamedAnswer) return send(returned, reply);
  return returned;
}

async function write(answer: Answer, reply: FastifyReply): Promise<string | undefined> {
  const { headers = {}, position, status: ended = 200 } = answer.details;
  if (position !== undefined) reply.header('X-Log-Position', position);
  if (answer.renderings === 'none') {
    reply.code(ended);
    return undefined;
  }
  const { status, contentType, body } = render(answer.renderings, answer.details, admissionOf(reply.request));
  const pieces = await mapInSlices(body, (piece) => piece);
  reply.code(status).type(contentType).header('Vary', 'Accept').headers(headers);
  reply.header('X-Content-Type-Options', 'nosniff');
  return pieces.join('');
}

async function send({ begin, details }: StreamedAnswer, reply: FastifyReply): Promise<Readable> {
  const { request } = reply;
  const { view: wanted, service } = admissionOf(request);
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

function render(
  renderings: Exclude<Answer['renderings'], 'none'>,
  { status = 200, format: named }: AnswerDetails,
  { view: wanted, service, options }: Admission,
): Rendered {
  const view = { ...wanted, format: named ?? wanted.format };
  checkJsonp(view, service);
  if (!('faults' in renderings)) return renderResult(renderings, status, view);
  return renderErrors(renderings.faults, status, `${options.baseUrl()}${service.namespace}`, view);
}
