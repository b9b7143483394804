import { type Appended, RevisionConflict } from '../../../kernel/event-log';
import { type PackedAppend } from './packed';

/** What became of an append in the log thread: errors of a class do not survive the way between threads. */
export type Sent = Appended | { readonly actual: number };

/** Bytes after which appends are sent at once: a large load does not delay the answers to small ones. */
const MOST_BYTES = 1024 * 1024;

interface Waiting {
  readonly append: PackedAppend;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Sends appends to the log thread: all those of one round of the event loop in one message, since a message costs
 * several times what committing a small append does.
 */
export class AppendSender {
  #waiting: Waiting[] = [];
  #bytes = 0;

  constructor(private readonly send: (appends: readonly PackedAppend[]) => Promise<readonly Sent[]>) {}

  /** Resolves when the append is on disk. Raises `RevisionConflict`, `EngineUnavailable`. */
  append(append: PackedAppend): Promise<Appended> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#flush());
      this.#waiting.push({ append, resolve, reject });
      this.#bytes += append.bytes;
      if (this.#bytes >= MOST_BYTES) this.#flush();
    });
  }

  #flush(): void {
    const sending = this.#waiting;
    this.#waiting = [];
    this.#bytes = 0;
    if (sending.length === 0) return;
    this.send(sending.map(({ append }) => append))
      .then((results) => settle(sending, results))
      .catch((error: unknown) => {
        for (const { reject } of sending) reject(error);
      });
  }
}

function settle(sent: readonly Waiting[], results: readonly Sent[]): void {
  for (const [index, { append, resolve, reject }] of sent.entries()) {
    const result = results[index];
    if (result !== undefined && 'position' in result) resolve(result);
    else reject(new RevisionConflict(append.stream, append.expected, result?.actual ?? NaN));
  }
}
