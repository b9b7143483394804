// eslint-disable-next-line no-restricted-imports -- a thread has one event loop; simulations set theirs by `sliceBy`.
import { type Clock, SYSTEM_CLOCK } from './clock';
import { crash } from './failure-report';

/** Milliseconds of synchronous work between two yields to the event loop. */
export const SLICE_MS = 5;

/** That of the thread, whose event loop all slices share. */
let clock: Clock = SYSTEM_CLOCK;

/** Measures slices by another clock: for simulations, in which no time passes while a thread works. */
export function sliceBy(other: Clock): void {
  clock = other;
}

/**
 * For long work, in one loop or in several at once. Returns nothing while a slice of work is not over, and else a
 * promise to be awaited before more work. Those who wait continue in their order, as many as fit into a slice: with a
 * round of the event loop for each of them, rounds would have hardly any work.
 */
export function pacer(): () => Promise<void> | undefined {
  let began = clock.monotonic();
  const waiting: (() => void)[] = [];
  let isResuming = false;
  const isOver = (): boolean => clock.monotonic() - began >= SLICE_MS;
  const resume = async (): Promise<void> => {
    isResuming = true;
    for (;;) {
      if (isOver()) {
        await clock.yield();
        began = clock.monotonic();
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
  let began = clock.monotonic();
  for (const item of items) {
    results.push(map(item));
    if (clock.monotonic() - began < SLICE_MS) continue;
    await clock.yield();
    signal?.throwIfAborted();
    began = clock.monotonic();
  }
  return results;
}
