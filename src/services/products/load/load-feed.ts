import { Readable, pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { productFaults as fault } from '../../../domain/products/feed';
import { type BodyCost } from '../../../http/posted-body';
import { type Remote } from '../../../runtime/calls';
import { httpFaults } from '../../../wire/api/errors';
import { type Loader, type LoadRequest, type LoadResult } from './loader';

export type ProductLoader = Remote<Loader>;

/** Where the bytes of a feed come from: a request, a file, another server. */
export interface FeedSource {
  readonly bytes: AsyncIterable<Buffer>;
  /** Limit of its bytes when they are not compressed. */
  readonly most: number;
  /** It is declared to be compressed; by default that is recognised. */
  readonly isGzip?: boolean;
  /** Called with how many bytes have been taken so far, uncompressed, and what their load uses. */
  readonly onUse?: (bytes: number, use: BodyCost) => void;
}

/** Chunks sent ahead of the loader's acknowledgement. */
const AHEAD = 16;

/**
 * Loads a feed of any format and size into a feed, as it comes in, gzip-compressed or not: checks every product, stores
 * those that are valid when all have come, and returns what was done and which products were refused. Nothing is
 * stored if it raises: `PF_210` for a malformed body, 413 for one that is too large, `EngineUnavailable`, and whatever
 * the source raises. `request.format` is `any` where nobody knows the format.
 */
export async function loadFeed(
  loader: ProductLoader,
  request: LoadRequest,
  source: FeedSource,
): Promise<LoadResult> {
  const id = await loader.open(request);
  try {
    await send(loader, id, source);
  } catch (error) {
    await loader.abort(id);
    throw error;
  }
  return loader.finish(id);
}

async function send(loader: ProductLoader, id: string, source: FeedSource): Promise<void> {
  const underWay: Promise<BodyCost>[] = [];
  let bytes = 0;
  const isUsed = (use: BodyCost): void => source.onUse?.(bytes, use);
  for await (const chunk of uncompressed(source)) {
    bytes += chunk.length;
    const first = underWay.length === AHEAD ? underWay.shift() : undefined;
    if (first !== undefined) isUsed(await first);
    const written = loader.write(id, chunk);
    // A failure is raised where this is awaited.
    written.catch(() => undefined);
    underWay.push(written);
  }
  for (const written of underWay) isUsed(await written);
}

/** The first bytes of gzip, which begin no other format. */
const GZIP = Buffer.from([0x1f, 0x8b]);
/** Bytes that are decompressed at a time. */
const CHUNK = 64 * 1024;

/** The bytes of a source, decompressed if they are gzip. Raises 413 beyond its limit, `PF_210` for damaged gzip. */
async function* uncompressed({ bytes, most, isGzip = false }: FeedSource): AsyncGenerator<Buffer, void> {
  const { isMarked, all } = await recognised(bytes);
  if (!isMarked) {
    if (isGzip) throw fault.noParsableContent('the body cannot be decompressed: expected gzip');
    yield* all;
    return;
  }
  const gunzip = createGunzip({ chunkSize: CHUNK });
  // A failure of either is raised by the iteration.
  pipeline(Readable.from(all, { objectMode: false }), gunzip, () => undefined);
  let length = 0;
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > most)
        throw httpFaults.bodyTooLarge(`expected a body of at most ${most} bytes, decompressed`);
      yield chunk;
    }
  } catch (error) {
    throw isDamage(error)
      ? fault.noParsableContent(`the body cannot be decompressed: ${error.message}`)
      : error;
  }
}

/** An error of zlib: its codes begin so. */
function isDamage(error: unknown): error is Error {
  return typeof error === 'object' && error !== null && 'code' in error && /^Z_/.test(String(error.code));
}

/** All chunks of a source, and whether it begins as gzip does. */
async function recognised(
  bytes: AsyncIterable<Buffer>,
): Promise<{ readonly isMarked: boolean; readonly all: AsyncGenerator<Buffer, void> }> {
  const chunks = bytes[Symbol.asyncIterator]();
  let begin: Buffer = Buffer.alloc(0);
  let isDone = false;
  while (!isDone && begin.length < GZIP.length) {
    const next = await chunks.next();
    if (next.done === true) isDone = true;
    else begin = begin.length === 0 ? next.value : Buffer.concat([begin, next.value]);
  }
  async function* all(): AsyncGenerator<Buffer, void> {
    try {
      if (begin.length > 0) yield begin;
      while (!isDone) {
        const next = await chunks.next();
        if (next.done === true) isDone = true;
        else yield next.value;
      }
    } finally {
      if (!isDone) await chunks.return?.();
    }
  }
  return { isMarked: begin.subarray(0, GZIP.length).equals(GZIP), all: all() };
}
