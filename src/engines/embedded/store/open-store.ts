import { type Position } from '../../../kernel/event';
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
} from '../../../kernel/query';
import { type Generation, type ReadStore, type Target } from '../../../kernel/read-store';
import { EmbeddedStore } from './embedded-store';
import { StoreThreads } from './store-threads';
import { type PreparedWrite } from './writer';

interface EmbeddedStoreOptions {
  /** Created if needed. */
  readonly directory: string;
  /** Use worker threads; needs compiled code. */
  readonly threads: boolean;
  /** The number of threads for queries. With 0, one thread writes large batches instead: for processes that mostly write. */
  readonly readers: number;
  /** Start the thread for large batches at once, not with the first one. */
  readonly startEarly?: boolean;
  /** How long (ms) a snapshot may block the reuse of the WAL (5,000). */
  readonly snapshotMs?: number;
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

/** A store that leaves some of its work to threads, which have connections of their own. */
abstract class ThreadedStore extends EmbeddedStore {
  protected readonly threads: StoreThreads;

  constructor({ directory, snapshotMs }: EmbeddedStoreOptions, count: number) {
    super(directory, { snapshotMs });
    this.threads = new StoreThreads(directory, count);
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
 * Threads answer queries; the calling thread does everything else, including `count` for health checks, which must not wait
 * for searches.
 */
class ReaderThreads extends ThreadedStore {
  constructor(options: EmbeddedStoreOptions) {
    super(options, options.readers);
    this.threads.start();
  }

  override get(
    target: Target,
    ids: readonly string[],
    options: QueryOptions = {},
  ): Promise<readonly Found[]> {
    return this.threads.run((store) => store.get(target, ids, withoutSignal(options)), options);
  }

  override search(target: Target, wanted: Search, options: QueryOptions = {}): Promise<Results> {
    return this.threads.run((store) => store.search(target, wanted, withoutSignal(options)), options);
  }

  override searchGroups(
    target: Target,
    wanted: GroupSearch,
    options: QueryOptions = {},
  ): Promise<GroupResults> {
    return this.threads.run((store) => store.searchGroups(target, wanted, withoutSignal(options)), options);
  }

  override countGroups(target: Target, wanted: GroupCount): Promise<GroupCounts> {
    return this.threads.run((store) => store.countGroups(target, wanted));
  }

  override totals(
    target: Target,
    wanted: TotalsSearch,
    options: QueryOptions = {},
  ): Promise<readonly Totals[]> {
    return this.threads.run((store) => store.totals(target, wanted, withoutSignal(options)), options);
  }
}

/** The options without the signal, which cannot be sent to a thread. */
function withoutSignal({ signal, ...options }: QueryOptions): QueryOptions {
  signal?.throwIfAborted();
  return options;
}

const LARGE_BATCH = 100;

/** A thread writes large batches while the calling thread prepares the next. */
class WriterThread extends ThreadedStore {
  private readonly largeBatch: number;

  constructor(options: EmbeddedStoreOptions) {
    super(options, 1);
    this.largeBatch = options.largeBatch ?? LARGE_BATCH;
    if (options.startEarly) this.threads.start();
  }

  override writePrepared(
    target: Target,
    prepared: readonly PreparedWrite[],
    checkpoint: Position | undefined,
  ): Promise<void> {
    if (prepared.length < this.largeBatch) return super.writePrepared(target, prepared, checkpoint);
    return this.threads.run((store) => store.writePrepared(target, prepared, checkpoint));
  }
}
