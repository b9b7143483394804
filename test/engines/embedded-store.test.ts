import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedStore } from '../../src/engines/embedded/store/open-store';
import { readStoreContract } from '../contracts/read-store';

readStoreContract('SQLite in this thread', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'affilog-store-'));
  const open = () => openEmbeddedStore({ directory: join(folder, 'read'), threads: false, readers: 0 });
  let store = open();
  return {
    store,
    reopen: async () => {
      await store.close();
      return (store = open());
    },
    close: async () => {
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
});
