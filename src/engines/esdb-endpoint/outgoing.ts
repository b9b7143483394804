/** The part of a call that messages are written to. */
export interface Sink<Message> {
  readonly cancelled: boolean;
  write(message: Message): boolean;
  on(event: 'drain' | 'cancelled' | 'close' | 'error', listener: () => void): unknown;
}

/** Writes messages to a call no faster than the client takes them. */
export class Outgoing<Message> {
  readonly #abort = new AbortController();
  #resume: (() => void) | undefined;

  /** `signal` ends it, as the client does when it goes. */
  constructor(
    private readonly call: Sink<Message>,
    signal: AbortSignal,
  ) {
    const end = (): void => {
      this.#abort.abort();
      this.#resume?.();
    };
    signal.addEventListener('abort', end, { once: true });
    // One listener for the whole call: one for each wait costs half of the speed.
    call.on('drain', () => this.#resume?.());
    for (const event of ['cancelled', 'close', 'error'] as const)
      call.on(event, () => {
        signal.removeEventListener('abort', end);
        end();
      });
    if (signal.aborted || call.cancelled) end();
  }

  /** Aborted once nobody listens any more. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Gives a promise where the next message has to wait for it. */
  send(message: Message): Promise<void> | undefined {
    if (this.signal.aborted || this.call.write(message)) return undefined;
    return new Promise((resolve) => {
      this.#resume = () => {
        this.#resume = undefined;
        resolve();
      };
    });
  }
}
