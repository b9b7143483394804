import { embeddedStore, restorableEventStoreDb, restorableSqlite, restoredLog } from './restoring';

describe('of a log in SQLite that was restored from an older backup (decisions X31)', () => {
  restoredLog(restorableSqlite, embeddedStore);
});

describe('of an EventStoreDB that was restored from an older backup (decisions X31)', () => {
  restoredLog(restorableEventStoreDb, embeddedStore);
});
