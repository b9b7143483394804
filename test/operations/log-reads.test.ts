import { randomUUID } from 'node:crypto';
import { FollowedDirectory } from '../../src/network/follower';
import { openLog } from '../../src/engines/embedded/log/open-log';
import { type ReplayServer } from '../../src/replay/serve-replay';
import { type EventStoreLog } from '../../src/engines/eventstoredb/event-store-log';
import { openEventStoreDb } from '../../src/engines/eventstoredb/open-event-store-db';
import { type EventLog } from '../../src/kernel/event-log';
import { explainMatches } from '../../src/delivery/matching/explain';
import { FollowedSubscriptions } from '../../src/delivery/scheduling/recipients';
import { transactionTopic } from '../../src/domain/transactions/topic';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { CountedLog } from '../support/esdb-writing/counted-log';
import { serveWritable } from '../support/esdb-writing/serve-writable';
import { smallNetwork } from '../support/small-network';
import { cliFolder, run } from '../cli/run';

const { settings, fileOf, pathOf } = cliFolder();

let stored: EventLog;
let counted: CountedLog;
let endpoint: ReplayServer;
let log: EventStoreLog;

beforeEach(async () => {
  ({ log: stored } = await openLog(pathOf('served.sqlite'), false));
  counted = new CountedLog(stored);
  endpoint = await serveWritable(counted, { host: '127.0.0.1', port: 0 });
  log = await openEventStoreDb(endpoint.url);
  await affilog('network', 'import', await fileOf(smallNetwork()));
});

afterEach(async () => {
  await log.close();
  await endpoint.close();
  await stored.close();
});

const affilog = (...args: readonly string[]) => run(args, { ...settings(), EVENT_LOG: endpoint.url });

const PRODUCTS = 3_000;

async function appendProducts(): Promise<void> {
  const event = () => ({ id: randomUUID(), type: 'ProductRepriced', data: '{"price":1}', meta: '{}' });
  for (let at = 0; at < PRODUCTS; at += 500)
    await log.append('feed-1', at - 1, Array.from({ length: 500 }, event));
}

/** As the process with the projector does, until nothing is missing. */
async function keepIndex(): Promise<void> {
  const ending = new AbortController();
  const keeping = log.keepIndex(ending.signal, 5);
  const head = await log.head();
  const isMarked = async (): Promise<boolean> => {
    for await (const events of stored.readAllBackwards())
      return events.some(({ stream, data }) => /^\W+index\./.test(stream) && data.includes(head));
    return false;
  };
  while (!(await isMarked())) await new Promise((resolve) => setTimeout(resolve, 10));
  ending.abort();
  await keeping;
}

async function followed(open: (signal: AbortSignal) => { ready: Promise<void>; ended: Promise<void> }) {
  const ending = new AbortController();
  const { ready, ended } = open(ending.signal);
  await ready;
  ending.abort();
  await ended;
}

const READS: Readonly<Record<string, () => Promise<unknown>>> = {
  'affilog tokens list': () => affilog('tokens', 'list'),
  'affilog network export': () => affilog('network', 'export'),
  'affilog mappings list': () => affilog('mappings', 'list', '--feed', '1'),
  'the directory': () => followed((signal) => new FollowedDirectory(SYSTEM_CLOCK, log, signal)),
  'subscriptions and rates': () => followed((signal) => new FollowedSubscriptions(SYSTEM_CLOCK, log, signal)),
  'the explanation of messages': () => explainMatches(log, transactionTopic, 'transaction-1'),
};

it('over EventStoreDB, starts and commands read the same however many products the log has (ADR 32)', async () => {
  const costs = async (): Promise<Readonly<Record<string, number>>> => {
    const found: Record<string, number> = {};
    for (const [name, read] of Object.entries(READS)) {
      const before = counted.read;
      await read();
      found[name] = counted.read - before;
    }
    return found;
  };
  await keepIndex();
  const few = await costs();
  await appendProducts();
  await keepIndex();
  for (const [name, cost] of Object.entries(await costs()))
    expect([name, cost < (few[name] ?? 0) + PRODUCTS / 10]).toEqual([name, true]);
});
