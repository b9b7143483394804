import { type ReadStore } from '../../../kernel/read-store';
import { EmbeddedStore } from './embedded-store';
import { makeFolder } from './folder';
import { ThreadedStore } from './threaded-store';

export interface EmbeddedStoreOptions {
  /** Made if it is not there. */
  readonly directory: string;
  /** Whether queries are answered by threads of their own (needs the built program). */
  readonly threads: boolean;
  /** How many of them. */
  readonly readers: number;
}

/** Opens the read store in a folder, for reading and writing. Raises `EngineUnavailable`. */
export function openEmbeddedStore({ directory, threads, readers }: EmbeddedStoreOptions): ReadStore {
  makeFolder(directory);
  const store = threads ? new ThreadedStore(directory, readers) : new EmbeddedStore(directory);
  store.clean();
  return store;
}
