import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import {
  openEventStoreDb,
  openEventStoreLeases,
} from '../../../src/engines/eventstoredb/open-event-store-db';
import { toNewEvent } from '../../../src/kernel/decider';
import { NO_STREAM, START } from '../../../src/kernel/event';
import { UnacceptableAppend } from '../../../src/kernel/event-log';
import { LeaseHolder } from '../../../src/runtime/lease-holder';
import { type Leases } from '../../../src/kernel/leases';
import { TestClock } from '../../support/clock';
import { esdbFixture } from '../../support/esdb-fixture';
import { startFaultyProxy } from '../../support/faulty-proxy';
import { PATIENT } from '../../support/esdb-log';
import { startEsdbServer } from '../../support/esdb-server';

const fixture = esdbFixture();
let now = 1_000_000;
const clock = new TestClock(
  () => now,
  () => now,
);
let leases: Leases;
beforeEach(async () => {
  leases = await openEventStoreLeases(fixture.server.url, PATIENT, undefined, clock);
});
afterEach(() => leases.close());

/** What a notifier has: 64 partitions, its membership and the matcher. */
function notifier(owner: string): readonly LeaseHolder[] {
  const names = Array.from({ length: 64 }, (_, at) => `notifier-partition-${at}`);
  return [...names, `notifier-member-${owner}`, 'matcher'].map(
    (name) => new LeaseHolder(clock, leases, name, owner, 30_000),
  );
}

/** Lets a time pass (ms) in which a process looks at its leases each second. */
async function pass(ms: number, holders: readonly LeaseHolder[]): Promise<void> {
  for (const end = now + ms; now < end; now += 1_000)
    expect(new Set(await Promise.all(holders.map((holder) => holder.acquire())))).toEqual(new Set([true]));
}

/** The names of the streams of all events in the server. */
async function streams(): Promise<readonly string[]> {
  const all: string[] = [];
  for await (const { event } of fixture.client.readAll()) all.push(event?.streamId ?? '');
  return all;
}

it('all leases of a notifier cost one append every ten seconds, and few more when they are taken and released', async () => {
  const holders = notifier('a');
  await pass(1_000, holders);
  const taken = await streams();
  expect(taken.filter((name) => name === 'leases.table').length).toBeLessThanOrEqual(2);
  await pass(600_000, holders);
  const later = (await streams()).slice(taken.length);
  expect(new Set(later)).toEqual(new Set(['leases.heartbeat-a']));
  expect(later.length).toBeGreaterThan(50);
  expect(later.length).toBeLessThanOrEqual(61);
  await Promise.all(holders.map((holder) => holder.release()));
  const released = (await streams()).slice(taken.length + later.length);
  expect(new Set(released)).toEqual(new Set(['leases.table']));
  expect(released.length).toBeLessThanOrEqual(2);
});

it('the server keeps one heartbeat of an owner, and few tables', async () => {
  for (let turn = 0; turn < 12; turn += 1) {
    const holders = notifier('kept').slice(0, 1);
    await pass(30_000, holders);
    await holders[0]?.release();
  }
  for (const [stream, most] of [
    ['leases.heartbeat-kept', 1],
    ['leases.table', 10],
  ] as const) {
    let count = 0;
    for await (const { event } of fixture.client.readStream(stream)) count += event === undefined ? 0 : 1;
    expect(count).toBeGreaterThan(0);
    expect(count).toBeLessThanOrEqual(most);
  }
});

it('leases are no events of the log: its head stays, followers are not woken, and nothing reads or writes them', async () => {
  const { server, stream } = fixture;
  const log = await openEventStoreDb(server.url, PATIENT);
  const { position } = await log.append(stream, NO_STREAM, [
    toNewEvent({ type: 'Done', data: {} }, randomUUID()),
  ]);
  const ending = new AbortController();
  const batches: unknown[] = [];
  const following = (async () => {
    for await (const batch of log.subscribe({ after: START, signal: ending.signal })) batches.push(batch);
  })();
  while (batches.length === 0) await pause(5);
  const before = batches.length;
  await pass(900_000, notifier('b'));
  expect(await log.head()).toBe(position);
  // What is appended next is the next batch.
  const next = await log.append(stream, 0, [toNewEvent({ type: 'Done', data: {} }, randomUUID())]);
  while (batches.length === before) await pause(5);
  expect(batches.slice(before)).toMatchObject([{ position: next.position, caughtUp: true }]);
  ending.abort();
  await following;
  const another = await openEventStoreDb(server.url, PATIENT);
  expect(await another.head()).toBe(next.position);
  const names = new Set<string>();
  for await (const { events } of another.readAll({ after: START }))
    for (const event of events) names.add(event.stream);
  expect([...names]).toEqual([stream]);
  await expect(
    log.append('leases.table', NO_STREAM, [toNewEvent({ type: 'Done', data: {} }, randomUUID())]),
  ).rejects.toThrow(UnacceptableAppend);
  await another.close();
  await log.close();
});

it.each([true, false])(
  'a process that starts does not read them all to find the end of the log (with events: %s)',
  async (hasEvents) => {
    const server = await startEsdbServer();
    const client = EventStoreDBClient.connectionString(server.url);
    const event = (type: string, more = '') => jsonEvent({ type, data: { more } });
    if (hasEvents) await client.appendToStream('own-1', [event('Done')]);
    for (let at = 0; at < 10; at += 1)
      await client.appendToStream(
        'leases.heartbeat-c',
        Array.from({ length: 300 }, () => event('OwnerAlive', 'x'.repeat(1_000))),
      );
    const proxy = await startFaultyProxy(server.port);
    const log = await openEventStoreDb(`esdb://127.0.0.1:${proxy.port}?tls=false`, PATIENT);
    const head = await log.head();
    const own: unknown[] = [];
    for await (const { events, position } of log.readAll({ after: START }))
      own.push([events.length, position]);
    expect(own).toEqual([[hasEvents ? 1 : 0, head]]);
    expect(head === START).toBe(!hasEvents);
    // All of them are more than 3 MB.
    expect(proxy.seen.bytes).toBeLessThan(1_500_000);
    await log.close();
    await proxy.close();
    await client.dispose();
    await server.stop();
  },
);
