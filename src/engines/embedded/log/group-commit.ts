import { type Appended, EngineUnavailable, RevisionConflict } from '../../../kernel/event-log';
import { type Position } from '../../../kernel/event';
import { type CommitResult } from './log-writer';
import { type PackedAppend } from './packed';
import { SUBJECTS } from './schema';

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
