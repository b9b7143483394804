import { type Appended, EngineUnavailable, RevisionConflict } from '../../../kernel/event-log';
import { type Position } from '../../../kernel/event';
import { type CommitResult, type PackedAppend } from './log-writer';
import { SUBJECTS } from './schema';

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

/** Maximum bytes per transaction, so that concurrent loads do not wait for one huge commit. */
const COMMIT_BYTES = 16 * 1024 * 1024;

interface PendingAppend {
  readonly append: PackedAppend;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Group commit: concurrent appends share one transaction and one wait for the disk. All appends that arrive within one
 * round of the event loop are committed together.
 */
export class GroupCommit {
  #pending: PendingAppend[] = [];
  #closed = false;

  /**
   * `subject` is named in errors. `committed` is called with the last position of each commit that appended something.
   */
  constructor(
    private readonly commit: (appends: readonly PackedAppend[]) => readonly CommitResult[],
    private readonly committed: (position: Position) => void,
    private readonly subject: string = SUBJECTS.events,
  ) {}

  /** Resolves when the append is on disk. Raises `RevisionConflict`, `EngineUnavailable`. */
  append(append: PackedAppend): Promise<Appended> {
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        reject(new EngineUnavailable(`${this.subject} is closed`));
        return;
      }
      if (this.#pending.length === 0) setImmediate(() => this.#flush());
      this.#pending.push({ append, resolve, reject });
    });
  }

  /** Commits pending appends and refuses later ones. */
  close(): void {
    this.#closed = true;
    while (this.#pending.length > 0) this.#flush();
  }

  #flush(): void {
    const group = this.#nextGroup();
    if (group.length === 0) return;
    if (this.#pending.length > 0) setImmediate(() => this.#flush());
    try {
      const outcomes = this.commit(group.map(({ append }) => append));
      this.#settle(group, outcomes);
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  #settle(group: readonly PendingAppend[], outcomes: readonly CommitResult[]): void {
    let last: Position = '';
    for (const [index, { resolve, reject }] of group.entries()) {
      const outcome = outcomes[index];
      if (outcome === undefined || outcome instanceof RevisionConflict) reject(outcome);
      else {
        if (outcome.position > last) last = outcome.position;
        resolve(outcome);
      }
    }
    if (last !== '') this.committed(last);
  }

  #nextGroup(): readonly PendingAppend[] {
    let bytes = 0;
    const end = this.#pending.findIndex(({ append }) => (bytes += append.bytes) > COMMIT_BYTES);
    return this.#pending.splice(0, end === -1 ? this.#pending.length : end);
  }
}
