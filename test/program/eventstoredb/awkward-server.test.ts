import { once } from 'node:events';
import {
  type AllStreamSubscription,
  END,
  EventStoreDBClient,
  type Filter,
  NO_STREAM,
  type Position,
  START,
  streamNameFilter,
} from '@eventstore/db-client';
import { begin, collected, happened } from '../../support/esdb-events';
import { esdbFixture } from '../../support/esdb-fixture';

const tried = esdbFixture('awkward');
const NOWHERE = { commit: 2n ** 64n - 1n, prepare: 2n ** 64n - 1n };

test('a filtered subscription without matches on a new server: its only checkpoint is 2^64 - 1', async () => {
  const { subscription, checkpoints } = followed(START, { prefixes: [`${tried.category}-`] });
  await once(subscription, 'caughtUp');
  const matched = once(subscription, 'data');
  for (let n = 0; n < 40; n += 1) await tried.client.appendToStream(`${tried.category}other`, happened());
  await tried.client.appendToStream(tried.stream, happened());
  await matched;

  expect(checkpoints).toEqual([NOWHERE]);
  await subscription.unsubscribe();
});

test('events of the server and of other programs come before, between and after those of a client', async () => {
  await begin(tried.client, tried.stream, 1);
  await begin(tried.client, `${tried.category}-2`, 1);
  const all = await collected(tried.client.readAll());
  const own = all.map(({ event }) => event!.streamId.startsWith(tried.category));

  expect(own.indexOf(true)).toBeGreaterThan(32);
  expect(own.lastIndexOf(true) - own.indexOf(true)).toBeGreaterThan(1);
  expect(own.at(-1)).toBe(false);
  expect(new Set(all.map(({ event }) => `${event!.streamId[0] === '$'} ${event!.isJson}`)).size).toBe(4);
});

test('a live subscriber falls behind in a burst: it catches up again and says so', async () => {
  const { subscription } = followed(END, { prefixes: [tried.category] });
  await once(subscription, 'caughtUp');
  const again = once(subscription, 'caughtUp');
  await begin(tried.client, tried.stream, 100);

  await again;
  await subscription.unsubscribe();
});

test.each(['\u0301', '\u0338', '\u20dd', '\u3099'])(
  'a prefix does not match where the combining mark %j follows, a regular expression does',
  async (mark) => {
    const stream = `${tried.category}-${mark}x`;
    await begin(tried.client, stream, 1);
    await begin(tried.client, tried.stream, 1);
    const seen = async (filter: { prefixes: string[] } | { regex: string }): Promise<readonly string[]> => {
      const { subscription, streams } = followed(START, filter);
      await once(subscription, 'caughtUp');
      await new Promise(setImmediate);
      await subscription.unsubscribe();
      return streams;
    };

    expect(await seen({ prefixes: [`${tried.category}-`] })).toEqual([tried.stream]);
    expect(await seen({ regex: `^${tried.category}-` })).toEqual([stream, tried.stream]);
  },
);

test('a read of at most 0 of all events never ends; of a stream it is refused', async () => {
  await begin(tried.client, tried.stream, 1);
  const endless = tried.client.readAll({ maxCount: 0 });
  const ended = once(endless, 'end').then(() => 'ended');
  endless.resume();
  await begin(tried.client, `${tried.category}-2`, 50);

  expect(await Promise.race([ended, new Promise(setImmediate)])).not.toBe('ended');
  await endless.cancel();
  await expect(collected(tried.client.readStream(tried.stream, { maxCount: 0 }))).rejects.toMatchObject({
    type: 'unknown',
  });
});

test('the same append over another connection times out while the first is in flight', async () => {
  const other = EventStoreDBClient.connectionString(`${tried.server.url}&keepAliveTimeout=20000`);
  await Promise.all([tried.client, other].map((client, n) => begin(client, `${tried.stream}${n}`, 1)));
  const events = [happened(), happened()];
  const appends = await Promise.allSettled(
    [tried.client, other].map((client) =>
      client.appendToStream(tried.stream, events, { expectedRevision: NO_STREAM }),
    ),
  );

  expect(appends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  expect(appends.find(({ status }) => status === 'rejected')).toMatchObject({
    reason: { type: 'deadline-exceeded' },
  });
  expect(
    await tried.client.appendToStream(tried.stream, events, { expectedRevision: NO_STREAM }),
  ).toMatchObject({ nextExpectedRevision: 1n });
  await other.dispose();
});

test('at most 100 calls run over one connection', async () => {
  // The client's appends are one call.
  await begin(tried.client, tried.stream, 1);
  const subscriptions = Array.from({ length: 99 }, () => tried.client.subscribeToStream(tried.stream));
  for (const subscription of subscriptions) subscription.on('data', () => undefined);
  await Promise.all(subscriptions.map((subscription) => once(subscription, 'confirmation')));
  let answered = false;
  const waiting = collected(tried.client.readAll({ maxCount: 1 })).then((events) => {
    answered = true;
    return events;
  });
  const other = EventStoreDBClient.connectionString(`${tried.server.url}&keepAliveTimeout=20000`);
  await collected(other.readAll());

  expect(answered).toBe(false);
  await subscriptions[0]!.unsubscribe();
  expect(await waiting).toHaveLength(1);
  for (const subscription of subscriptions.slice(1)) await subscription.unsubscribe();
  await other.dispose();
});

/** A subscription, with what it brings. */
function followed(
  fromPosition: Position | typeof START | typeof END,
  by: { prefixes: string[] } | { regex: string },
): { subscription: AllStreamSubscription; checkpoints: Position[]; streams: string[] } {
  const checkpoints: Position[] = [];
  const streams: string[] = [];
  const filter: Filter = {
    ...('regex' in by ? streamNameFilter(by) : streamNameFilter(by)),
    maxSearchWindow: 256,
    checkpointInterval: 1,
    checkpointReached: async (_, position) => void checkpoints.push(position),
  };
  const subscription = tried.client.subscribeToAll({ fromPosition, filter });
  subscription.on('data', ({ event }) => streams.push(event!.streamId));
  return { subscription, checkpoints, streams };
}
