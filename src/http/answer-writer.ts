import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { constants, gzip as gzipped } from 'node:zlib';
import { Injectable } from '@nestjs/common';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { SLICE_MS } from '../runtime/concurrency';
import { acceptsGzip, CONTENT_TYPES, type Format } from '../wire/api/format';
import { calledWith } from '../wire/json/write';
import { Answer, ListAnswer, QueuedAnswer, StreamedAnswer } from './answer';
import { ClientGone, ReadQueue } from './read-queue';
import {
  checkJsonp,
  helpLinks,
  type Rendered,
  renderErrors,
  renderResult,
  type Representation,
} from './representation';
import { admissionOf } from './request-state';
import { dropIfSlow, streamOf, whenOver } from './send-stream';
import { errorNamespace, HttpParts } from './service';

const compress = promisify(gzipped);

/** Bytes from which an answer is worth compressing (`docs/decisions.md#x80`). */
const COMPRESSED_FROM = 1024;

type Payload = Buffer | string | Readable | undefined;

/** Turns what a handler returns into what Fastify sends. */
@Injectable()
export class AnswerWriter {
  constructor(
    private readonly parts: HttpParts,
    private readonly reads: ReadQueue,
  ) {}

  /** Sets status and headers too. Other values are left to Nest. Raises faults of the service. */
  async payloadOf(returned: unknown, reply: FastifyReply): Promise<unknown> {
    if (returned instanceof Answer) return await this.write(returned, reply);
    if (returned instanceof ListAnswer) return await this.list(returned, reply);
    if (returned instanceof QueuedAnswer) return await this.queued(returned, reply);
    if (returned instanceof StreamedAnswer) return await this.stream(returned, reply);
    return returned;
  }

  private async write({ renderings, details }: Answer, reply: FastifyReply): Promise<Payload> {
    const { headers = {}, position, status = 200, itemFaults = [] } = details;
    reply.headers(helpLinks(itemFaults, this.parts.baseUrl()));
    if (position !== undefined) reply.header('X-Log-Position', position);
    if (renderings === 'none') {
      reply.code(status);
      return undefined;
    }
    const rendered = this.render(renderings, status, representationFor(reply, details.format), reply);
    const payload = await this.payload(chunksOf([rendered.body]), reply);
    describe(reply.code(rendered.status).headers(headers), rendered.contentType);
    return payload;
  }

  private render(
    renderings: Exclude<Answer['renderings'], 'none'>,
    status: number,
    view: Representation,
    reply: FastifyReply,
  ): Rendered {
    if (!('faults' in renderings)) return renderResult(renderings, status, view);
    const { service } = admissionOf(reply.request);
    const baseUrl = this.parts.baseUrl();
    const namespace = errorNamespace(service, reply.request.method, baseUrl);
    reply.headers(helpLinks(renderings.faults, baseUrl));
    return renderErrors(renderings.faults, status, namespace, view);
  }

  private async list({ begin, details }: ListAnswer, reply: FastifyReply): Promise<Payload> {
    const view = representationFor(reply, details.format);
    return await this.reads.run(reply, async (query) => {
      const { headers = {}, pieces } = await begin({ view, query });
      query.signal?.throwIfAborted();
      const body = view.jsonp === undefined ? pieces : calledWith(view.jsonp, pieces);
      const payload = await this.payload(chunksOf(body, query.signal), reply);
      describe(reply.headers(headers), contentTypeOf(view));
      return payload;
    });
  }

  private async queued({ begin }: QueuedAnswer, reply: FastifyReply): Promise<Payload> {
    return await this.reads.run(reply, async (query) => {
      const answer = await begin(query);
      query.signal?.throwIfAborted();
      return await this.write(answer, reply);
    });
  }

  /** One chunk as a whole, with its length; several are sent while they are written, at the client's pace. */
  private async payload(produced: AsyncGenerator<string>, reply: FastifyReply): Promise<Payload> {
    // An answer that is kept is there as a whole.
    const chunks = reply.request.repeatable === undefined ? produced : whole(produced);
    const leastRate = this.parts.downloadRate;
    const first = await chunks.next();
    if (first.done === true) return Buffer.alloc(0);
    const second = await chunks.next();
    if (second.done === true) {
      // A text is written together with its headers, which bytes are not.
      const text = first.value;
      const length = Buffer.byteLength(text);
      const body = isCompressed(length, reply.request) ? await encoded(Buffer.from(text), reply) : text;
      dropIfSlow(reply.raw, typeof body === 'string' ? length : body.byteLength, leastRate);
      return body;
    }
    const gzip = acceptsGzip(reply.request.headers['accept-encoding']?.toString());
    if (gzip) reply.header('Content-Encoding', 'gzip');
    if (reply.request.method === 'HEAD') {
      await chunks.return(undefined);
      return Readable.from([]);
    }
    return streamOf(joined([first.value, second.value], chunks), { gzip, leastRate });
  }

  private async stream({ begin, details }: StreamedAnswer, reply: FastifyReply): Promise<Readable> {
    const { headers: sent, method } = reply.request;
    const view = representationFor(reply, details.format);
    const isLive = details.isLive === true;
    const gzip = details.gzip === true || (!isLive && acceptsGzip(sent['accept-encoding']?.toString()));
    const ifNoneMatch = sent['if-none-match'];
    const headOnly = method === 'HEAD';
    const gone = new AbortController();
    whenOver(reply.raw, () => gone.abort(new ClientGone()));
    const answer = await begin({ view, gzip, ifNoneMatch, headOnly, signal: gone.signal });
    const { status, headers, body, ended } = answer;
    describe(reply.code(status).headers(headers), contentTypeOf(view));
    if (gzip) reply.header('Content-Encoding', 'gzip');
    if (body === undefined) return Readable.from([]);
    const stream = streamOf(body, { gzip, leastRate: details.leastRate });
    if (ended !== undefined) {
      // A body that waits, or that reads much between two chunks, cannot be returned early: its producer is notified.
      whenOver(reply.raw, ended);
      stream.once('close', ended);
    }
    return isLive ? stream.once('resume', () => reply.raw.flushHeaders()) : stream;
  }
}

function representationFor({ request }: FastifyReply, format: Format | undefined): Representation {
  const { view, service } = admissionOf(request);
  const wanted = format === undefined ? view : { ...view, format };
  checkJsonp(wanted, service);
  return wanted;
}

function contentTypeOf({ format, jsonp }: Representation): string {
  return CONTENT_TYPES[jsonp === undefined ? format : 'jsonp'];
}

/** The headers of every answer that may differ by format and compression. */
function describe(reply: FastifyReply, contentType: string): void {
  reply
    .type(contentType)
    .header('Vary', 'Accept, Accept-Encoding')
    .header('X-Content-Type-Options', 'nosniff');
}

/**
 * A body of a text for a client, compressed if that is worth it (`docs/decisions.md#x80`), by a thread of libuv: the
 * event loop continues.
 */
export async function encoded(body: Buffer, reply: FastifyReply): Promise<Buffer> {
  if (!isCompressed(body.byteLength, reply.request)) return body;
  const smaller = await compress(body, { level: constants.Z_BEST_SPEED });
  reply.header('Content-Encoding', 'gzip');
  return smaller;
}

/** Whether an answer with a body of this length is compressed. */
export function isCompressed(bytes: number, { headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return bytes >= COMPRESSED_FROM && acceptsGzip(headers['accept-encoding']?.toString());
}

async function* whole(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  const all: string[] = [];
  for await (const chunk of chunks) all.push(chunk);
  yield all.join('');
}

async function* joined(first: readonly string[], rest: AsyncIterable<string>): AsyncGenerator<Buffer> {
  for (const chunk of first) yield Buffer.from(chunk);
  for await (const chunk of rest) yield Buffer.from(chunk);
}

/** Characters of a chunk, more or less. */
const CHUNK = 256 * 1024;

/** Joins text into chunks, yielding to the event loop. Raises the reason once `signal` is aborted. */
async function* chunksOf(
  pieces: AsyncIterable<Iterable<string>> | Iterable<Iterable<string>>,
  signal?: AbortSignal,
): AsyncGenerator<string> {
  let parts: string[] = [];
  let length = 0;
  let began = performance.now();
  for await (const some of pieces) {
    for (const piece of some) {
      signal?.throwIfAborted();
      parts.push(piece);
      length += piece.length;
      if (length >= CHUNK) {
        yield parts.join('');
        parts = [];
        length = 0;
      }
      if (performance.now() - began < SLICE_MS) continue;
      await SYSTEM_CLOCK.yield();
      began = performance.now();
    }
  }
  if (length > 0) yield parts.join('');
}
