/** The writable side of a call. */
export interface Sink<Message> {
  readonly cancelled: boolean;
  write(message: Message): boolean;
  on(event: 'drain' | 'cancelled' | 'close' | 'error', listener: () => void): unknown;
}

/** Writes messages to a call, with backpressure. */
export class CallWriter<Message> {
  readonly #abort = new AbortController();
  #full: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  /** `signal` ends the call, and so does a client that disconnects. */
  constructor(
    private readonly call: Sink<Message>,
    signal: AbortSignal,
  ) {
    const end = (): void => {
      this.#abort.abort();
      this.#resume();
    };
    signal.addEventListener('abort', end, { once: true });
    // One listener for the whole call: adding one per wait halves the throughput.
    call.on('drain', () => this.#resume());
    for (const event of ['cancelled', 'close', 'error'] as const)
      call.on(event, () => {
        signal.removeEventListener('abort', end);
        end();
      });
    if (signal.aborted || call.cancelled) end();
  }

  /** Aborted once the call has ended. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Sends a message. Returns a promise if the next message must wait for it. */
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
