import { once } from 'node:events';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { MessageChannel, Worker } from 'node:worker_threads';
import { callsOver, type Remote } from '../../../kernel/calls';
import { EngineUnavailable } from '../../../kernel/event-log';
import { FairQueue } from '../../../kernel/fair-queue';
import { type QueryOptions } from '../../../kernel/query';
import { type EmbeddedStore } from './embedded-store';
import { type StoreThreadData } from './store.thread';

interface StoreThread {
  readonly store: Remote<EmbeddedStore>;
  readonly end: () => Promise<void>;
  readonly cancelled: Int32Array;
  isBusy: boolean;
}

/**
 * Threads with connections of their own, each with one task at a time. Clients take turns, and where there are several
 * threads one client never has all of them. A thread that dies is replaced.
 */
export class StoreThreads {
  private readonly queue: FairQueue;
  private readonly threads = new Set<StoreThread>();
  private closed = false;

  /** They are started when the first work comes. */
  constructor(
    private readonly directory: string,
    private readonly count: number,
  ) {
    this.queue = new FairQueue({ atOnce: count, perClient: Math.max(1, count - 1) });
  }

  /** Has one of the threads do it, when it is the client's turn. */
  async ask<Result>(
    work: (store: Remote<EmbeddedStore>) => Promise<Result>,
    { client = '', signal }: Pick<QueryOptions, 'client' | 'signal'> = {},
  ): Promise<Result> {
    return await this.queue.run(client, () => this.run(work, signal), signal);
  }

  private async run<Result>(
    work: (store: Remote<EmbeddedStore>) => Promise<Result>,
    signal: AbortSignal | undefined,
  ): Promise<Result> {
    if (this.closed) throw new EngineUnavailable('the read store is closed');
    this.start();
    const thread = [...this.threads].find(({ isBusy }) => !isBusy);
    if (thread === undefined) throw new Error('the queue has let in more tasks than there are threads');
    const { store, cancelled } = thread;
    const cancel = (): unknown => Atomics.store(cancelled, 0, 1);
    Atomics.store(cancelled, 0, 0);
    thread.isBusy = true;
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      return await work(store);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', cancel);
      thread.isBusy = false;
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
    const cancelled = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const data: StoreThreadData = { directory: this.directory, port: there, cancelled };
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
      cancelled,
      isBusy: false,
    };
    // Who waits for its answer is told by the port that closes with it; that it died is a bug to be heard of.
    thread.on('error', (error: unknown) => {
      process.emitWarning(`a thread of the read store has died: ${inspect(error)}`);
    });
    this.threads.add(added);
  }
}
