import { join } from 'node:path';
import { openEventStoreDb } from '../src/engines/eventstoredb/open-event-store-db';
import { START } from '../src/kernel/event';
import { type EventLog } from '../src/kernel/event-log';
import { BareClient } from './bare/esdb-client';
import { startEsdbServer } from './esdb-server';
import { type Bench, compareRates, type Figure, timed } from './harness';
import { openLoaded } from './read-models';

/** Prefix of the streams with product events. */
const PREFIX = 'feed-';

/**
 * Follows the events of a load of all products from the start of the log, with our own EventStoreDB server over this
 * log in its own thread.
 *
 * Ours: the adapter's subscription with a prefix, until the last event has arrived.
 * Bare: the same with the official client alone.
 */
export async function esdbSubscribe(bench: Bench): Promise<readonly Figure[]> {
  const loaded = await openLoaded(bench, 'esdb-subscribe');
  const count = await countOf(loaded.engines.log);
  await loaded.engines.close();
  const server = await startEsdbServer(join(loaded.dataDir, 'log.sqlite'));
  const log = await openEventStoreDb(server.url);
  const bare = new BareClient(server.url);
  try {
    const figure = await compareRates(
      { figure: 'esdb-subscribe', goal: 0.8, count },
      () => timed(() => follow(log, count)),
      () => timed(() => bare.follow(PREFIX, count)),
    );
    return [{ ...figure, unit: 'events/s' }];
  } finally {
    await Promise.all([log.close(), bare.close()]);
    await server.stop();
  }
}

async function follow(log: EventLog, count: number): Promise<void> {
  let left = count;
  for await (const { events } of log.subscribe({ after: START, prefixes: [PREFIX] })) {
    left -= events.length;
    if (left <= 0) return;
  }
}

async function countOf(log: EventLog): Promise<number> {
  let count = 0;
  for await (const { events } of log.readAll({ after: START, prefixes: [PREFIX] })) count += events.length;
  return count;
}
