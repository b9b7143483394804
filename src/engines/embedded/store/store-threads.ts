import { once } from 'node:events';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { MessageChannel, Worker } from 'node:worker_threads';
import { callsOver, type Remote } from '../../../kernel/calls';
import { EngineUnavailable } from '../../../kernel/event-log';
import { type EmbeddedStore } from './embedded-store';
import { type StoreThreadData } from './store.thread';

interface StoreThread {
  readonly store: Remote<EmbeddedStore>;
  readonly end: () => Promise<void>;
  busy: number;
}

/** Threads with connections of their own: work goes to the least busy one, a thread that dies is replaced. */
export class StoreThreads {
  private readonly threads = new Set<StoreThread>();
  private closed = false;

  /** They are started when the first work comes. */
  constructor(
    private readonly directory: string,
    private readonly count: number,
  ) {}

  /** Has one of the threads do it. */
  async ask<Result>(work: (store: Remote<EmbeddedStore>) => Promise<Result>): Promise<Result> {
    if (this.closed) throw new EngineUnavailable('the read store is closed');
    this.start();
    const thread = [...this.threads].reduce((least, one) => (one.busy < least.busy ? one : least));
    thread.busy += 1;
    try {
      return await work(thread.store);
    } finally {
      thread.busy -= 1;
    }
  }

  /** Has every thread let go of generations that have been dropped. */
  async forget(): Promise<void> {
    await Promise.allSettled([...this.threads].map(({ store }) => store.forget()));
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.threads].map(({ end }) => end()));
  }

  /** Starts those that are missing. */
  start(): void {
    while (this.threads.size < this.count) this.add();
  }

  private add(): void {
    const { port1: here, port2: there } = new MessageChannel();
    const data: StoreThreadData = { directory: this.directory, port: there };
    const thread = new Worker(join(__dirname, 'store.thread.js'), {
      workerData: data,
      transferList: [there],
    });
    thread.unref();
    // Before those who wait for it are told: what they do next is for another thread.
    here.on('close', () => this.threads.delete(added));
    const added: StoreThread = {
      store: callsOver<EmbeddedStore>(here),
      end: async () => {
        const ended = once(thread, 'exit');
        // The caller waits for it, so the process has to.
        thread.ref();
        here.close();
        await ended;
      },
      busy: 0,
    };
    // Who waits for its answer is told by the port that closes with it; that it died is a bug to be heard of.
    thread.on('error', (error: unknown) => {
      process.emitWarning(`a thread of the read store has died: ${inspect(error)}`);
    });
    this.threads.add(added);
  }
}
