import { openEventStoreDb } from '../../src/engines/eventstoredb/open-event-store-db';
import { eventLogContract, type TriedLog } from '../contracts/event-log';
import { startEsdbServer } from '../support/esdb-server';
import { startFaultyProxy } from '../support/faulty-proxy';

/** Bytes: more than the largest append needs, far less than all tests together do. */
const CUT_AFTER = 2_500_000;

eventLogContract('EventStoreDB over its client', async () => {
  const server = await startEsdbServer();
  return tried(server.url, server.stop);
});

eventLogContract('EventStoreDB over connections that are cut again and again', async () => {
  const server = await startEsdbServer();
  const proxy = await startFaultyProxy(server.port);
  proxy.faults.cutAfter = CUT_AFTER;
  return tried(`esdb://127.0.0.1:${proxy.port}?tls=false`, async () => {
    await proxy.close();
    await server.stop();
    expect(proxy.seen.cut).toBeGreaterThan(0);
  });
});

// A real server, when there is one: `esdb://localhost:2113?tls=false`.
const named = process.env['TEST_EVENT_LOG'];
if (named !== undefined)
  eventLogContract('the server named in TEST_EVENT_LOG', () => tried(named, async () => undefined));

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
