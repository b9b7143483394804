import { openEventStoreDb } from '../../src/engines/eventstoredb/open-event-store-db';
import { eventLogContract, type TriedLog } from '../contracts/event-log';
import { startEsdbServer } from '../support/esdb-server';

eventLogContract('EventStoreDB over its client', async () => {
  const server = await startEsdbServer();
  return tried(server.url, server.stop);
});

/** A log at a URL; `stop` ends what serves it. */
async function tried(url: string, stop: () => Promise<void>): Promise<TriedLog> {
  let log = await openEventStoreDb(url);
  return {
    log,
    reopen: async () => {
      await log.close();
      log = await openEventStoreDb(url);
      return log;
    },
    close: async () => {
      await log.close();
      await stop();
    },
  };
}
