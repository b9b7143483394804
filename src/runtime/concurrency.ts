import { type Position, START } from '../kernel/event';
// eslint-disable-next-line no-restricted-imports -- a thread has one event loop; simulations set theirs by `sliceBy`.
import { type Clock, SYSTEM_CLOCK } from './clock';
import { crash } from './failure-report';
import { isAbort } from './unavailable';

/**
 * Works on many items, `atOnce` of them at a time; returns the results in the order of the items. After a failure no
 * further item is started, and the failure is raised as soon as the items under way have ended.
 */
export async function inParallel<Item, Result>(
  items: Iterable<Item>,
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  // All workers share one generator: a loop that ends with an error closes it for the others.
  let hasEnded = false;
  const queue = (function* () {
    let at = 0;
    try {
      for (const item of items) yield [at++, item] as const;
    } finally {
      hasEnded = true;
    }
  })();
  const worker = async (): Promise<void> => {
    for (const [at, item] of queue) results[at] = await work(item);
  };
  const workers: Promise<void>[] = [];
  // Most lists are short: they need few workers.
  const isEnough = (): boolean => hasEnded || workers.length === atOnce;
  while (!isEnough()) workers.push(worker());
  const ended = await Promise.allSettled(workers);
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
  return results;
}

/**
 * Splits items into batches, in order and on demand: each has at most `count` items, of at most `size` together. An
 * item that is larger is a batch of its own.
 */
export function* batchesOf<Item>(
  items: Iterable<Item>,
  { count, size }: { readonly count: number; readonly size: number },
  sizeOf: (item: Item) => number,
): Generator<[Item, ...Item[]]> {
  let batch: [Item, ...Item[]] | undefined;
  let used = 0;
  for (const item of items) {
    const own = sizeOf(item);
    used += own;
    if (batch !== undefined && batch.length < count && used <= size) {
      batch.push(item);
      continue;
    }
    if (batch !== undefined) yield batch;
    batch = [item];
    used = own;
  }
  if (batch !== undefined) yield batch;
}

/**
 * What is iterated, and `idle` where the next item has not come after some milliseconds: `most` returns how many, and
 * undefined to wait as long as it takes.
 */
export async function* orIdle<Item>(
  own: Clock,
  items: AsyncIterable<Item>,
  most: () => number | undefined,
): AsyncGenerator<Item | 'idle'> {
  const iterator = items[Symbol.asyncIterator]();
  let isPending = false;
  try {
    for (;;) {
      const next = iterator.next();
      isPending = true;
      const ms = most();
      if (ms !== undefined && !(await endsWithin(own, ms, next))) yield 'idle';
      const result = await next;
      isPending = false;
      if (result.done === true) return;
      yield result.value;
    }
  } finally {
    const ended = iterator.return?.();
    // It ends when the item that is awaited has come, or never.
    if (isPending) ended?.catch(() => undefined);
    else await ended;
  }
}

/** Whether `work` ends, in whatever way, within some milliseconds. */
async function endsWithin(own: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  return await new Promise((resolve) => {
    const timer = own.timer(Math.max(0, ms), () => resolve(false));
    const end = (): void => {
      timer.cancel();
      resolve(true);
    };
    work.then(end, end);
  });
}

/** A mutex per key: work for the same key runs one at a time, in the order of the calls. */
export class KeyedMutex<Key> {
  /** Per key, settles when the last caller in the queue is done. */
  private readonly tails = new Map<Key, Promise<void>>();

  /** Waits for the key's lock, then runs. */
  async runExclusive<Result>(key: Key, run: () => Promise<Result>): Promise<Result> {
    const previous = this.tails.get(key);
    const { promise: tail, resolve: release } = newPromise();
    this.tails.set(key, tail);
    if (previous !== undefined) await previous;
    try {
      return await run();
    } finally {
      if (this.tails.get(key) === tail) this.tails.delete(key);
      release();
    }
  }
}

/** How far somebody has come in the log, for others to wait for. */
export class WaitablePosition {
  private current: Position = START;
  private readonly waiters = new Set<{ readonly position: Position; readonly resolve: () => void }>();

  get position(): Position {
    return this.current;
  }

  advance(to: Position): void {
    this.current = to;
    for (const { position, resolve } of this.waiters) if (position <= to) resolve();
  }

  /** Waits until `position` is reached: true, or false if `signal` aborts first. */
  async reached(position: Position, signal?: AbortSignal): Promise<boolean> {
    while (this.current < position) {
      if (signal?.aborted === true) return false;
      const { promise, resolve } = newPromise();
      const waiter = { position, resolve };
      this.waiters.add(waiter);
      signal?.addEventListener('abort', resolve, { once: true });
      await promise;
      signal?.removeEventListener('abort', resolve);
      this.waiters.delete(waiter);
    }
    return true;
  }
}

export function newPromise(): {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
} {
  let [resolve, reject]: [() => void, (error: unknown) => void] = [() => undefined, () => undefined];
  const promise = new Promise<void>((settle, fail) => ([resolve, reject] = [settle, fail]));
  return { promise, resolve, reject };
}

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

/** Does all of this at once; when one ends, the others are ended. Raises the first failure. */
export async function endingTogether(
  signal: AbortSignal,
  tasks: readonly ((signal: AbortSignal) => Promise<void>)[],
): Promise<void> {
  const ending = new AbortController();
  const own = AbortSignal.any([signal, ending.signal]);
  const results = await Promise.allSettled(tasks.map((task) => task(own).finally(() => ending.abort())));
  for (const result of results)
    if (result.status === 'rejected' && !isAbort(result.reason)) throw result.reason;
}

/**
 * Caches results by key for `ms`. A result is computed on demand, once at a time: callers meanwhile share
 * it. Failures are not cached.
 */
export class SharedResults<Result> {
  private readonly cached = new Map<string, { until: number; readonly result: Promise<Result> }>();

  constructor(
    private readonly clock: Clock,
    private readonly ms: number,
  ) {}

  get(key: string, compute: () => Promise<Result>): Promise<Result> {
    const now = this.clock.monotonic();
    for (const [other, { until }] of this.cached) if (until <= now) this.cached.delete(other);
    const found = this.cached.get(key);
    if (found !== undefined) return found.result;
    const result = compute();
    const computed = { until: Infinity, result };
    this.cached.set(key, computed);
    result.then(
      () => (computed.until = now + this.ms),
      () => this.cached.delete(key),
    );
    return result;
  }
}
