import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { MessageChannel, Worker } from 'node:worker_threads';
import { type Position } from '../../../kernel/event';
import { EngineUnavailable } from '../../../kernel/event-log';
import {
  type Found,
  type GroupCount,
  type GroupCounts,
  type GroupResults,
  type GroupSearch,
  type QueryOptions,
  type Results,
  type Search,
  type Totals,
  type TotalsSearch,
  type ValueCount,
  type ValuesSearch,
} from '../../../kernel/query';
import { type Generation, type ReadStore, type Target } from '../../../kernel/read-store';
import { without } from '../../../kernel/values';
import { callsOver, type Remote } from '../../../runtime/calls';
import { FairQueue } from '../../../runtime/fair-queue';
import { EmbeddedStore } from './embedded-store';
import { type StoreThreadData } from './store.thread';
import { newThreadPool, type ThreadPool } from './thread-arrays';
import { type PreparedWrite } from './writer';

interface EmbeddedStoreOptions {
  /** Created if needed. */
  readonly directory: string;
  /** Use worker threads; needs compiled code. */
  readonly threads: boolean;
  /**
   * The number of threads for queries. With 0, one thread writes large batches instead: for processes that mostly
   * write.
   */
  readonly readers: number;
  /** Start the thread for large batches at once, not with the first one. */
  readonly startEarly?: boolean;
  /** How long (ms) a snapshot may block the reuse of the WAL (5,000). */
  readonly snapshotMs?: number;
  /** Bytes of search indexes that all threads cache (32 MB). */
  readonly cacheBytes?: number | undefined;
  /** The number of documents from which a batch is written by the thread: smaller ones are written faster than sent. */
  readonly largeBatch?: number;
}

/** Opens the read store in a folder. Raises `EngineUnavailable`. */
export function openEmbeddedStore(options: EmbeddedStoreOptions): ReadStore {
  const { directory, threads, readers, snapshotMs } = options;
  const store = !threads
    ? new EmbeddedStore(directory, { snapshotMs })
    : readers > 0
      ? new ReaderThreads(options)
      : new WriterThread(options);
  store.clean();
  return store;
}

const CACHE_BYTES = 32 * 1024 ** 2;

/** A store that leaves some of its work to threads, which have connections of their own. */
abstract class ThreadedStore extends EmbeddedStore {
  protected readonly threads: StoreThreads;

  constructor({ directory, snapshotMs, cacheBytes = CACHE_BYTES, readers }: EmbeddedStoreOptions) {
    super(directory, { snapshotMs });
    const count = Math.max(1, readers);
    this.threads = new StoreThreads(directory, count, Math.floor(cacheBytes / count), readers > 0);
  }

  override async drop(generation: Generation): Promise<void> {
    await super.drop(generation);
    await this.threads.closeDropped();
  }

  override async close(): Promise<void> {
    await this.threads.close();
    await super.close();
  }
}

/**
 * Threads answer queries; the calling thread does everything else, including `count` for health checks, which must not
 * wait for searches.
 */
class ReaderThreads extends ThreadedStore {
  constructor(options: EmbeddedStoreOptions) {
    super(options);
    this.threads.start();
  }

  override get(
    target: Target,
    ids: readonly string[],
    options: QueryOptions = {},
  ): Promise<readonly Found[]> {
    const own = without(options, 'spent');
    return this.ask(target, own, (store, pinned, sent) => store.get(pinned, ids, sent));
  }

  override search(target: Target, wanted: Search, options: QueryOptions = {}): Promise<Results> {
    return this.ask(target, options, (store, pinned, sent) => store.search(pinned, wanted, sent));
  }

  override searchGroups(
    target: Target,
    wanted: GroupSearch,
    options: QueryOptions = {},
  ): Promise<GroupResults> {
    return this.ask(target, options, (store, pinned, sent) => store.searchGroups(pinned, wanted, sent));
  }

  override countGroups(target: Target, wanted: GroupCount, options: QueryOptions = {}): Promise<GroupCounts> {
    return this.ask(target, options, (store, pinned, sent) => store.countGroups(pinned, wanted, sent));
  }

  override totals(
    target: Target,
    wanted: TotalsSearch,
    options: QueryOptions = {},
  ): Promise<readonly Totals[]> {
    return this.ask(target, options, (store, pinned, sent) => store.totals(pinned, wanted, sent));
  }

  override countValues(
    target: Target,
    wanted: ValuesSearch,
    options: QueryOptions = {},
  ): Promise<readonly (readonly ValueCount[])[]> {
    return this.ask(target, options, (store, pinned, sent) => store.countValues(pinned, wanted, sent));
  }

  /** Runs a query in a thread, to which its signal cannot be sent, nor what its answer has noted so far. */
  private async ask<Result>(
    target: Target,
    options: QueryOptions,
    query: (store: Remote<EmbeddedStore>, pinned: Target, sent: QueryOptions) => Promise<Result>,
  ): Promise<Result> {
    const { signal, ...sent } = without(options, 'generations');
    const { spent } = sent;
    return await this.threads.run(async (store) => {
      signal?.throwIfAborted();
      const began = performance.now();
      try {
        return await query(store, this.pinned(target, options), sent);
      } finally {
        // The thread has added it to a copy.
        if (spent !== undefined) spent[0] += performance.now() - began;
      }
    }, options);
  }
}

const LARGE_BATCH = 100;

/** A thread writes large batches while the calling thread prepares the next. */
class WriterThread extends ThreadedStore {
  private readonly largeBatch: number;

  constructor(options: EmbeddedStoreOptions) {
    super(options);
    this.largeBatch = options.largeBatch ?? LARGE_BATCH;
    if (options.startEarly) this.threads.start();
  }

  override writePrepared(
    target: Target,
    prepared: readonly PreparedWrite[],
    checkpoint: Position | undefined,
  ): Promise<void> {
    if (prepared.length < this.largeBatch) return super.writePrepared(target, prepared, checkpoint);
    return this.threads.only().writePrepared(target, prepared, checkpoint);
  }

  // All merges are made in the thread: there is one at a time.

  override finishStep(target: Target): Promise<boolean> {
    return this.threads.only().finishStep(target);
  }

  override keep(target: Target, isWritten: boolean): Promise<boolean> {
    return this.threads.only().keep(target, isWritten);
  }
}

/**
 * What a query has read is garbage after it, most of it outside of the heap: it is freed when short-lived objects are
 * collected, so these get little room.
 */
const READING_LIMITS = { maxYoungGenerationSizeMb: 8 } as const;

interface StoreThread {
  readonly store: Remote<EmbeddedStore>;
  readonly end: () => Promise<void>;
  readonly cancelled: Int32Array;
  /** What it works on. */
  task: { readonly client: string; readonly since: number } | undefined;
}

/**
 * Clients whose last query took at most so long (ms), and none of whose queries runs for longer, may have all threads.
 */
const QUICK_MS = 50;
/** Clients that are known to be quick: those that had an answer last. */
const MOST_QUICK = 1_000;

/**
 * A pool of threads, each with its own connections and one task at a time. Tasks are scheduled fairly by client. While
 * nobody else waits, a client may have all threads if its tasks are quick; other clients never occupy all of several
 * threads. A thread that dies is replaced.
 */
export class StoreThreads {
  private readonly queue: FairQueue;
  private readonly threads = new Set<StoreThread>();
  private readonly quick = new Set<string>();
  private readonly pool: ThreadPool;
  private closed = false;

  /** Threads start with the first task, or with `start`. `isReading`: they only answer queries. */
  constructor(
    private readonly directory: string,
    private readonly count: number,
    private readonly cacheBytes: number,
    private readonly isReading: boolean,
  ) {
    this.queue = new FairQueue({ atOnce: count, perClient: (client) => this.mostOf(client) });
    this.pool = newThreadPool(`affilog: arrays of ${directory} ${randomUUID()}`);
  }

  /** How many threads a client may have. */
  private mostOf(client: string): number {
    const began = performance.now() - QUICK_MS;
    const isSlow = [...this.threads].some(({ task }) => task?.client === client && task.since < began);
    return this.quick.has(client) && !isSlow ? this.count : Math.max(1, this.count - 1);
  }

  private note(client: string, since: number): void {
    this.quick.delete(client);
    if (performance.now() - since <= QUICK_MS) this.quick.add(client);
    const [oldest] = this.quick;
    if (oldest !== undefined && this.quick.size > MOST_QUICK) this.quick.delete(oldest);
  }

  /** Runs a task on one of the threads. */
  async run<Result>(
    work: (store: Remote<EmbeddedStore>) => Promise<Result>,
    { client = '', signal }: Pick<QueryOptions, 'client' | 'signal'> = {},
  ): Promise<Result> {
    return await this.queue.run(client, () => this.runOnFree(work, client, signal), { signal });
  }

  private async runOnFree<Result>(
    work: (store: Remote<EmbeddedStore>) => Promise<Result>,
    client: string,
    signal: AbortSignal | undefined,
  ): Promise<Result> {
    if (this.closed) throw new EngineUnavailable('the read store is closed');
    this.start();
    const thread = [...this.threads].find(({ task }) => task === undefined);
    if (thread === undefined) throw new Error('the queue started more tasks than there are threads');
    const { store, cancelled } = thread;
    const cancel = (): unknown => Atomics.store(cancelled, 0, 1);
    Atomics.store(cancelled, 0, 0);
    const since = performance.now();
    thread.task = { client, since };
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      return await work(store);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', cancel);
      thread.task = undefined;
      this.note(client, since);
    }
  }

  /**
   * The only thread, which does one after the other what it is called with: it need not wait until the calling thread,
   * which may be busy, has seen an answer.
   */
  only(): Remote<EmbeddedStore> {
    if (this.closed) throw new EngineUnavailable('the read store is closed');
    this.start();
    const [thread] = this.threads;
    if (thread === undefined) throw new EngineUnavailable('a thread of the read store has ended');
    return thread.store;
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
    const { directory, cacheBytes, isReading, pool } = this;
    const data: StoreThreadData = { directory, port: there, cacheBytes, isReading, pool, cancelled };
    const thread = new Worker(join(__dirname, 'store.thread.js'), {
      workerData: data,
      ...(isReading ? { resourceLimits: READING_LIMITS } : {}),
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
      task: undefined,
    };
    // Callers learn of it through their port, which closes too. The death itself is a bug and must be visible.
    thread.on('error', (error: unknown) => {
      process.emitWarning(`a thread of the read store died: ${inspect(error)}`);
    });
    this.threads.add(added);
  }
}
