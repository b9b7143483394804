import { openElasticsearch } from '../../src/engines/elasticsearch/open-store';
import { restorableEventStoreDb, restorableSqlite, restoredLog } from '../projector/restoring';
import { ownStore } from './server';

async function elasticsearch() {
  const { url, remove } = ownStore();
  const store = openElasticsearch(url);
  const close = async (): Promise<void> => {
    await store.close();
    await remove();
  };
  return { store, close };
}

describe('of a log in SQLite that was restored under an Elasticsearch (decisions X31)', () => {
  restoredLog(restorableSqlite, elasticsearch);
});

describe('of an EventStoreDB that was restored under an Elasticsearch (decisions X31)', () => {
  restoredLog(restorableEventStoreDb, elasticsearch);
});
