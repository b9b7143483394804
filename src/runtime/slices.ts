import { setImmediate } from 'node:timers/promises';
import { crash } from './failure-report';

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
 * For long work, in one loop or in several at once. Returns nothing while a slice of work is not over, and else a
 * promise to be awaited before more work. Those who wait continue in their order, as many as fit into a slice: with a
 * round of the event loop for each of them, rounds would have hardly any work.
 */
export function pacer(): () => Promise<void> | undefined {
  let began = performance.now();
  const waiting: (() => void)[] = [];
  let isResuming = false;
  const isOver = (): boolean => performance.now() - began >= SLICE_MS;
  const resume = async (): Promise<void> => {
    isResuming = true;
    for (;;) {
      if (isOver()) {
        await yieldToEventLoop();
        began = performance.now();
      }
      const next = waiting.shift();
      if (next === undefined) break;
      next();
      // It works before the next one.
      await Promise.resolve();
    }
    isResuming = false;
  };
  return () => {
    if (!isResuming && !isOver()) return undefined;
    return new Promise((resolve) => {
      waiting.push(resolve);
      if (!isResuming) resume().catch(crash);
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
