import { binaryEvent, jsonEvent } from '@eventstore/db-client';
import { openEventStoreDb } from '../../../src/engines/eventstoredb/open-event-store-db';
import { NO_STREAM, type Position, START } from '../../../src/kernel/event';
import { type EventBatch } from '../../../src/kernel/event-log';
import { fill, gather, newEvents, streamOf } from '../../contracts/event-log/events';
import { type EsdbLog, esdbLog, PATIENT } from '../../support/esdb-log';
import { startFaultyProxy } from '../../support/faulty-proxy';

let { server, log, client, category, stream } = {} as EsdbLog;
esdbLog((fixture) => ({ server, log, client, category, stream } = fixture));
afterEach(() => jest.restoreAllMocks());

test('events of other programs do not count towards limits', async () => {
  const foreign = binaryEvent({ type: 'Image', data: Buffer.from([1, 2, 3]) });
  const own = (n: number): ReturnType<typeof jsonEvent> => jsonEvent({ type: 'Happened', data: { n } });
  await client.appendToStream(stream, [foreign, foreign, own(0), foreign, own(1), own(2), foreign]);
  const revisions = async (options: object): Promise<readonly number[]> =>
    (await streamOf(log, stream, options)).map(({ revision }) => revision);

  expect(await revisions({ limit: 2 })).toEqual([2, 4]);
  expect(await revisions({ limit: 2, backwards: true })).toEqual([5, 4]);
  expect(await revisions({ limit: 5 })).toEqual([2, 4, 5]);
  expect(await revisions({ from: 3, limit: 1, batchSize: 1 })).toEqual([4]);
});

test('an empty append checks against the last event of the stream, whichever program wrote it', async () => {
  await client.appendToStream(stream, [
    jsonEvent({ type: 'Happened', data: {} }),
    binaryEvent({ type: 'Image', data: Buffer.from([1]) }),
  ]);

  expect(await log.append(stream, 1, [])).toMatchObject({ revision: 1 });
  await expect(log.append(stream, 0, [])).rejects.toMatchObject({ name: 'RevisionConflict', actual: 1 });
});

test('a repeated append is recognized even if the stream was truncated since', async () => {
  const events = newEvents(2);
  await log.append(stream, NO_STREAM, events);
  await log.append(stream, 1, newEvents(2));
  await client.setStreamMetadata(stream, { truncateBefore: 3 });

  const again = await log.append(stream, NO_STREAM, events);
  expect(again.revision).toBe(1);
  expect(await positionsAfter(START)).toContain(again.position);
});

test('the same events from two processes at once: both appends succeed, and later ones continue', async () => {
  const proxy = await startFaultyProxy(server.port);
  const mine = await openEventStoreDb(`esdb://127.0.0.1:${proxy.port}?tls=false`, PATIENT);
  await Promise.all([mine, log].map((each, n) => each.append(`${stream}warm${n}`, NO_STREAM, newEvents(1))));
  const { open } = proxy.seen;
  const events = newEvents(2);
  const both = Promise.all([log, mine].map((each) => each.append(stream, NO_STREAM, events)));
  const settled = { yes: false };
  void both.finally(() => (settled.yes = true)).catch(() => undefined);
  let others = 0;
  for (; !settled.yes; others += 1) await mine.append(`${category}-o${others}`, NO_STREAM, newEvents(1));

  const [one, other] = await both;
  expect(one).toEqual(other);
  expect(others).toBeGreaterThan(1);
  expect(proxy.seen.open).toBe(open);
  await mine.close();
  await proxy.close();
});

test('64 callers append concurrently', async () => {
  const proxy = await startFaultyProxy(server.port);
  const mine = await openEventStoreDb(`esdb://127.0.0.1:${proxy.port}?tls=false`, PATIENT);
  await mine.append(`${stream}warm`, NO_STREAM, newEvents(1));
  proxy.faults.mute = true;
  const appends = Array.from({ length: 64 }, (_, n) => mine.append(`${stream}${n}`, NO_STREAM, newEvents(1)));
  // No answer has come back, and all are there.
  await gather(log.subscribe({ after: START, prefixes: [stream] }), ({ length }) => length >= 65);
  proxy.faults.mute = false;
  proxy.cut();

  for (const { revision } of await Promise.all(appends)) expect(revision).toBe(0);
  await mine.close();
  await proxy.close();
});

test('an append to a tombstoned stream, also an empty one, is a fault that names it (decisions X91)', async () => {
  await log.append(stream, NO_STREAM, newEvents(1));
  await client.tombstoneStream(stream);

  const deleted = { code: '410', status: 410, message: expect.stringContaining(`${stream} was deleted`) };
  await expect(log.append(stream, 0, [])).rejects.toMatchObject(deleted);
  await expect(log.append(stream, 0, newEvents(1))).rejects.toMatchObject(deleted);
});

test('a position without an event is refused at once', async () => {
  const { position } = await log.append(stream, NO_STREAM, newEvents(1));
  await fill(log, `${category}-2`, 10);
  const between = String(BigInt(position) + 1n).padStart(START.length, '0');

  const refused = { name: 'EngineUnavailable', message: expect.stringContaining('refused') };
  await expect(gather(log.readAll({ after: between }))).rejects.toMatchObject(refused);
  await expect(first(log.subscribe({ after: between }), 1)).rejects.toMatchObject(refused);
});

async function positionsAfter(after: Position): Promise<readonly Position[]> {
  return (await gather(log.readAll({ after }))).events.map(({ position }) => position);
}

async function first(batches: AsyncIterable<EventBatch>, count: number): Promise<readonly EventBatch[]> {
  const taken: EventBatch[] = [];
  for await (const batch of batches) if (taken.push(batch) === count) break;
  return taken;
}
