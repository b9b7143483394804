import { Transform } from 'node:stream';
import { ReadResp } from '@eventstore/db-client/generated/streams_pb';

/**
 * The messages of a read or a subscription, as the server sent them and in its order.
 *
 * The client's own streams parse the data of every event, which cannot give a text back to the letter, and tell
 * checkpoints and `caughtUp` aside, ahead of events that have come before them. So their last step, the one that
 * Node.js documents for such streams (`_transform`), is replaced by one that passes every message on.
 */
export class Messages {
  readonly #stream: Transform;
  #error: Error | undefined;
  #ended = false;
  #wake: () => void = () => undefined;

  /**
   * `cancel` ends the call: a stream that is only left alone would go on for ever. So does `signal`. `silence`: how
   * long the next message may take (ms).
   */
  constructor(
    stream: unknown,
    private readonly cancel: () => Promise<void>,
    private readonly signal: AbortSignal,
    private readonly silence: number,
  ) {
    if (!(stream instanceof Transform)) throw new TypeError('the client reads otherwise than version 6.2.1');
    this.#stream = stream;
    stream._transform = (message: unknown, _encoding, done) => done(null, message);
    stream.on('readable', () => this.#wake());
    stream.on('error', (error) => {
      this.#error ??= error;
      this.#wake();
    });
    stream.on('end', this.#finish);
    signal.addEventListener('abort', this.#abort);
    if (signal.aborted) this.#abort();
  }

  /** How many have come that are not taken yet. */
  get waiting(): number {
    return this.#ended ? 0 : this.#stream.readableLength;
  }

  /** A message that has come; undefined while there is none. */
  take(): ReadResp | undefined {
    if (this.#ended) return undefined;
    const message: unknown = this.#stream.read();
    return message instanceof ReadResp ? message : undefined;
  }

  /**
   * Waits until there is something to be taken (`more`), until nothing will come any more (`end`), or for so
   * long (ms; `silence`). Raises what has ended the call.
   */
  async next(silence = this.silence): Promise<'more' | 'end' | 'silence'> {
    if (this.waiting > 0) return 'more';
    if (this.#error === undefined && !this.#ended && !(await this.#woken(silence))) return 'silence';
    if (this.#ended) return 'end';
    if (this.#error !== undefined && this.waiting === 0) throw this.#error;
    return 'more';
  }

  /** Wakes whoever waits, and ends the call. */
  close(): void {
    this.#finish();
    // It may never have been made, or not yet.
    void this.cancel().catch(() => undefined);
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

  readonly #abort = (): void => this.close();

  readonly #finish = (): void => {
    this.#ended = true;
    this.signal.removeEventListener('abort', this.#abort);
    this.#wake();
  };
}
