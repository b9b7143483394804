import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { openEventStoreDb } from '../src/engines/eventstoredb/open-event-store-db';
import { type NewEvent, NO_STREAM } from '../src/kernel/event';
import { type EventLog } from '../src/kernel/event-log';
import { BareClient, toProposed } from './bare/esdb-client';
import { startEsdbServer } from './esdb-server';
import { type Bench, compareRates, type Figure, timed } from './harness';
import { openLoaded } from './read-models';

/** Events per append, as in the server. */
const BATCH = 499;

/**
 * Appends events to our own EventStoreDB server over an embedded log, in its own thread.
 *
 * Ours: the events of a load of all products, through the adapter, one append after the other to one stream.
 * Bare: the same with the official client alone, with the data already as objects.
 */
export async function esdbAppend(bench: Bench): Promise<readonly Figure[]> {
  const loaded = await openLoaded(bench, 'esdb-append');
  const events = await eventsOf(loaded.engines.log, 'feed-1');
  await loaded.engines.close();
  const server = await startEsdbServer(join(bench.folder, 'esdb-append.sqlite'));
  const log = await openEventStoreDb(server.url);
  const bare = new BareClient(server.url);
  try {
    const figure = await compareRates(
      { figure: 'esdb-append', goal: 0.8, count: events.length },
      (round) => {
        const batches = renewed(events);
        return timed(() => appendAll(log, `ours-${round}`, batches));
      },
      (round) => {
        const batches = renewed(events).map(toProposed);
        return timed(() => bare.append(`bare-${round}`, batches));
      },
    );
    return [{ ...figure, unit: 'events/s' }];
  } finally {
    await Promise.all([log.close(), bare.close()]);
    await server.stop();
  }
}

/** Concurrent callers. */
const CALLERS = 64;

/**
 * Appends single events of 64 concurrent callers, each to its own stream, to our own EventStoreDB server.
 *
 * Ours: through the adapter. Bare: through the official client alone.
 */
export async function esdbAppend64(bench: Bench): Promise<readonly Figure[]> {
  const server = await startEsdbServer(join(bench.folder, 'esdb-append-64.sqlite'));
  const log = await openEventStoreDb(server.url);
  const bare = new BareClient(server.url);
  const each = Math.ceil(bench.count / CALLERS / 10);
  const eventsOfCallers = (): readonly (readonly NewEvent[])[] =>
    Array.from({ length: CALLERS }, () => small(each));
  try {
    const figure = await compareRates(
      { figure: 'esdb-append-64', goal: 0.8, count: each * CALLERS },
      (round) => {
        const events = eventsOfCallers();
        return timed(() =>
          Promise.all(events.map((own, n) => appendAll(log, `ours-${round}-${n}`, singly(own)))),
        );
      },
      (round) => {
        const events = eventsOfCallers().map(toProposed);
        return timed(() =>
          Promise.all(events.map((own, n) => bare.append(`bare-${round}-${n}`, singly(own)))),
        );
      },
    );
    return [{ ...figure, unit: 'events/s' }];
  } finally {
    await Promise.all([log.close(), bare.close()]);
    await server.stop();
  }
}

function small(count: number): readonly NewEvent[] {
  const data = JSON.stringify({ at: new Date().toISOString(), text: 'x'.repeat(200) });
  return Array.from({ length: count }, () => ({ id: randomUUID(), type: 'Happened', data, meta: '{}' }));
}

function singly<Event>(events: readonly Event[]): readonly (readonly Event[])[] {
  return events.map((event) => [event]);
}

async function appendAll(
  log: EventLog,
  stream: string,
  batches: readonly (readonly NewEvent[])[],
): Promise<void> {
  let revision = NO_STREAM;
  for (const batch of batches) ({ revision } = await log.append(stream, revision, batch));
}

async function eventsOf(log: EventLog, stream: string): Promise<readonly NewEvent[]> {
  const events: NewEvent[] = [];
  for await (const batch of log.readStream(stream))
    events.push(...batch.map(({ type, data, meta }) => ({ id: '', type, data, meta })));
  return events;
}

/** The events with new ids, split into appends. */
function renewed(events: readonly NewEvent[]): readonly (readonly NewEvent[])[] {
  const fresh = events.map((event) => ({ ...event, id: randomUUID() }));
  const batches: NewEvent[][] = [];
  for (let at = 0; at < fresh.length; at += BATCH) batches.push(fresh.slice(at, at + BATCH));
  return batches;
}
