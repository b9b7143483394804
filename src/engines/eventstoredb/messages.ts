import { ReadResp } from '@eventstore/db-client/generated/streams_pb';
import { type ClientReadableStream } from '@grpc/grpc-js';
import { asError } from './failure';

/** The messages of a read or a subscription, in the order of the server. */
export class Messages {
  #stream: ClientReadableStream<ReadResp> | undefined;
  #error: Error | undefined;
  #ended = false;
  #wake: () => void = () => undefined;

  /** `signal` ends the call. `timeoutMs` limits the wait for the next message. `ended` is called once, at the end. */
  constructor(
    opening: Promise<ClientReadableStream<ReadResp>>,
    private readonly signal: AbortSignal,
    private readonly timeoutMs: number,
    private readonly ended: () => void,
  ) {
    signal.addEventListener('abort', this.#close);
    if (signal.aborted) this.#finish();
    opening.then(
      (stream) => this.#listen(stream),
      (error: unknown) => this.#fail(error),
    );
  }

  /** The next message that has arrived; undefined if there is none. */
  take(): ReadResp | undefined {
    if (this.#ended) return undefined;
    const message: unknown = this.#stream?.read();
    return message instanceof ReadResp ? message : undefined;
  }

  /**
   * Waits until a message has arrived (`more`), the call has ended (`end`), or the time is up (`timeout`). Raises the
   * error that ended the call.
   */
  async next(timeoutMs = this.timeoutMs): Promise<'more' | 'end' | 'timeout'> {
    if (this.#available > 0) return 'more';
    if (this.#error === undefined && !this.#ended && !(await this.#waitForWake(timeoutMs))) return 'timeout';
    if (this.#ended) return 'end';
    if (this.#error !== undefined && this.#available === 0) throw this.#error;
    return 'more';
  }

  /** Ends the call and wakes the waiter. */
  close(): void {
    this.#finish();
    this.#stream?.cancel();
  }

  /** Messages that have arrived and are not taken yet. */
  get #available(): number {
    return this.#ended ? 0 : (this.#stream?.readableLength ?? 0);
  }

  #listen(stream: ClientReadableStream<ReadResp>): void {
    this.#stream = stream;
    stream.on('readable', () => this.#wake());
    stream.on('error', (error) => this.#fail(error));
    stream.on('end', this.#finish);
    if (this.#ended) stream.cancel();
  }

  #fail(error: unknown): void {
    this.#error ??= asError(error);
    this.#wake();
  }

  /** False if nothing happened in time. */
  async #waitForWake(timeoutMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), timeoutMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  readonly #close = (): void => this.close();

  readonly #finish = (): void => {
    if (this.#ended) return;
    this.#ended = true;
    this.signal.removeEventListener('abort', this.#close);
    this.#wake();
    this.ended();
  };
}
