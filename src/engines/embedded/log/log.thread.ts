import { BroadcastChannel, type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { serveCalls } from '../../../runtime/calls';
import { positionOf, START } from '../../../kernel/event';
import { RevisionConflict } from '../../../kernel/event-log';
import { type Commit, GroupCommit, type Sent, LogWriter, type PackedAppend } from './log-writer';
import { BEYOND_LAST, expireWith, type Growth, POLL_MS } from './sqlite-event-log';
import { type LogKind, SUBJECTS } from './schema';

/** The log's file, and the channel on which the thread broadcasts how the log grows (`Growth`). */
export interface LogThreadData {
  readonly file: string;
  readonly kind: LogKind;
  readonly channel: string;
}

/** Of more streams none are named: whoever follows the log looks itself. */
const MOST_NAMED = 32;

/** The methods that the log thread offers other threads, over each port it receives. */
export class LogThread {
  readonly #writer: LogWriter;
  readonly #commits: GroupCommit;
  readonly #channel: BroadcastChannel;
  #head = START;
  #polling: NodeJS.Timeout | undefined;

  constructor({ file, kind, channel }: LogThreadData) {
    this.#writer = new LogWriter(file, kind);
    this.#channel = new BroadcastChannel(channel);
    this.#commits = new GroupCommit(
      (appends) => this.#writer.commit(appends),
      (commit) => this.#committed(commit),
      SUBJECTS[kind],
    );
  }

  open(): void {
    this.#writer.open();
    this.#writer.checkIndex();
    this.#head = this.#writer.head();
    this.#polling ??= setInterval(() => this.#poll(), POLL_MS).unref();
  }

  /** All appends of a message are committed together, as far as `GroupCommit` does. */
  async append(appends: readonly PackedAppend[]): Promise<readonly Sent[]> {
    return await Promise.all(
      appends.map((append) =>
        this.#commits.append(append).catch((error: unknown) => {
          if (error instanceof RevisionConflict) return { actual: error.actual };
          throw error;
        }),
      ),
    );
  }

  expire(before: number): Promise<void> {
    return expireWith(this.#writer, before);
  }

  #committed({ position, after, streams }: Commit): void {
    // Otherwise other processes have appended too, or it repeats an earlier append.
    const isNext = after === this.#head;
    const isNamed = isNext && streams.size <= MOST_NAMED;
    this.#announce({ position, ...(isNamed ? { after, streams: [...streams] } : {}) });
  }

  #announce(growth: Growth): void {
    if (growth.position > this.#head) this.#head = growth.position;
    this.#channel.postMessage(growth);
  }

  /** Finds appends of other processes: for all threads of this one, none of which polls. */
  #poll(): void {
    try {
      const position = this.#writer.head();
      if (position > this.#head) this.#announce({ position });
    } catch {
      // Whoever follows the log looks, and meets the same.
      this.#channel.postMessage({ position: positionOf(BEYOND_LAST) } satisfies Growth);
    }
  }

  close(): void {
    clearInterval(this.#polling);
    this.#commits.close();
    this.#writer.close();
    this.#channel.close();
  }
}

const thread = new LogThread(workerData as LogThreadData);
parentPort?.on('message', (port: MessagePort) => serveCalls(port, thread));
