/** A mutex per key: work for the same key runs one at a time, in the order of the calls. */
export class KeyedMutex<Key> {
  /** Per key, settles when the last caller in the queue is done. */
  private readonly tails = new Map<Key, Promise<void>>();

  isLocked(key: Key): boolean {
    return this.tails.has(key);
  }

  /** Waits for the key's lock, then runs. */
  async runExclusive<Result>(key: Key, run: () => Promise<Result>): Promise<Result> {
    const previous = this.tails.get(key) ?? Promise.resolve();
    const result = previous.then(run);
    const tail = result.then(
      () => undefined,
      () => undefined,
    );
    this.tails.set(key, tail);
    try {
      return await result;
    } finally {
      if (this.tails.get(key) === tail) this.tails.delete(key);
    }
  }
}
