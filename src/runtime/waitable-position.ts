import { type Position, START } from '../kernel/event';

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

/** A promise with its functions. */
export function newPromise(): {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
} {
  let [resolve, reject]: [() => void, (error: unknown) => void] = [() => undefined, () => undefined];
  const promise = new Promise<void>((settle, fail) => ([resolve, reject] = [settle, fail]));
  return { promise, resolve, reject };
}
