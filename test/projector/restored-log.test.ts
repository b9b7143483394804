import { embeddedStore, restorableEventStoreDb, restorableSqlite, restoredLog } from './restoring';

describe('read models of a SQLite log restored from an older backup (decisions X31)', () => {
  restoredLog(restorableSqlite, embeddedStore);
});

describe('read models of an EventStoreDB restored from an older backup (decisions X31)', () => {
  restoredLog(restorableEventStoreDb, embeddedStore);
});
