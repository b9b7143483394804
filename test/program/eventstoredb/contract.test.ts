import { openEventStoreDb } from '../../../src/engines/eventstoredb/open-event-store-db';
import { eventLogContract, type LogFixture } from '../../contracts/event-log';
import { startEsdbServer } from '../../support/esdb-server';
import { FAULTS, startFaultyProxy } from '../../support/faulty-proxy';
import { FULL_SIZE } from '../../support/size';

/** Bytes: more than the largest append needs, far less than all tests together do. */
const GOOD = 1_500_000;

/** How soon a connection over which nothing comes is left (ms). */
const HASTY = { timeoutMs: 1_000, retryMs: 30_000 };

eventLogContract('EventStoreDB over its client', async () => {
  const server = await startEsdbServer();
  return tried(server.url, server.stop);
});

eventLogContract('EventStoreDB at its most awkward', async () => {
  const server = await startEsdbServer('awkward');
  return tried(server.url, server.stop);
});

// Otherwise `trouble.test.ts` has such connections one by one.
if (FULL_SIZE)
  eventLogContract(
    'EventStoreDB over connections that are cut, fall silent and are slow, killed and started again in the middle',
    async () => {
      const server = await startEsdbServer();
      const proxy = await startFaultyProxy(server.port);
      Object.assign(proxy.faults, { good: GOOD, inTurn: FAULTS });
      const killed = (async () => {
        for (const bytes of [1, 3, 5].map((times) => times * GOOD)) {
          await proxy.until((seen) => seen.bytes > bytes);
          await server.kill();
          await server.start();
        }
      })();
      return tried(
        `esdb://127.0.0.1:${proxy.port}?tls=false`,
        async () => {
          await killed;
          await proxy.close();
          await server.stop();
          for (const fault of FAULTS) expect(proxy.seen.met[fault]).toBeGreaterThan(0);
        },
        HASTY,
      );
    },
    ['appends', 'reads', 'finds streams', 'is subscribed to'],
  );

// A real server, when there is one: `esdb://localhost:2113?tls=false`.
const named = process.env['TEST_EVENT_LOG'];
if (named !== undefined)
  eventLogContract('the server named in TEST_EVENT_LOG', () => tried(named, async () => undefined));

/** A log at a URL; `stop` ends what serves it. */
async function tried(
  url: string,
  stop: () => Promise<void>,
  timing?: Parameters<typeof openEventStoreDb>[1],
): Promise<LogFixture> {
  let log = await openEventStoreDb(url, timing);
  return {
    log,
    reopen: async () => {
      await log.close();
      log = await openEventStoreDb(url, timing);
      return log;
    },
    close: async () => {
      await log.close();
      await stop();
    },
  };
}
