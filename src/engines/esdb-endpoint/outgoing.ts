/** The part of a call that messages are written to. */
export interface Sink<Message> {
  readonly cancelled: boolean;
  write(message: Message): boolean;
  on(event: 'drain' | 'cancelled' | 'close' | 'error', listener: () => void): unknown;
}

/** Writes messages to a call no faster than the client takes them. */
export class Outgoing<Message> {
  readonly #abort = new AbortController();
  #full: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  /** `signal` ends it, as the client does when it goes. */
  constructor(
    private readonly call: Sink<Message>,
    signal: AbortSignal,
  ) {
    const end = (): void => {
      this.#abort.abort();
      this.#resume();
    };
    signal.addEventListener('abort', end, { once: true });
    // One listener for the whole call: one for each wait costs half of the speed.
    call.on('drain', () => this.#resume());
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
    this.#full ??= pending();
    return this.#full.promise;
  }

  #resume(): void {
    const full = this.#full;
    this.#full = undefined;
    full?.resolve();
  }
}

function pending(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}
