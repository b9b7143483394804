import { randomUUID } from 'node:crypto';
import { Client } from '@elastic/elasticsearch';
import { type Clock } from '../../src/runtime/clock';
import { openElasticsearch } from '../../src/engines/elasticsearch/open-store';
import { type StoreFixture } from '../contracts/read-store';

/** The server in TEST_READ_STORE; tests that need a server fail without it. */
export function serverUrl(): string {
  const url = process.env['TEST_READ_STORE'];
  if (url === undefined || url === '')
    throw new Error('TEST_READ_STORE names no server: npm run test:engines starts one');
  return url;
}

/** The URL of a separate store on a server, and a function that removes all its indices. */
export function ownStore(server = serverUrl()): {
  readonly url: string;
  readonly remove: () => Promise<void>;
} {
  const prefix = `test-${randomUUID()}`;
  return {
    url: new URL(`/${prefix}`, server).href,
    remove: async () => {
      const client = new Client({ node: new URL('/', server).href });
      const indices = Object.keys(await client.indices.get({ index: `${prefix}.*` }));
      // Their names are in one line of HTTP, which may have 4,096 bytes.
      for (let at = 0; at < indices.length; at += 20)
        await client.indices.delete({ index: indices.slice(at, at + 20) });
      await client.close();
    },
  };
}

/** A store on the server, for the contract suite. */
export async function storeFixture(clock?: Clock): Promise<StoreFixture> {
  const { url, remove } = ownStore();
  const options = clock === undefined ? {} : { clock };
  let store = openElasticsearch(url, options);
  return {
    store,
    reopen: async () => {
      await store.close();
      return (store = openElasticsearch(url, options));
    },
    close: async () => {
      await store.close();
      await remove();
    },
  };
}
