import { once } from 'node:events';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { MessageChannel, Worker } from 'node:worker_threads';
import { callsOver, type Remote } from '../../../runtime/calls';
import { EngineUnavailable } from '../../../kernel/event-log';
import { FairQueue } from '../../../runtime/fair-queue';
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
 * A pool of threads, each with its own connections and one task at a time. Tasks are scheduled fairly by client, and one client
 * never occupies all of several threads. A thread that dies is replaced.
 */
export class StoreThreads {
  private readonly queue: FairQueue;
  private readonly threads = new Set<StoreThread>();
  private closed = false;

  /** Threads start with the first task, or with `start`. */
  constructor(
    private readonly directory: string,
    private readonly count: number,
  ) {
    this.queue = new FairQueue({ atOnce: count, perClient: Math.max(1, count - 1) });
  }

  /** Runs a task on one of the threads. */
  async run<Result>(
    work: (store: Remote<EmbeddedStore>) => Promise<Result>,
    { client = '', signal }: Pick<QueryOptions, 'client' | 'signal'> = {},
  ): Promise<Result> {
    return await this.queue.run(client, () => this.runOnFree(work, signal), { signal });
  }

  private async runOnFree<Result>(
    work: (store: Remote<EmbeddedStore>) => Promise<Result>,
    signal: AbortSignal | undefined,
  ): Promise<Result> {
    if (this.closed) throw new EngineUnavailable('the read store is closed');
    this.start();
    const thread = [...this.threads].find(({ isBusy }) => !isBusy);
    if (thread === undefined) throw new Error('the queue started more tasks than there are threads');
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

  /** Lets every thread close generations that were dropped. */
  async closeDropped(): Promise<void> {
    await Promise.allSettled([...this.threads].map(({ store }) => store.closeDropped()));
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.threads].map(({ end }) => end()));
  }

  /** Starts missing threads. */
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
    // Registered before `callsOver`, so that the thread is gone when its callers learn of its end and retry.
    here.on('close', () => this.threads.delete(added));
    const added: StoreThread = {
      store: callsOver<EmbeddedStore>(here),
      end: async () => {
        const ended = once(thread, 'exit');
        // Keeps the process alive while the caller waits.
        thread.ref();
        here.close();
        await ended;
      },
      cancelled,
      isBusy: false,
    };
    // Callers learn of it through their port, which closes too. The death itself is a bug and must be visible.
    thread.on('error', (error: unknown) => {
      process.emitWarning(`a thread of the read store died: ${inspect(error)}`);
    });
    this.threads.add(added);
  }
}
