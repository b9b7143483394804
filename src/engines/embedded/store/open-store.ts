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
}

/** Opens the read store in a folder, for reading and writing. Raises `EngineUnavailable`. */
export function openEmbeddedStore({ directory, threads, readers }: EmbeddedStoreOptions): ReadStore {
  makeFolder(directory);
  const store = storeIn(directory, threads, readers);
  store.clean();
  return store;
}

function storeIn(directory: string, threads: boolean, readers: number): EmbeddedStore {
  if (!threads) return new EmbeddedStore(directory);
  return readers > 0 ? new ThreadedStore(directory, readers) : new WriterThreadStore(directory);
}
