/** Polling interval (ms) for appends by other threads and processes. */
const POLL_MS = 20;

interface Waiter {
  readonly after: number;
  readonly wake: () => void;
}

/** Lets readers wait until the log grows. Appends of this process notify at once; others are found by polling. */
export class HeadWatcher {
  readonly #waiters = new Set<Waiter>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** `head` returns the log's last position. */
  constructor(private readonly head: () => number) {}

  get closed(): boolean {
    return this.#closed;
  }

  /** Resolves once the log has, or may have, events after this position; `signal` and `close` end the wait. */
  async grownBeyond(after: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#closed || signal?.aborted === true || this.head() > after) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        this.#waiters.delete(waiter);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const waiter = { after, wake };
      this.#waiters.add(waiter);
      signal?.addEventListener('abort', wake);
      this.#timer ??= setInterval(() => this.#poll(), POLL_MS).unref();
    });
  }

  /** Wakes those who wait for less than this position, which the log has reached. */
  reached(position: number): void {
    for (const { after, wake } of [...this.#waiters]) if (after < position) wake();
    if (this.#waiters.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Ends every wait. */
  close(): void {
    this.#closed = true;
    this.reached(Infinity);
  }

  /** If the head cannot be read, wakes everybody: their next read raises the error. */
  #poll(): void {
    try {
      this.reached(this.head());
    } catch {
      this.reached(Infinity);
    }
  }
}
