import { type ReadStore } from '../../../kernel/read-store';
import { EmbeddedStore } from './embedded-store';
import { makeFolder } from './folder';
import { ThreadedStore } from './threaded-store';
import { WriterThreadStore } from './writer-thread-store';

export interface EmbeddedStoreOptions {
  /** Made if it is not there. */
  readonly directory: string;
  /** Whether threads of its own work for it (needs the built program). */
  readonly threads: boolean;
  /** How many of them answer queries; with none, one writes large batches: for a caller that makes batches. */
  readonly readers: number;
  /** How long (ms) a snapshot may keep what is written from being moved out of the WAL (5,000). */
  readonly snapshotMs?: number;
}

/** Opens the read store in a folder, for reading and writing. Raises `EngineUnavailable`. */
export function openEmbeddedStore(options: EmbeddedStoreOptions): ReadStore {
  makeFolder(options.directory);
  const store = storeIn(options);
  store.clean();
  return store;
}

function storeIn({ directory, threads, readers, snapshotMs }: EmbeddedStoreOptions): EmbeddedStore {
  if (!threads) return new EmbeddedStore(directory, { snapshotMs });
  return readers > 0
    ? new ThreadedStore(directory, readers, snapshotMs)
    : new WriterThreadStore(directory, undefined, snapshotMs);
}
