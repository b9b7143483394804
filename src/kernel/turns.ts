/** Lets those who want the same thing have it one after the other, in the order they came. */
export class Turns<Key> {
  private readonly last = new Map<Key, Promise<void>>();

  isTaken(key: Key): boolean {
    return this.last.has(key);
  }

  /** Waits for its turn, then runs. */
  async take<Result>(key: Key, run: () => Promise<Result>): Promise<Result> {
    const before = this.last.get(key) ?? Promise.resolve();
    const result = before.then(run);
    const ended = result.then(
      () => undefined,
      () => undefined,
    );
    this.last.set(key, ended);
    try {
      return await result;
    } finally {
      if (this.last.get(key) === ended) this.last.delete(key);
    }
  }
}
