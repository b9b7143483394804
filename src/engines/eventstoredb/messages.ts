import { ReadResp } from '@eventstore/db-client/generated/streams_pb';
import { type ClientReadableStream } from '@grpc/grpc-js';
import { asError } from './trouble';

/** The messages of a read or a subscription, as the server sent them and in its order. */
export class Messages {
  #stream: ClientReadableStream<ReadResp> | undefined;
  #error: Error | undefined;
  #ended = false;
  #wake: () => void = () => undefined;

  /** `signal` ends the call. `silence`: how long the next message may take (ms). `ended` is called once, at its end. */
  constructor(
    opening: Promise<ClientReadableStream<ReadResp>>,
    private readonly signal: AbortSignal,
    private readonly silence: number,
    private readonly ended: () => void,
  ) {
    signal.addEventListener('abort', this.#close);
    if (signal.aborted) this.#finish();
    opening.then(
      (stream) => this.#listen(stream),
      (error: unknown) => this.#fail(error),
    );
  }

  /** A message that has come; undefined while there is none. */
  take(): ReadResp | undefined {
    if (this.#ended) return undefined;
    const message: unknown = this.#stream?.read();
    return message instanceof ReadResp ? message : undefined;
  }

  /**
   * Waits until there is something to be taken (`more`), until nothing will come any more (`end`), or for so
   * long (ms; `silence`). Raises what has ended the call.
   */
  async next(silence = this.silence): Promise<'more' | 'end' | 'silence'> {
    if (this.#waiting > 0) return 'more';
    if (this.#error === undefined && !this.#ended && !(await this.#woken(silence))) return 'silence';
    if (this.#ended) return 'end';
    if (this.#error !== undefined && this.#waiting === 0) throw this.#error;
    return 'more';
  }

  /** Wakes whoever waits, and ends the call. */
  close(): void {
    this.#finish();
    this.#stream?.cancel();
  }

  /** How many have come that are not taken yet. */
  get #waiting(): number {
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

  /** False when nothing has happened for so long. */
  async #woken(silence: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), silence);
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
