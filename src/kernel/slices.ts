import { setImmediate } from 'node:timers/promises';

/** Milliseconds of synchronous work between two yields to the event loop. */
export const SLICE_MS = 5;

let last: Promise<unknown> = Promise.resolve();

/**
 * Yields to the event loop. All callers share one queue, and each round of the event loop resumes one of them, so a
 * request waits for one slice at most, however many callers are busy.
 */
export async function yieldToEventLoop(): Promise<void> {
  const resumed = last.then(() => setImmediate());
  last = resumed;
  await resumed;
}

/**
 * For loops of long work: yields to the event loop whenever it is called after a slice of work, and otherwise returns nothing.
 */
export function pacer(): () => Promise<void> | undefined {
  let began = performance.now();
  return () => {
    if (performance.now() - began < SLICE_MS) return undefined;
    return yieldToEventLoop().then(() => {
      began = performance.now();
    });
  };
}

/**
 * Maps items in order and yields every few milliseconds, since long work must not block the thread that serves HTTP.
 * Raises the reason of `signal` once it is aborted.
 */
export async function mapInSlices<Item, Result>(
  items: Iterable<Item>,
  map: (item: Item) => Result,
  signal?: AbortSignal,
): Promise<Result[]> {
  const results: Result[] = [];
  let began = performance.now();
  for (const item of items) {
    results.push(map(item));
    if (performance.now() - began < SLICE_MS) continue;
    await yieldToEventLoop();
    signal?.throwIfAborted();
    began = performance.now();
  }
  return results;
}
