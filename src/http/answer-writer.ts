import { Readable } from 'node:stream';
import { type FastifyReply } from 'fastify';
import { acceptsGzip } from '../wire/conditions';
import { CONTENT_TYPES } from '../wire/format';
import { calledWith } from '../wire/jsonp';
import { Answer, type AnswerDetails } from './answer';
import { chunksOf } from './chunks';
import { type Admission, admissionOf } from './decorators';
import { ListAnswer } from './list-answer';
import { inTurn } from './reads';
import { renderErrors, renderResult, type Rendered } from './render';
import { dropIfSlow, streamOf } from './send-stream';
import { StreamedAnswer } from './streamed-answer';
import { checkJsonp } from './view';

/**
 * What Fastify is to send for what a handler has returned: status and headers are set here. Anything but an answer is
 * left to Nest. Raises faults of the service.
 */
export async function payloadOf(returned: unknown, reply: FastifyReply): Promise<unknown> {
  if (returned instanceof Answer) return write(returned, reply);
  if (returned instanceof ListAnswer) return list(returned, reply);
  if (returned instanceof StreamedAnswer) return send(returned, reply);
  return returned;
}

async function write(answer: Answer, reply: FastifyReply): Promise<Buffer | Readable | undefined> {
  const { headers = {}, position, status: ended = 200 } = answer.details;
  if (position !== undefined) reply.header('X-Log-Position', position);
  if (answer.renderings === 'none') {
    reply.code(ended);
    return undefined;
  }
  const admission = admissionOf(reply.request);
  const { status, contentType, body } = render(answer.renderings, answer.details, admission);
  const payload = await payloadFrom(chunksOf([body]), reply, admission.options.downloadRate);
  reply.code(status).type(contentType).header('Vary', 'Accept').headers(headers);
  reply.header('X-Content-Type-Options', 'nosniff');
  return payload;
}

/** Reads and writes a list when it is the client's turn. */
async function list({ begin, details }: ListAnswer, reply: FastifyReply): Promise<Buffer | Readable> {
  const { view: wanted, service, options } = admissionOf(reply.request);
  const view = { ...wanted, format: details.format ?? wanted.format };
  checkJsonp(view, service);
  return await inTurn(reply, async (query) => {
    const { headers = {}, pieces } = await begin({ view, query });
    query.signal?.throwIfAborted();
    const body = view.jsonp === undefined ? pieces : calledWith(view.jsonp, pieces);
    const payload = await payloadFrom(chunksOf(body, query.signal), reply, options.downloadRate);
    reply.type(CONTENT_TYPES[view.jsonp === undefined ? view.format : 'jsonp']).headers(headers);
    reply.header('Vary', 'Accept').header('X-Content-Type-Options', 'nosniff');
    return payload;
  });
}

/** One chunk as it is, with its length; more are sent while they are written, at the client's pace. */
async function payloadFrom(
  chunks: AsyncGenerator<Buffer>,
  reply: FastifyReply,
  leastRate: number,
): Promise<Buffer | Readable> {
  const first = await chunks.next();
  if (first.done === true) return Buffer.alloc(0);
  const second = await chunks.next();
  if (second.done === true) {
    dropIfSlow(reply.raw, first.value.byteLength, leastRate);
    return first.value;
  }
  if (reply.request.method === 'HEAD') {
    await chunks.return(undefined);
    return Readable.from([]);
  }
  const { value } = second;
  async function* all(): AsyncGenerator<Buffer> {
    yield first.value as Buffer;
    yield value;
    yield* chunks;
  }
  return streamOf(all(), { gzip: false, leastRate });
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
