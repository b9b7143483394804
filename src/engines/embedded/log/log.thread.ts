import { BroadcastChannel, type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { serveCalls } from '../../../runtime/calls';
import { RevisionConflict } from '../../../kernel/event-log';
import { GroupCommit, type Sent, LogWriter, type PackedAppend } from './log-writer';
import { expireWith } from './sqlite-event-log';
import { type LogKind, SUBJECTS } from './schema';

/** The log's file, and the channel on which the thread broadcasts the head of the log. */
export interface LogThreadData {
  readonly file: string;
  readonly kind: LogKind;
  readonly channel: string;
}

/** The methods that the log thread offers other threads, over each port it receives. */
export class LogThread {
  readonly #writer: LogWriter;
  readonly #commits: GroupCommit;
  readonly #channel: BroadcastChannel;

  constructor({ file, kind, channel }: LogThreadData) {
    this.#writer = new LogWriter(file, kind);
    this.#channel = new BroadcastChannel(channel);
    this.#commits = new GroupCommit(
      (appends) => this.#writer.commit(appends),
      (position) => this.#channel.postMessage(position),
      SUBJECTS[kind],
    );
  }

  open(): void {
    this.#writer.open();
    this.#writer.checkIndex();
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

  close(): void {
    this.#commits.close();
    this.#writer.close();
    this.#channel.close();
  }
}

const thread = new LogThread(workerData as LogThreadData);
parentPort?.on('message', (port: MessagePort) => serveCalls(port, thread));
