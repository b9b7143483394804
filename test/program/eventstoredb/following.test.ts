import { setImmediate as nextRound } from 'node:timers/promises';
import { jsonEvent } from '@eventstore/db-client';
import { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb';
import { openEventStoreDb } from '../../../src/engines/eventstoredb/open-event-store-db';
import { NO_STREAM, type Position, START } from '../../../src/kernel/event';
import { type EventBatch, type EventLog } from '../../../src/kernel/event-log';
import { fill, gather, idsOf, newEvent, newEvents, streamOf } from '../../contracts/event-log/events';
import { type EsdbLog, esdbLog, PATIENT } from '../../support/esdb-log';
import { type EsdbServer, startEsdbServer } from '../../support/esdb-server';
import { startFaultyProxy } from '../../support/faulty-proxy';

/** After all positions. */
const END: Position = '9'.repeat(START.length);

let { server, log, client, category, stream } = {} as EsdbLog;
esdbLog((fixture) => ({ server, log, client, category, stream } = fixture));
afterEach(() => jest.restoreAllMocks());

describe('a new server, which has only system events', () => {
  let fresh: EsdbServer;
  let empty: EventLog;
  beforeEach(async () => {
    fresh = await startEsdbServer('awkward');
    empty = await openEventStoreDb(fresh.url, PATIENT);
  });
  afterEach(async () => {
    await empty.close();
    await fresh.stop();
  });

  test('reports its head as caught up to a follower of streams that do not exist yet', async () => {
    const [batch] = await first(empty.subscribe({ after: START, prefixes: ['organisation-'] }), 1);
    const head = await empty.head();
    const caughtUp = await gather(
      empty.subscribe({ after: START, prefixes: ['organisation-'] }),
      (_, { position }) => position >= head,
    );

    const positions = [
      START,
      ...(await gather(empty.readAll({ after: START }))).events.map(({ position }) => position),
    ];
    expect(batch).toMatchObject({ events: [], caughtUp: true });
    expect(positions).toContain(batch!.position);
    expect(caughtUp.events).toEqual([]);
  });

  test('can be followed from the start and delivers later appends', async () => {
    const prefixes = ['organisation-'];
    const followed = gather(empty.subscribe({ after: START, prefixes }), ({ length }) => length >= 60);
    for (let n = 0; n < 40; n += 1) await empty.append(`other-${n}`, NO_STREAM, newEvents(1));
    await fill(empty, 'organisation-1', 60);

    const { events, position } = await followed;
    expect(events).toHaveLength(60);
    expect(position).toBe(await empty.head());
  });
});

describe('following is cheap', () => {
  test('ten followers of idle streams share one call and reach the head while others append', async () => {
    const after = await log.head();
    const ending = new AbortController();
    const { signal } = ending;
    const followers = Array.from({ length: 10 }, (_, n) =>
      log.subscribe({ after, prefixes: [`${category}none${n}-`], signal })[Symbol.asyncIterator](),
    );
    for (const follower of followers) await follower.next();
    const read = jest.spyOn(StreamsClient.prototype, 'read');
    for (let n = 0; n < 100; n += 1) await log.append(`${category}other-1`, n - 1, newEvents(1));
    const head = await log.head();
    for (const follower of followers)
      for (let position = ''; position < head;)
        position = ((await follower.next()).value as EventBatch).position;

    // One for `head`, which may have to look further for the events of others.
    expect(read.mock.calls.length).toBeLessThan(10);
    ending.abort();
    for (const follower of followers) await follower.next();
  });

  test('an idle follower sends no requests: the server notifies it', async () => {
    const after = await log.head();
    const follower = log.subscribe({ after, prefixes: [stream] })[Symbol.asyncIterator]();
    await follower.next();
    const read = jest.spyOn(StreamsClient.prototype, 'read');
    const next = follower.next();
    // The server reports some events of its own.
    const ticks = client.subscribeToAll({ fromPosition: 'end' });
    let count = 0;
    for await (const { event } of ticks) if (event !== undefined && (count += 1) === 8) break;
    await ticks.unsubscribe();

    expect(read.mock.calls.length - 1).toBeLessThan(3);
    await log.append(stream, NO_STREAM, newEvents(1));
    for (let batch = (await next).value as EventBatch; batch.events.length === 0;)
      batch = (await follower.next()).value as EventBatch;
    await follower.return?.();
  });

  test('reading the head stops at events read before', async () => {
    await log.append(stream, NO_STREAM, newEvents(1));
    const system = Array.from({ length: 600 }, () => jsonEvent({ type: '$metrics', data: {} }));
    await client.appendToStream(`$${category}`, system);
    await log.head();
    const proxy = await startFaultyProxy(server.port);
    const mine = await openEventStoreDb(`esdb://127.0.0.1:${proxy.port}?tls=false`, PATIENT);
    const head = await mine.head();
    await client.appendToStream(`$${category}`, jsonEvent({ type: '$metrics', data: {} }));
    const before = proxy.seen.bytes;

    expect((await mine.head()) >= head).toBe(true);
    expect(proxy.seen.bytes - before).toBeLessThan(20_000);
    await mine.close();
    await proxy.close();
  });

  test('105 followers that consume nothing leave room for other calls', async () => {
    const after = await log.head();
    await fill(log, stream, 2_000);
    const followers = Array.from({ length: 105 }, () =>
      log.subscribe({ after, prefixes: [stream], batchSize: 1 })[Symbol.asyncIterator](),
    );
    for (const follower of followers) await follower.next();

    expect(await streamOf(log, stream, { limit: 1 })).toHaveLength(1);
    await Promise.all(followers.map(async (follower) => follower.return?.()));
  });

  test.each(['alone', 'beside others'])(
    'a follower that is too slow for the new events, %s, reads them when it has time: none is left out',
    async (company) => {
      const ending = new AbortController();
      const { signal } = ending;
      const others = [1, 2].map((n) =>
        gather(log.subscribe({ after: START, prefixes: [`${category}${n}`], signal })),
      );
      if (company === 'alone') ending.abort();
      const after = await log.head();
      const follower = log.subscribe({ after, prefixes: [stream] })[Symbol.asyncIterator]();
      await follower.next();
      const events = await fill(log, stream, 12_000);
      const seen: string[] = [];
      while (seen.length < events.length)
        seen.push(...idsOf(((await follower.next()).value as EventBatch).events));

      expect(seen).toEqual(idsOf(events));
      await follower.return?.();
      ending.abort();
      await Promise.all(others);
    },
  );
});

test('a follower that read its history slowly, and joined after other streams had grown, receives every event', async () => {
  // More than a connection takes ahead: the server is still at the past when what comes after it is there.
  const past = Array.from({ length: 4_000 }, () => newEvent({ filler: 'x'.repeat(1_000) }));
  for (let at = 0; at < past.length; at += 400) await log.append(stream, at - 1, past.slice(at, at + 400));
  await log.append(`${category}other-1`, NO_STREAM, newEvents(1));
  const follower = log
    .subscribe({ after: START, prefixes: [`${category}-`], batchSize: 10 })
    [Symbol.asyncIterator]();
  const seen: string[] = [];
  const next = async (): Promise<void> => {
    seen.push(...idsOf(((await follower.next()).value as EventBatch).events));
  };
  await next();
  // Beyond what it asked for, and more than its feed takes.
  const events = await fill(log, `${category}-2`, 12_000);
  while (seen.length < past.length + events.length) await next();

  expect(seen).toEqual(idsOf([...past, ...events]));
  await follower.return?.();
});

test('a caught-up batch has the position of the head, even if others append while the history is read', async () => {
  await fill(log, stream, 30);
  const iterate = (after: Position, prefix: string): AsyncIterator<EventBatch> =>
    log.subscribe({ after, prefixes: [prefix], batchSize: 10 })[Symbol.asyncIterator]();
  const witness = iterate(await log.head(), `${category}other-`);
  await witness.next();
  const follower = iterate(START, `${category}-`);
  let batch = (await follower.next()).value as EventBatch;
  const { position } = await log.append(`${category}other-1`, NO_STREAM, newEvents(1));
  // The tail, which both share, has delivered it.
  for (let seen = START; seen < position;) seen = ((await witness.next()).value as EventBatch).position;
  while (!batch.caughtUp) batch = (await follower.next()).value as EventBatch;

  expect(batch.position >= position).toBe(true);
  await Promise.all([witness.return?.(), follower.return?.()]);
});

test('a follower learns at once, each time, that the log has grown by streams that it does not follow', async () => {
  const [after, ending] = [await log.head(), new AbortController()];
  const { signal } = ending;
  const iterate = (prefix: string): AsyncIterator<EventBatch> =>
    log.subscribe({ after, prefixes: [prefix], signal })[Symbol.asyncIterator]();
  const [witness, follower] = [iterate(`${category}other-`), iterate(`${category}-`)];
  await Promise.all([witness.next(), follower.next()]);
  let told = START;
  const following = (async () => {
    while (told < END) told = ((await follower.next()).value as EventBatch | undefined)?.position ?? END;
  })();
  for (let turn = 0; turn < 10; turn += 1) {
    const { position } = await log.append(`${category}other-1`, turn - 1, newEvents(1));
    for (let seen = START; seen < position;) seen = ((await witness.next()).value as EventBatch).position;
    // The tail has delivered it to both in one moment: no timer is waited for.
    for (let round = 0; round < 20; round += 1) await nextRound();
    expect(told >= position).toBe(true);
  }
  ending.abort();
  await Promise.all([witness.return?.(), following]);
});

test('an ended subscription leaves no listener in the log', async () => {
  const { signal } = new AbortController();
  const add = jest.spyOn(signal, 'addEventListener');
  const remove = jest.spyOn(signal, 'removeEventListener');
  await first(log.subscribe({ after: await log.head(), prefixes: [stream], signal }), 1);

  expect(remove.mock.calls.length).toBe(add.mock.calls.length);
});

async function first(batches: AsyncIterable<EventBatch>, count: number): Promise<readonly EventBatch[]> {
  const taken: EventBatch[] = [];
  for await (const batch of batches) if (taken.push(batch) === count) break;
  return taken;
}
