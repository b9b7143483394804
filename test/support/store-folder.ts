import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type openEmbeddedStore } from '../../src/engines/embedded/store/open-store';
import { type StoreFixture } from '../contracts/read-store';

/** A temporary folder for one test, and the folder for its store. */
export async function storeFolder(): Promise<{ directory: string; remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'affilog-store-'));
  return { directory: join(folder, 'read'), remove: () => rm(folder, { recursive: true }) };
}

/** A store in a temporary folder for the contract, opened from source or from compiled code. */
export async function storeFixture(open: typeof openEmbeddedStore, threads: boolean): Promise<StoreFixture> {
  const { directory, remove } = await storeFolder();
  let store = open({ directory, threads, readers: 2 });
  return {
    store,
    reopen: async () => {
      await store.close();
      return (store = open({ directory, threads, readers: 2 }));
    },
    close: async () => {
      await store.close();
      await remove();
    },
  };
}
