import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { directoryAt } from '../../src/network/directory';
import { openEventStoreDb } from '../../src/engines/eventstoredb/open-event-store-db';
import { inParallel } from '../../src/runtime/concurrency';
import { startEsdbServer } from '../support/esdb-server';
import { folderWithNetwork, removeFolder, Server } from '../support/server';
import { smallNetwork } from '../support/small-network';
import { approved, eventsOfTransaction, report, sale } from '../support/transactions';
import { ownStore } from './server';

const DAY = 86_400_000;
/** How soon another process makes transitions: within 15 seconds on a machine that does nothing else. */
const TAKE_OVER_MS = 60_000;

test('of processes that share EventStoreDB and Elasticsearch another takes over when the active one is killed, and none moves a transaction twice (decisions T4)', async () => {
  const esdb = await startEsdbServer();
  const store = ownStore();
  const environment = { EVENT_LOG: esdb.url, READ_STORE: store.url };
  const folder = await folderWithNetwork(environment, smallNetwork());
  const log = await openEventStoreDb(esdb.url);
  const started = async (role: string): Promise<Server> => {
    const dataDir = await mkdir(join(folder, role), { recursive: true });
    const args = ['--roles', role.replace(/ .*/, '')];
    return await Server.start(dataDir ?? folder, { args, environment });
  };
  const reported = async (count: number): Promise<readonly string[]> => {
    const directory = await directoryAt(log);
    const ids: string[] = [];
    await inParallel(Array.from({ length: count }).keys(), 64, async () => {
      ids.push(await report(log, directory, new Date(Date.now() - 14 * DAY), sale()));
    });
    return ids;
  };
  const projector = await started('projector');
  const active = await started('automation 1');
  let after = await log.head();
  await reported(1);
  await approved(log, { after, count: 1 });
  const other = await started('automation 2');

  after = await log.head();
  const ids = [...(await reported(500))];
  await approved(log, { after, count: 1 });
  await active.end('SIGKILL');
  const killed = await log.head();
  // The killed one may have made all the others.
  ids.push(...(await reported(1)));
  await approved(log, { after: killed, count: 1, signal: AbortSignal.timeout(TAKE_OVER_MS) });
  await approved(log, { after, count: ids.length });
  const journeys = await Promise.all(ids.map((id) => eventsOfTransaction(log, id)));
  expect(new Set(journeys.map((events) => events.map(({ type }) => type).join()))).toEqual(
    new Set(['TransactionTracked,TransactionBecamePending,TransactionPendingApproved']),
  );
  expect([await other.end(), await projector.end()]).toEqual([0, 0]);
  await log.close();
  await store.remove();
  await esdb.stop();
  await removeFolder(folder);
});
