import { type Appended, EngineUnavailable, RevisionConflict } from '../../../kernel/event-log';
import { type Position } from '../../../kernel/event';
import { type Outcome } from './log-writer';
import { type PackedAppend } from './packed';
import { SUBJECT } from './schema';

/** Most bytes of one transaction: 64 loads at once do not make each other wait for all of it. */
const COMMIT_BYTES = 16 * 1024 * 1024;

interface Waiting {
  readonly append: PackedAppend;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Lets appends that come at the same time share one transaction and its one wait for the disk: what has come in
 * when the event loop has handed over everything it had is committed together.
 */
export class GroupCommit {
  #waiting: Waiting[] = [];
  #closed = false;

  /** `committed` hears of the last position of each commit that appended something. */
  constructor(
    private readonly commit: (appends: readonly PackedAppend[]) => readonly Outcome[],
    private readonly committed: (position: Position) => void,
  ) {}

  /** Answers when the append is on the disk. Raises `RevisionConflict`, `EngineUnavailable`. */
  append(append: PackedAppend): Promise<Appended> {
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        reject(new EngineUnavailable(`${SUBJECT} is closed`));
        return;
      }
      if (this.#waiting.length === 0) setImmediate(() => this.#flush());
      this.#waiting.push({ append, resolve, reject });
    });
  }

  /** Commits what is waiting; nothing is accepted afterwards. */
  close(): void {
    this.#closed = true;
    while (this.#waiting.length > 0) this.#flush();
  }

  #flush(): void {
    const group = this.#nextGroup();
    if (group.length === 0) return;
    if (this.#waiting.length > 0) setImmediate(() => this.#flush());
    try {
      const outcomes = this.commit(group.map(({ append }) => append));
      this.#answer(group, outcomes);
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  #answer(group: readonly Waiting[], outcomes: readonly Outcome[]): void {
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

  #nextGroup(): readonly Waiting[] {
    let bytes = 0;
    const end = this.#waiting.findIndex(({ append }) => (bytes += append.bytes) > COMMIT_BYTES);
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
  }
}
