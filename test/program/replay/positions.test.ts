import { once } from 'node:events';
import { BACKWARDS, END, eventTypeFilter, type Position, START } from '@eventstore/db-client';
import { status } from '@grpc/grpc-js';
import { begin, collected, happened } from '../../support/esdb-events';
import { esdbFixture } from '../../support/esdb-fixture';

/** Its positions have gaps. */
const tried = esdbFixture('awkward');

let inside: Position;
let beyond: Position;
beforeEach(async () => {
  await begin(tried.client, tried.stream, 2);
  const [first] = await collected(tried.client.readAll({ maxCount: 1 }));
  inside = at(first!.event!.position.commit + 1n);
  beyond = at(2n ** 62n);
});

test('a subscription from a position without an event is refused', async () => {
  const invalid = { code: status.INVALID_ARGUMENT };
  const filter = eventTypeFilter({ prefixes: ['Happened'] });

  await expect(collected(tried.client.subscribeToAll({ fromPosition: inside }))).rejects.toMatchObject(
    invalid,
  );
  await expect(
    collected(tried.client.subscribeToAll({ fromPosition: inside, filter })),
  ).rejects.toMatchObject(invalid);
});

test('a read from a position without an event fails, forwards and backwards', async () => {
  const unknown = { code: status.UNKNOWN, message: expect.stringMatching(/position/) };

  await expect(collected(tried.client.readAll({ fromPosition: inside }))).rejects.toMatchObject(unknown);
  await expect(
    collected(tried.client.readAll({ fromPosition: inside, direction: BACKWARDS })),
  ).rejects.toMatchObject(unknown);
});

test('beyond the end, a forward read is empty and a backward read fails', async () => {
  expect(await collected(tried.client.readAll({ fromPosition: beyond }))).toEqual([]);
  await expect(
    collected(tried.client.readAll({ fromPosition: beyond, direction: BACKWARDS, maxCount: 1 })),
  ).rejects.toMatchObject({ code: status.UNKNOWN, message: expect.stringMatching(/position/) });
});

test('a subscription from beyond the end is live at once, and skips events before its position', async () => {
  const subscription = tried.client.subscribeToAll({ fromPosition: beyond });
  const events: unknown[] = [];
  subscription.on('data', (event) => events.push(event));
  await once(subscription, 'caughtUp');
  await tried.client.appendToStream(tried.stream, happened());
  const other = tried.client.subscribeToAll({ fromPosition: END });
  await Promise.all([once(other, 'data'), tried.client.appendToStream(tried.stream, happened())]);

  expect(events).toEqual([]);
  await Promise.all([subscription.unsubscribe(), other.unsubscribe()]);
});

test('the position 2^64 - 1, which is sent as a checkpoint, means the end', async () => {
  const subscription = tried.client.subscribeToAll({ fromPosition: at(2n ** 64n - 1n) });
  const first = once(subscription, 'data');
  await once(subscription, 'caughtUp');
  const past = (await collected(tried.client.readAll({ fromPosition: START }))).length;

  expect(past).toBeGreaterThan(0);
  expect(await collected(tried.client.readAll({ fromPosition: at(2n ** 64n - 1n) }))).toEqual([]);
  const { position } = await tried.client.appendToStream(tried.stream, happened());
  const [{ event }] = (await first) as [{ event: { position: Position } }];
  expect(event.position.commit).toBeLessThanOrEqual(position!.commit);
  expect(event.position.commit).toBeGreaterThan(inside.commit);
  await subscription.unsubscribe();
});

function at(position: bigint): Position {
  return { commit: position, prepare: position };
}
