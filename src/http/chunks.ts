import { SLICE_MS, yieldToEventLoop } from '../runtime/slices';

/** Characters of a chunk, more or less. */
const CHUNK = 256 * 1024;

/**
 * Joins pieces of text into chunks of bytes. Yields to the event loop every few milliseconds. Raises the reason once
 * `signal` is aborted.
 */
export async function* chunksOf(
  pieces: AsyncIterable<Iterable<string>> | Iterable<Iterable<string>>,
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  let parts: string[] = [];
  let length = 0;
  let began = performance.now();
  for await (const some of pieces) {
    for (const piece of some) {
      signal?.throwIfAborted();
      parts.push(piece);
      length += piece.length;
      if (length >= CHUNK) {
        yield Buffer.from(parts.join(''));
        parts = [];
        length = 0;
      }
      if (performance.now() - began < SLICE_MS) continue;
      await yieldToEventLoop();
      began = performance.now();
    }
  }
  if (length > 0) yield Buffer.from(parts.join(''));
}
