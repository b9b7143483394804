import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { openEventStoreDb } from '../../../src/engines/eventstoredb/open-event-store-db';
import { UnusableUrl } from '../../../src/runtime/unavailable';
import { NO_STREAM, START } from '../../../src/kernel/event';
import { EngineUnavailable, type EventLog } from '../../../src/kernel/event-log';
import { APPEND_RETRIES, APPENDS } from '../../../src/runtime/metrics';
import { gather, idsOf, newEvent, newEvents, streamOf } from '../../contracts/event-log/events';
import { type EsdbServer, startEsdbServer } from '../../support/esdb-server';
import { type FaultyProxy, startFaultyProxy } from '../../support/faulty-proxy';
import { growthOf } from '../../support/metrics';

const HASTY = { timeoutMs: 1_000, retryMs: 100_000 };

let server: EsdbServer;
let proxy: FaultyProxy;
let log: EventLog;
/** The same log over a connection without faults. */
let direct: EventLog;
let stream: string;

beforeAll(async () => {
  server = await startEsdbServer();
  direct = await openEventStoreDb(server.url);
});
afterAll(async () => {
  await direct.close();
  await server.stop();
});
beforeEach(async () => {
  proxy = await startFaultyProxy(server.port);
  log = await openEventStoreDb(`esdb://127.0.0.1:${proxy.port}?tls=false`, HASTY);
  stream = `tried${randomUUID().slice(0, 8)}-1`;
});
afterEach(async () => {
  await log.close();
  await proxy.close();
});

test('an append whose answer was lost with the connection is recognized, not made twice', async () => {
  await log.append(stream, NO_STREAM, newEvents(2));
  proxy.faults.mute = true;
  const events = newEvents(3);
  const appending = log.append(stream, 1, events);
  const made = await until(events.at(-1)!.id);
  proxy.faults.mute = false;
  proxy.cut();

  expect(await appending).toEqual({ revision: 4, position: made });
  expect(await streamOf(direct, stream)).toHaveLength(5);
});

test('an append without an answer is retried over another connection', async () => {
  const [appends, retries] = [growthOf(APPENDS), growthOf(APPEND_RETRIES)];
  await log.append(stream, NO_STREAM, newEvents(1));
  proxy.faults.mute = true;
  const events = newEvents(2);
  const appending = log.append(stream, 0, events);
  const others = Array.from({ length: 30 }, (_, n) => log.append(`${stream}${n}`, NO_STREAM, newEvents(2)));
  await until(events.at(-1)!.id);
  // What was held back stays so: the old connection is there, and silent for ever.
  proxy.faults.mute = false;

  expect((await appending).revision).toBe(2);
  expect((await Promise.all(others)).map(({ revision }) => revision)).toEqual(others.map(() => 1));
  await proxy.until(({ open }) => open === 2);
  expect(await streamOf(direct, stream)).toHaveLength(3);
  await expect(log.append(stream, 0, newEvents(1))).rejects.toMatchObject({ name: 'RevisionConflict' });
  expect(appends()).toEqual({ 'events ok': 32, 'events conflict': 1 });
  expect(retries()['events']).toBeGreaterThan(0);
});

test('a read without an answer is retried over another connection', async () => {
  const events = newEvents(3);
  await log.append(stream, NO_STREAM, events);
  proxy.faults.mute = true;
  const { held } = proxy.seen;
  const reading = streamOf(log, stream);
  await proxy.until((seen) => seen.held > held);
  // What was held back stays so: the old connection is there, and silent for ever.
  proxy.faults.mute = false;

  expect(idsOf(await reading)).toEqual(idsOf(events));
  expect(await log.head()).toBe(await direct.head());
  // Of reads and of appends: that which was left is closed.
  await proxy.until(({ open }) => open === 2);
});

test('a server killed and restarted midway: each append is made once, each event delivered once and in order', async () => {
  const total = 400;
  const after = await log.head();
  const prefix = stream.slice(0, -1);
  const followed = gather(log.subscribe({ after, prefixes: [prefix] }), ({ length }) => length >= total);
  const wrote: string[] = [];
  const writing = [0, 1, 2, 3].map(async (writer) => {
    for (let n = 0; n < total / 4; n += 2) {
      const events = newEvents(2);
      await log.append(`${prefix}${writer}`, n - 1, events);
      wrote.push(...idsOf(events));
    }
  });
  for (const share of [0.25, 0.5, 0.75]) {
    for await (const batch of direct.subscribe({ after, prefixes: [prefix] }))
      if (batch.events.length > 0 && wrote.length >= share * total) break;
    await server.kill();
    await server.start();
  }
  await Promise.all(writing);

  const { events } = await gather(direct.readAll({ after, prefixes: [prefix] }));
  expect(idsOf(events).toSorted()).toEqual(wrote.toSorted());
  expect(idsOf((await followed).events)).toEqual(idsOf(events));
});

test('a slow connection delays answers, but nothing fails', async () => {
  proxy.faults.delay = 30;
  const events = newEvents(20);
  for (const [n, event] of events.entries()) await log.append(stream, n - 1, [event]);

  expect(idsOf(await streamOf(log, stream))).toEqual(idsOf(events));
});

test('a slow consumer applies backpressure', async () => {
  const event = (): ReturnType<typeof newEvent> => newEvent({ text: 'x'.repeat(2_000) });
  for (let n = 0; n < 20; n += 1)
    await direct.append(stream, n * 400 - 1, Array.from({ length: 400 }, event));
  const before = proxy.seen.bytes;
  const batches = log.subscribe({ after: START, prefixes: [stream], batchSize: 50 })[Symbol.asyncIterator]();
  await batches.next();
  // While nothing is taken, appends go on; their answers come after whatever the server was able to send.
  for (let n = 0; n < 20; n += 1) await log.append(`${stream}0`, n - 1, newEvents(1));

  expect(proxy.seen.bytes - before).toBeLessThan(4_000_000);
  await batches.return?.();
});

test('a stopped server: EngineUnavailable once retries end, and everything continues when it is back', async () => {
  const hasty = await openEventStoreDb(`esdb://localhost:${proxy.port}?tls=false`, {
    timeoutMs: 500,
    retryMs: 600,
  });
  const subscription = gather(hasty.subscribe({ after: await hasty.head(), prefixes: [stream] }));
  await server.kill();
  const refused = { name: 'EngineUnavailable' };

  await expect(hasty.append(stream, NO_STREAM, newEvents(1))).rejects.toMatchObject(refused);
  await expect(hasty.head()).rejects.toMatchObject(refused);
  await expect(streamOf(hasty, stream)).rejects.toMatchObject(refused);
  await expect(gather(hasty.readAll({ after: START }))).rejects.toMatchObject(refused);
  await expect(subscription).rejects.toMatchObject(refused);
  await expect(
    openEventStoreDb('esdb://127.0.0.1:9?tls=false', { timeoutMs: 50, retryMs: 50 }),
  ).rejects.toThrow(EngineUnavailable);

  await server.start();
  expect(await hasty.append(stream, NO_STREAM, newEvents(1))).toMatchObject({ revision: 0 });
  await hasty.close();
});

test('a server without TLS is distinguished from an unreachable one at once', async () => {
  const patient = { timeoutMs: 10_000, retryMs: 600_000 };
  await expect(openEventStoreDb(`esdb://127.0.0.1:${server.port}`, patient)).rejects.toMatchObject({
    name: 'EngineUnavailable',
    message: expect.stringContaining('tls=false'),
  });
});

test('two logs with one URL share a connection, which stays open until both are closed', async () => {
  const other = await openEventStoreDb(`esdb://127.0.0.1:${proxy.port}?tls=false`, HASTY);
  await Promise.all([
    log.append(stream, NO_STREAM, newEvents(1)),
    other.append(`${stream}0`, NO_STREAM, newEvents(1)),
  ]);
  proxy.faults.mute = true;
  const underWay = other.append(`${stream}0`, 0, newEvents(1)).catch((error: unknown) => error);
  await other.close();

  expect(await underWay).toBeInstanceOf(EngineUnavailable);
  await expect(other.append(`${stream}0`, 1, newEvents(1))).rejects.toThrow(EngineUnavailable);
  proxy.faults.mute = false;
  proxy.cut();
  expect(await log.append(stream, 0, newEvents(1))).toMatchObject({ revision: 1 });
});

test('appends queued over a silent connection all end when retries end', async () => {
  const hasty = await openEventStoreDb(`esdb://localhost:${proxy.port}?tls=false`, {
    timeoutMs: 300,
    retryMs: 1_500,
  });
  await hasty.append(stream, NO_STREAM, newEvents(1));
  proxy.faults.mute = true;
  const begun = performance.now();
  const appends = Array.from({ length: 10 }, (_, n) => hasty.append(stream, n, newEvents(1)));
  const outcomes = await Promise.allSettled(appends);

  expect(outcomes.map(({ status }) => status)).toEqual(appends.map(() => 'rejected'));
  // One after the other, each with patience of its own, they would take ten times as long.
  expect(performance.now() - begun).toBeLessThan(9 * 1_500);
  await hasty.close();
});

test('a closed log leaves no calls in progress', async () => {
  await log.append(stream, NO_STREAM, newEvents(1));
  const following = gather(log.subscribe({ after: START, prefixes: [stream] }));
  proxy.faults.mute = true;
  const appending = log.append(stream, 0, newEvents(1)).catch((error: unknown) => error);
  const waiting = log.append(stream, 1, newEvents(1)).catch((error: unknown) => error);
  await log.close();

  expect(await appending).toBeInstanceOf(EngineUnavailable);
  expect(await waiting).toBeInstanceOf(EngineUnavailable);
  await expect(following).resolves.toBeDefined();
  await proxy.until(({ open }) => open === 0);
});

describe('a password in the URL never appears in errors or output', () => {
  const secret = 'p4ss:w?rd';
  const at = (rest: string): string => `esdb://admin:${secret}@127.0.0.1:9${rest}`;
  const printed: string[] = [];

  beforeEach(() => {
    for (const method of ['warn', 'log', 'error', 'info', 'debug'] as const)
      jest.spyOn(console, method).mockImplementation((...said) => printed.push(inspect(said)));
  });
  afterEach(() => jest.restoreAllMocks());

  test.each([
    ['a server that is not there', at('?tls=false'), EngineUnavailable],
    ['an unknown option', at('?tls=false&colour=red'), UnusableUrl],
    ['a value of an option that is none', at('?tlsVerifyCert=perhaps'), UnusableUrl],
    ['an option that the client only warns of', at('?tlsVerifyCert=false'), EngineUnavailable],
    ['a value that is none', at('?tls=perhaps'), UnusableUrl],
    ['a port that is none', `esdb://admin:${secret}@127.0.0.1:port`, UnusableUrl],
    ['a file that is not there', at('?tlsCAFile=/nowhere/ca.pem'), UnusableUrl],
    ['a value that is not percent-encoded', at('?tlsCAFile=%zz'), UnusableUrl],
    ['a cluster whose certificates are not to be verified', 'esdb://a,b?tlsVerifyCert=false', UnusableUrl],
    ['another protocol', `kurrentdb://admin:${secret}@127.0.0.1`, UnusableUrl],
  ])('%s', async (_, url, kind) => {
    const refused: unknown = await openEventStoreDb(url, { timeoutMs: 50, retryMs: 50 }).catch(
      (error: unknown) => error,
    );

    expect(refused).toBeInstanceOf(kind);
    expect(inspect(refused, { depth: 10, showHidden: true }) + printed.join()).not.toContain('p4ss');
  });
});

/** Waits until the event with this id is in the log; gives its position. */
async function until(id: string): Promise<string> {
  for await (const { events } of direct.subscribe({ after: START, prefixes: [stream] })) {
    const found = events.find((event) => event.id === id);
    if (found !== undefined) return found.position;
  }
  throw new Error('the subscription has ended');
}
