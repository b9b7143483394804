import { once } from 'node:events';
import { join } from 'node:path';
import { MessageChannel, Worker } from 'node:worker_threads';
import { callsOver, type Remote } from '../../../kernel/calls';
import { EngineUnavailable } from '../../../kernel/event-log';
import { type EmbeddedStore } from './embedded-store';
import { type ReaderData } from './reader.thread';

/** The part of the store that reader threads answer. */
type Queries = Pick<EmbeddedStore, 'get' | 'search' | 'searchGroups' | 'count' | 'countGroups' | 'forget'>;

interface Reader {
  readonly queries: Remote<Queries>;
  readonly end: () => Promise<void>;
  busy: number;
}

/** Threads with connections of their own: a query goes to the least busy one, a thread that dies is replaced. */
export class ReaderThreads {
  private readonly readers = new Set<Reader>();
  private closed = false;

  constructor(
    private readonly directory: string,
    private readonly count: number,
  ) {
    this.fill();
  }

  /** Has one of the threads answer. */
  async ask<Result>(query: (queries: Remote<Queries>) => Promise<Result>): Promise<Result> {
    if (this.closed) throw new EngineUnavailable('the read store is closed');
    this.fill();
    const reader = [...this.readers].reduce((least, one) => (one.busy < least.busy ? one : least));
    reader.busy += 1;
    try {
      return await query(reader.queries);
    } finally {
      reader.busy -= 1;
    }
  }

  /** Has every thread let go of generations that have been dropped. */
  async forget(): Promise<void> {
    await Promise.allSettled([...this.readers].map(({ queries }) => queries.forget()));
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.readers].map(({ end }) => end()));
  }

  private fill(): void {
    while (this.readers.size < this.count) this.start();
  }

  private start(): void {
    const { port1: here, port2: there } = new MessageChannel();
    const data: ReaderData = { directory: this.directory, port: there };
    const thread = new Worker(join(__dirname, 'reader.thread.js'), {
      workerData: data,
      transferList: [there],
    });
    thread.unref();
    const reader: Reader = {
      queries: callsOver<Queries>(here),
      end: async () => {
        const ended = once(thread, 'exit');
        here.close();
        await ended;
      },
      busy: 0,
    };
    // Who waits for its answer is told by the port that closes with it; that it died is a bug to be heard of.
    thread.on('error', (error) => {
      process.emitWarning(error);
    });
    thread.on('exit', () => this.readers.delete(reader));
    this.readers.add(reader);
  }
}
