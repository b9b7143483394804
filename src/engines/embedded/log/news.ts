/** Milliseconds between two looks at what other threads and processes have appended. */
const LOOK = 20;

interface Waiting {
  readonly after: number;
  readonly wake: () => void;
}

/** Lets readers wait until the log has grown: told at once by whoever knows, else found by looking. */
export class News {
  readonly #waiting = new Set<Waiting>();
  #looking: NodeJS.Timeout | undefined;
  #closed = false;

  /** `head` gives the log's last position. */
  constructor(private readonly head: () => number) {}

  get closed(): boolean {
    return this.#closed;
  }

  /** Resolves when the log has, or may have, something after this position; `signal` and `close` end the wait. */
  async beyond(after: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#closed || signal?.aborted === true || this.head() > after) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(waiting);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const waiting = { after, wake };
      this.#waiting.add(waiting);
      signal?.addEventListener('abort', wake);
      this.#looking ??= setInterval(() => this.#look(), LOOK).unref();
    });
  }

  /** Something was appended: the log has come up to this position at least. */
  reached(position: number): void {
    for (const { after, wake } of [...this.#waiting]) if (after < position) wake();
    if (this.#waiting.size > 0) return;
    clearInterval(this.#looking);
    this.#looking = undefined;
  }

  /** Ends every wait. */
  close(): void {
    this.#closed = true;
    this.reached(Infinity);
  }

  /** A log that cannot be looked at wakes them all: whoever reads next is told why. */
  #look(): void {
    try {
      this.reached(this.head());
    } catch {
      this.reached(Infinity);
    }
  }
}
