import { setTimeout as pause } from 'node:timers/promises';
import { EventStoreDBClient } from '@eventstore/db-client';
import { type EsdbServer, startEsdbServer } from '../../support/esdb-server';
import { Receivers } from '../../support/receivers';
import { folderWithNetwork, removeFolder, Server, temporaryFolder } from '../../support/server';
import { cases, FULL_SIZE } from '../../support/size';
import { postConversions, saleOf, STATES, TOKENS, WITH_SALES } from '../sales';

const RECEIVERS = 8;
const SALES = cases(200, 20);
const IDLE_MS = FULL_SIZE ? 60_000 : 10_000;

let esdb: EsdbServer;
let receivers: Receivers;
let client: EventStoreDBClient;
const folders: string[] = [];
const servers: Server[] = [];

beforeAll(async () => {
  esdb = await startEsdbServer();
  client = EventStoreDBClient.connectionString(esdb.url);
  receivers = new Receivers();
  await receivers.listen();
});
afterAll(async () => {
  for (const server of servers) await server.end('SIGKILL');
  await client.dispose();
  await receivers.close();
  await esdb.stop();
  for (const folder of folders) await removeFolder(folder);
});

const orders = (name: string) => Array.from({ length: SALES }, (_, at) => saleOf(`${name}-${at}`));

async function untilArrived(sales: number): Promise<void> {
  const messages = sales * STATES.length * RECEIVERS;
  while (new Set(receivers.received.map(({ id }) => id)).size < messages) await pause(10);
}

/** How many events the streams of leases have had. */
async function leaseEvents(): Promise<number> {
  let count = 0;
  for await (const { event } of client.readAll())
    if (event?.streamId.startsWith('leases.') === true) count += 1;
  return count;
}

test('two servers with data folders of their own, over one EventStoreDB, send each message once, and one continues for the other (decisions N3)', async () => {
  const environment = {
    ...{ EVENT_LOG: esdb.url, NOTIFY_KEY: 'k'.repeat(32) },
    NOTIFY_ALLOW: `127.0.0.0/8:${receivers.port}`,
  };
  folders.push(await folderWithNetwork(environment, WITH_SALES), await temporaryFolder());
  for (const folder of folders) servers.push(await Server.start(folder, { environment }));
  const [one, two] = servers as [Server, Server];
  await postConversions(one.url, 'subscriptions', TOKENS.publisher, {
    filter: { messageTypeIds: STATES },
    receivers: Array.from({ length: RECEIVERS }, (_, number) => ({
      ...{ httpMethod: 'POST', receiverUrl: receivers.url(number), receiverFormat: 'JSON' },
      receiverBody: '{"order": ${orderNumber}}',
    })),
  });
  await Promise.all(
    servers.map((server, at) =>
      postConversions(server.url, 'transactions/bulk', TOKENS.advertiser, orders(`first-${at}`)),
    ),
  );
  await untilArrived(2 * SALES);

  const before = await leaseEvents();
  await pause(IDLE_MS);
  const perSecond = ((await leaseEvents()) - before) / (IDLE_MS / 1_000);
  process.stderr.write(`leases of two idle servers: ${perSecond} appends a second\n`);
  expect(perSecond).toBeLessThan(2);

  await postConversions(one.url, 'transactions/bulk', TOKENS.advertiser, orders('second'));
  // At full size the other one waits for the leases of one that is killed.
  if (FULL_SIZE) await untilArrived(3 * SALES);
  await one.end(FULL_SIZE ? 'SIGKILL' : 'SIGTERM');
  await postConversions(two.url, 'transactions/bulk', TOKENS.advertiser, orders('third'));
  await untilArrived(4 * SALES);
  const ids = receivers.received.map(({ id }) => id);
  const repeated = ids.filter((id, at) => ids.indexOf(id) !== at);
  if (!FULL_SIZE) expect(repeated).toEqual([]);
  // What was in flight when it was killed.
  expect(repeated.length).toBeLessThanOrEqual(FULL_SIZE ? 16 : 0);
});
