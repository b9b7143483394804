import { type ReadStore } from '../../../kernel/read-store';
import { EmbeddedStore } from './embedded-store';
import { makeFolder } from './folder';
import { ThreadedStore } from './threaded-store';
import { WriterThreadStore } from './writer-thread-store';

export interface EmbeddedStoreOptions {
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
}

/** Opens the read store in a folder. Raises `EngineUnavailable`. */
export function openEmbeddedStore(options: EmbeddedStoreOptions): ReadStore {
  makeFolder(options.directory);
  const store = storeIn(options);
  store.clean();
  return store;
}

function storeIn(options: EmbeddedStoreOptions): EmbeddedStore {
  const { directory, threads, readers, startEarly = false, snapshotMs } = options;
  if (!threads) return new EmbeddedStore(directory, { snapshotMs });
  if (readers > 0) return new ThreadedStore(directory, readers, snapshotMs);
  const store = new WriterThreadStore(directory, undefined, snapshotMs);
  if (startEarly) store.start();
  return store;
}
