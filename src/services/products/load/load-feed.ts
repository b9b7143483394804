import { Readable, pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { productFaults as fault } from '../../../domain/products/feed';
import { type BodyCost } from '../../../http/posted-body';
import { type Remote } from '../../../runtime/calls';
import { httpFaults } from '../../../wire/api/errors';
import { beginningOf, isGzip } from '../../../wire/bytes';
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

/** Bytes that tell gzip from other formats. */
const MARK = 2;
/** Bytes that are decompressed at a time. */
const CHUNK = 64 * 1024;

/** The bytes of a source, decompressed if they are gzip. Raises 413 beyond its limit, `PF_210` for damaged gzip. */
async function* uncompressed({
  bytes,
  most,
  isGzip: isDeclared = false,
}: FeedSource): AsyncGenerator<Buffer, void> {
  const { begin, all } = await beginningOf(bytes, ({ length }) => length >= MARK);
  if (!isGzip(begin)) {
    if (isDeclared) throw fault.noParsableContent('the body cannot be decompressed: expected gzip');
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
