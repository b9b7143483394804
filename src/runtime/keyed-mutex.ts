import { newPromise } from './waitable-position';

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
