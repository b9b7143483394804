import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  BACKWARDS,
  END,
  persistentSubscriptionToStreamSettingsFromDefaults,
  type ReadStreamOptions,
  type ResolvedEvent,
  START,
  streamNameFilter,
} from '@eventstore/db-client';
import { openLog } from '../../../src/engines/embedded/log/open-log';
import { NO_STREAM } from '../../../src/kernel/event';
import { collected, happened } from '../../support/esdb-events';
import { esdbFixture } from '../../support/esdb-fixture';

const only = esdbFixture('read-only');

test.each<[string, () => Promise<unknown>]>([
  ['an append', () => only.client.appendToStream(only.stream, happened())],
  [
    'an append by itself',
    () =>
      only.client.appendToStream(only.stream, happened(), {
        credentials: { username: 'admin', password: 'changeit' },
      }),
  ],
  ['metadata', () => only.client.setStreamMetadata(only.stream, {})],
  ['a deletion', () => only.client.deleteStream(only.stream)],
  ['a tombstone', () => only.client.tombstoneStream(only.stream)],
])('refuses %s with access denied', async (_, write) => {
  await expect(write()).rejects.toMatchObject({ type: 'access-denied' });
  expect(await collected(only.client.readAll())).toEqual([]);
});

test('refuses each of many appends and continues to answer', async () => {
  const appends = Array.from({ length: 200 }, (_, n) =>
    only.client.appendToStream(`${only.stream}${n}`, happened()),
  );

  for (const append of await Promise.allSettled(appends))
    expect(append).toMatchObject({ status: 'rejected', reason: { type: 'access-denied' } });
});

test('delivers events of the program itself with their time and names', async () => {
  const { log } = await openLog(only.server.file, false);
  const data = { price: 9990, at: '2026-01-07T08:00:00.000Z' };
  const event = { id: randomUUID(), type: 'ProductRepriced', data: JSON.stringify(data), meta: '{}' };
  const { position } = await log.append('feed-301', NO_STREAM, [event]);
  await log.close();

  const [read] = await collected(only.client.readStream('feed-301'));
  expect(read!.event).toMatchObject({
    streamId: 'feed-301',
    id: event.id,
    revision: 0n,
    type: 'ProductRepriced',
    isJson: true,
    data,
    metadata: {},
    created: new Date(data.at),
    position: { commit: BigInt(position), prepare: BigInt(position) },
  });
});

/** Appends events of the program itself, each with its number. */
async function appended(stream: string, from: number, count: number): Promise<void> {
  const { log } = await openLog(only.server.file, false);
  const events = Array.from({ length: count }, (_, n) => ({
    id: randomUUID(),
    type: 'Counted',
    data: JSON.stringify({ n: from + n }),
    meta: '{}',
  }));
  await log.append(stream, from === 0 ? NO_STREAM : from - 1, events);
  await log.close();
}

const numberIn = ({ event }: ResolvedEvent): unknown => (event!.data as { n: number }).n;

test.each<[string, ReadStreamOptions, readonly number[]]>([
  ['from its start', {}, [0, 1, 2, 3, 4]],
  ['from a revision', { fromRevision: 3n }, [3, 4]],
  ['of at most two events', { maxCount: 2 }, [0, 1]],
  ['from beyond its end', { fromRevision: 9n }, []],
  ['backwards from its end', { direction: BACKWARDS, fromRevision: END, maxCount: 2 }, [4, 3]],
  ['backwards from a revision', { direction: BACKWARDS, fromRevision: 1n }, [1, 0]],
  ['backwards from beyond its end', { direction: BACKWARDS, fromRevision: 9n }, [4, 3, 2, 1, 0]],
])('reads a stream %s', async (_, options, expected) => {
  await appended(only.stream, 0, 5);

  const read = await collected(only.client.readStream(only.stream, options));
  expect(read.map(numberIn)).toEqual(expected);
});

test('has no other streams and no metadata', async () => {
  await appended(only.stream, 0, 1);

  for (const stream of [`${only.stream}0`, `$$${only.stream}`, '$stats'])
    await expect(collected(only.client.readStream(stream))).rejects.toMatchObject({
      type: 'stream-not-found',
    });
  expect((await only.client.getStreamMetadata(only.stream)).metadata).toBeUndefined();
});

test.each<[string, bigint | typeof START | typeof END, readonly number[]]>([
  ['its start', START, [0, 1, 2, 3]],
  ['a revision', 1n, [2, 3]],
  ['its end', END, [3]],
])('follows a stream from %s', async (_, fromRevision, expected) => {
  await appended(only.stream, 0, 3);
  const subscription = only.client.subscribeToStream(only.stream, { fromRevision });
  const seen: unknown[] = [];
  subscription.on('data', (resolved: ResolvedEvent) => seen.push(numberIn(resolved)));
  // What is there has been sent.
  await once(subscription, 'caughtUp');
  await appended(only.stream, 3, 1);

  while (seen.length < expected.length) await once(subscription, 'data');
  expect(seen).toEqual(expected);
  await subscription.unsubscribe();
});

// What differs from EventStoreDB: docs/operations.md, Replaying the log.

test.each<[string, () => Promise<unknown>]>([
  [
    'persistent subscriptions',
    () =>
      only.client.createPersistentSubscriptionToStream(
        only.stream,
        'group',
        persistentSubscriptionToStreamSettingsFromDefaults(),
      ),
  ],
  ['projections', () => only.client.createProjection('all', 'fromAll()')],
  ['operations of subsystems', () => only.client.restartSubsystem()],
])('there are no %s', async (_, call) => {
  await expect(call()).rejects.toMatchObject({
    message: expect.stringMatching(/UNIMPLEMENTED|not supported/i),
  });
});

test('a read of at most 0 of all events ends at once', async () => {
  expect(await collected(only.client.readAll({ maxCount: 0 }))).toEqual([]);
});

test('a prefix matches whatever follows it', async () => {
  const { log } = await openLog(only.server.file, false);
  const event = { id: randomUUID(), type: 'ProductListed', data: '{}', meta: '{}' };
  await log.append(`${only.category}-\u0301x`, NO_STREAM, [event]);
  await log.close();
  const filter = streamNameFilter({ prefixes: [`${only.category}-`] });
  const subscription = only.client.subscribeToAll({ fromPosition: START, filter });

  const [seen] = (await once(subscription, 'data')) as [ResolvedEvent];
  expect(seen.event!.id).toBe(event.id);
  await subscription.unsubscribe();
});
