import { once } from 'node:events';
import {
  type AllStreamSubscription,
  END,
  type Position,
  START,
  streamNameFilter,
} from '@eventstore/db-client';
import { begin, happened } from '../../support/esdb-events';
import { esdbFixture } from '../../support/esdb-fixture';

// The log is this file's own, and its tests go on with what is there: positions are 1, 2, 3, …

const tried = esdbFixture();
const NOWHERE = { commit: 2n ** 64n - 1n, prepare: 2n ** 64n - 1n };

test('an empty log has no checkpoint when a filtered subscription has caught up', async () => {
  expect(await caughtUp(START, 'none')).toEqual([]);
});

test('before the first page is full, the checkpoint is 2^64 - 1, and no other follows', async () => {
  await begin(tried.client, 'other-1', 19);
  const { subscription, checkpoints } = followed(START, 'own', 10, 2);
  await once(subscription, 'caughtUp');
  const matched = once(subscription, 'data');
  await begin(tried.client, 'other-2', 30);
  await begin(tried.client, 'other-3', 30);
  await begin(tried.client, 'own-1', 1);
  await matched;

  expect(checkpoints).toEqual([NOWHERE]);
  await subscription.unsubscribe();
});

test('non-matching events have a checkpoint per interval: the start of the last page', async () => {
  await begin(tried.client, 'other-4', 15);

  expect(await caughtUp(START, 'none', 10, 2)).toEqual(pagesAt(11, 31, 51, 71));
});

test('matching events have a checkpoint after each interval: at the last event of a page of at most 32', async () => {
  await begin(tried.client, 'match-1', 100);

  expect(await caughtUp(eventAt(95), 'match', 40)).toEqual([159, 191, 195].map(eventAt));
});

test('starting at a non-matching event sends a checkpoint at once: the first page starts with it', async () => {
  expect(await caughtUp(eventAt(80), 'none', 10)).toEqual([
    eventAt(80),
    ...pagesAt(90, 100, 110, 120, 130, 140, 150, 160, 170, 180),
  ]);
});

test('a position just before an event includes it, as its checkpoint does', async () => {
  const { subscription, streams } = followed({ commit: 96n, prepare: 0n }, 'match-1');
  await once(subscription, 'caughtUp');
  await new Promise(setImmediate);

  expect(streams).toHaveLength(100);
  await subscription.unsubscribe();
});

test('a live subscription sends a checkpoint per interval of events, matching or not', async () => {
  const { subscription, checkpoints, streams } = followed(END, 'own', 2, 3);
  await once(subscription, 'caughtUp');
  const places: Position[] = [];
  for (let n = 0; n < 13; n += 1) {
    const stream = n === 5 ? 'own-2' : 'other-5';
    places.push((await tried.client.appendToStream(stream, happened())).position!);
  }
  const last = once(subscription, 'data');
  await begin(tried.client, 'own-3', 1);
  await last;

  expect(streams).toEqual(['own-2', 'own-3']);
  expect(checkpoints).toEqual([places[5], places[11]]);
  await subscription.unsubscribe();
});

test('a subscriber that receives more than 32 at once falls behind: a checkpoint at its position, then pages again', async () => {
  const { subscription, checkpoints, streams } = followed(END, 'burst', 1_000);
  await once(subscription, 'caughtUp');
  const one = once(subscription, 'data');
  const { position: first } = await tried.client.appendToStream('burst-1', happened());
  await one;
  const again = once(subscription, 'caughtUp');
  const { position: last } = await tried.client.appendToStream(
    'burst-1',
    Array.from({ length: 33 }, () => happened()),
  );
  await again;
  await new Promise(setImmediate);

  expect(streams).toHaveLength(34);
  expect(checkpoints).toEqual([first, last]);
  await subscription.unsubscribe();
});

test.each([
  ['all streams', () => tried.client.subscribeToAll({ fromPosition: END })],
  ['a stream', () => tried.client.subscribeToStream(tried.stream)],
])('a subscriber to %s that falls behind is notified when it has caught up again', async (_, subscribe) => {
  const subscription = subscribe();
  let seen = 0;
  subscription.on('data', () => (seen += 1));
  await once(subscription, 'caughtUp');
  const again = once(subscription, 'caughtUp');
  await begin(tried.client, tried.stream, 32);
  await begin(tried.client, `${tried.stream}0`, 1);
  const before = await Promise.race([
    again.then(() => 'caught up'),
    new Promise((resolve) => setImmediate(resolve, 'live')),
  ]);
  await tried.client.appendToStream(
    tried.stream,
    Array.from({ length: 33 }, () => happened()),
  );
  await again;
  await new Promise(setImmediate);

  expect(before).toBe('live');
  expect(seen).toBeGreaterThanOrEqual(65);
  await subscription.unsubscribe();
});

function eventAt(position: number): Position {
  return { commit: BigInt(position), prepare: BigInt(position) };
}

/** Where pages begin: before these events. */
function pagesAt(...positions: number[]): readonly Position[] {
  return positions.map((position) => ({ commit: BigInt(position), prepare: 0n }));
}

/** The checkpoints of a subscription until it has caught up. */
async function caughtUp(
  fromPosition: Position | typeof START,
  prefix: string,
  window?: number,
  multiplier?: number,
): Promise<readonly Position[]> {
  const { subscription, checkpoints } = followed(fromPosition, prefix, window, multiplier);
  await once(subscription, 'caughtUp');
  await new Promise(setImmediate);
  await subscription.unsubscribe();
  return checkpoints;
}

function followed(
  fromPosition: Position | typeof START | typeof END,
  prefix: string,
  maxSearchWindow = 32,
  checkpointInterval = 1,
): { subscription: AllStreamSubscription; checkpoints: Position[]; streams: string[] } {
  const checkpoints: Position[] = [];
  const streams: string[] = [];
  const filter = streamNameFilter({
    prefixes: [prefix],
    maxSearchWindow,
    checkpointInterval,
    checkpointReached: async (_, position) => void checkpoints.push(position),
  });
  const subscription = tried.client.subscribeToAll({ fromPosition, filter });
  subscription.on('data', ({ event }) => streams.push(event!.streamId));
  return { subscription, checkpoints, streams };
}
