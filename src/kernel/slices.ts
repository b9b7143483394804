import { setImmediate } from 'node:timers/promises';

/** Milliseconds of work after which others have their turn. */
export const SLICE = 5;

let last: Promise<unknown> = Promise.resolve();

/**
 * Lets others have their turn. Of all the work that waits here one slice is done between two rounds of the event loop,
 * so that much work in slices holds up a request no longer than little.
 */
export async function nextTurn(): Promise<void> {
  const turn = last.then(() => setImmediate());
  last = turn;
  await turn;
}

/**
 * Maps one item after the other, and lets others have their turn every few milliseconds: long work must not hold up
 * the thread that serves HTTP. Once `signal` is aborted it raises the reason.
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
    if (performance.now() - began < SLICE) continue;
    await nextTurn();
    signal?.throwIfAborted();
    began = performance.now();
  }
  return results;
}
