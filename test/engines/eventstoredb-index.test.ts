import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, jsonEvent, type JSONType } from '@eventstore/db-client';
import fc from 'fast-check';
import { DIRECTORY_PREFIXES } from '../../src/network/events';
import { openLog } from '../../src/engines/embedded/log/open-log';
import { type EventStoreLog } from '../../src/engines/eventstoredb/event-store-log';
import {
  openEventStoreDb,
  openEventStoreDeliveries,
} from '../../src/engines/eventstoredb/open-event-store-db';
import { type ReplayServer } from '../../src/replay/serve-replay';
import { type NewEvent, NO_STREAM, type Position, type RecordedEvent, START } from '../../src/kernel/event';
import { APPEND_LIMITS, type EventLog, REFERENCE_STREAMS } from '../../src/kernel/event-log';
import { RATES_STREAM } from '../../src/delivery/matching/rates';
import { Matcher } from '../../src/delivery/matching/matcher';
import { TOPICS } from '../../src/domain/topics';
import { OWNER_STREAM } from '../../src/domain/deliveries/ownership';
import { CountedLog } from '../support/esdb-writing/counted-log';
import { serveWritable } from '../support/esdb-writing/serve-writable';
import { logFolder } from '../support/log-folder';
import { cases } from '../support/size';

let stored: EventLog;
let counted: CountedLog;
let endpoint: ReplayServer;
let log: EventStoreLog;
let remove: () => Promise<void>;

beforeEach(async () => {
  const folder = await logFolder();
  ({ remove } = folder);
  ({ log: stored } = await openLog(folder.file, false));
  counted = new CountedLog(stored);
  endpoint = await serveWritable(counted, { host: '127.0.0.1', port: 0 });
  log = await openEventStoreDb(endpoint.url);
});

afterEach(async () => {
  await log.close();
  await endpoint.close();
  await stored.close();
  await remove();
});

function event(data: object = { name: 'Ünïcödé "quoted"\u2028' }): NewEvent {
  return { id: randomUUID(), type: 'SiteDefined', data: JSON.stringify(data), meta: '{"by":"me"}' };
}

async function fill(stream: string, count: number, from = NO_STREAM): Promise<void> {
  for (let at = 0; at < count; at += APPEND_LIMITS.events)
    await log.append(
      stream,
      from + at,
      Array.from({ length: Math.min(APPEND_LIMITS.events, count - at) }, () => event({ n: 1 })),
    );
}

/** Keeps the index until it has everything. */
async function indexed(other = log): Promise<void> {
  const ending = new AbortController();
  const keeping = other.keepIndex(ending.signal, 1);
  const head = await log.head();
  while ((await indexEnd()) < head) await new Promise((resolve) => setTimeout(resolve, 5));
  ending.abort();
  await keeping;
}

/** What a reader without an index finds. */
async function scanned(prefixes: readonly string[], after = START): Promise<readonly RecordedEvent[]> {
  const found: RecordedEvent[] = [];
  for await (const { events } of log.readAll({ after }))
    found.push(...events.filter(({ stream }) => prefixes.some((prefix) => stream.startsWith(prefix))));
  return found;
}

/** The name of the index's stream in the server. */
async function indexStream(): Promise<string> {
  const [record] = await lastOf(/^index\./);
  if (record === undefined) throw new Error('there is no index');
  return record.stream;
}

/** Up to where the index is complete, by the server. */
async function indexEnd(): Promise<Position> {
  const [mark] = await lastOf(/^\W+index\./);
  return mark === undefined ? START : (/"upTo":"(\d+)"/.exec(mark.data)?.[1] ?? START);
}

async function lastOf(names: RegExp): Promise<readonly RecordedEvent[]> {
  for await (const events of stored.readAllBackwards({ batchSize: 10_000 }))
    return events.filter(({ stream }) => names.test(stream)).slice(0, 1);
  return [];
}

async function read(prefixes: readonly string[], after = START): Promise<readonly RecordedEvent[]> {
  const found: RecordedEvent[] = [];
  for await (const { events } of log.readAll({ after, prefixes })) found.push(...events);
  return found;
}

test('the index has the streams that are read from the start: the directory, subscriptions, rates, ownership', () => {
  const { stateStreams } = new Matcher(Object.values(TOPICS));
  for (const prefix of [...DIRECTORY_PREFIXES, ...stateStreams, RATES_STREAM, OWNER_STREAM])
    expect(REFERENCE_STREAMS).toContain(prefix);
});

test('reading reference streams costs the server the same however many other events the log has', async () => {
  await fill('site-1', 30);
  await fill('feed-1', 10);
  await indexed();
  const cost = async (): Promise<number> => {
    const before = counted.read;
    expect(await read(['site-', 'program-'])).toHaveLength(30);
    return counted.read - before;
  };
  const few = await cost();
  await fill('feed-1', 5_000, 9);
  await indexed();
  expect(await cost()).toBeLessThan(few + 100);
});

test('a subscription from the start gets every event once, from the index and then from the log', async () => {
  await fill('site-1', 30);
  await indexed();
  await fill('site-2', 5);
  const seen: RecordedEvent[] = [];
  let last = START;
  for await (const { events, position, caughtUp } of log.subscribe({
    after: START,
    prefixes: ['site-'],
    batchSize: 7,
  })) {
    expect(events.length).toBeLessThanOrEqual(7);
    expect(events.every((one) => one.position > last && one.position <= position)).toBe(true);
    seen.push(...events);
    last = position;
    if (seen.length === 35 && caughtUp) await fill('site-3', 2);
    if (seen.length === 37) break;
  }
  expect(seen).toEqual(await scanned(['site-']));
});

test('any order of appends and indexing, by two processes: readers find what is in the log, byte for byte', async () => {
  const other = await openEventStoreDb(endpoint.url.replace('127.0.0.1', 'localhost'));
  const streams = fc.constantFrom(
    'site-1',
    'site-2',
    'subscription-a',
    'feed-1',
    'exchange-rates',
    'download-1',
  );
  const action = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        stream: streams,
        data: fc.dictionary(fc.string(), fc.string({ unit: 'grapheme' })),
      }),
    },
    { weight: 1, arbitrary: fc.constantFrom('index', 'index elsewhere', 'both index') },
  );
  const revisions = new Map<string, number>();
  const check = fc.asyncProperty(fc.array(action, { maxLength: 20 }), fc.nat(), async (actions, seed) => {
    for (const one of actions) {
      if (one === 'index') await indexed();
      else if (one === 'index elsewhere') await indexed(other);
      else if (one === 'both index') await Promise.all([indexed(), indexed(other)]);
      else {
        const text = event(one.data);
        const { revision } = await log.append(one.stream, revisions.get(one.stream) ?? NO_STREAM, [text]);
        revisions.set(one.stream, revision);
      }
    }
    const prefixes =
      [['site-'], ['site-', 'subscription-'], ['exchange-rates'], ['site-1', 'feed-']][seed % 4] ?? [];
    const all = await scanned(['']);
    const after = [START, ...all.map(({ position }) => position)][seed % (all.length + 1)] ?? START;
    expect(await read(prefixes, after)).toEqual(await scanned(prefixes, after));
  });
  await fc.assert(check, { numRuns: cases(25, 10) });
  await other.close();
});

test('an index that somebody damaged is not believed beyond the damage', async () => {
  await fill('site-1', 5);
  await indexed();
  await fill('feed-1', 3);
  await fill('site-2', 5);
  await indexed();
  const name = await indexStream();
  const client = EventStoreDBClient.connectionString(endpoint.url);
  try {
    const expected = await scanned(['site-']);
    await client.appendToStream(name, jsonEvent({ type: 'Foreign', data: { after: START } }));
    await fill('site-3', 5);
    expect(await read(['site-'])).toEqual([...expected, ...(await scanned(['site-3']))]);
    await client.setStreamMetadata(name, { truncateBefore: 1 });
    expect(await read(['site-'])).toHaveLength(15);
    await client.setStreamMetadata(name, { affilogIndex: 'nonsense' });
    expect(await read(['site-'])).toHaveLength(15);
    await client.deleteStream(name);
    expect(await read(['site-'])).toHaveLength(15);
    // It is made again.
    await indexed();
    const before = counted.read;
    expect(await read(['site-'])).toEqual(await scanned(['site-']));
    expect(counted.read).toBeGreaterThan(before);
    await client.tombstoneStream(name);
    expect(await read(['site-'])).toHaveLength(15);
    await expect(log.keepIndex(AbortSignal.timeout(1_000))).rejects.toThrow(
      /^the index of the event log is not used, so each start reads the whole log: its stream index\S+ was deleted for good/,
    );
  } finally {
    await client.dispose();
  }
});

const foreign = jsonEvent({ type: 'Foreign', data: { after: START } });
const DAMAGE: Readonly<Record<string, (client: EventStoreDBClient, index: string) => Promise<unknown>>> = {
  'a foreign last record': (client, index) => client.appendToStream(index, foreign),
  'a foreign record among others': async (client, index) => {
    await client.appendToStream(index, foreign);
    const records = client.readStream(index, { maxCount: 1 });
    for await (const { event: record } of records)
      await client.appendToStream(index, jsonEvent({ type: 'Copied', data: record!.data as JSONType }));
  },
  'its first record deleted': (client, index) => client.setStreamMetadata(index, { truncateBefore: 1 }),
  'all records deleted': (client, index) => client.setStreamMetadata(index, { truncateBefore: 2 }),
  'the number of records limited': (client, index) => client.setStreamMetadata(index, { maxCount: 1 }),
  'the age of records limited': (client, index) => client.setStreamMetadata(index, { maxAge: 1 }),
  'a soft deletion': (client, index) => client.deleteStream(index),
};

test.each(Object.keys(DAMAGE))('the index recovers from damage, and stays so: %s', async (kind) => {
  await fill('site-1', 5);
  await indexed();
  await fill('site-2', 5);
  await indexed();
  const client = EventStoreDBClient.connectionString(endpoint.url);
  try {
    await DAMAGE[kind]!(client, await indexStream());
  } finally {
    await client.dispose();
  }
  await fill('feed-1', 1_000);
  for (const stream of ['site-3', 'site-4', 'site-5']) {
    await fill(stream, 5);
    await indexed();
    const before = counted.read;
    const found = await read(['site-']);
    expect(counted.read - before).toBeLessThan(500);
    expect(found).toEqual(await scanned(['site-']));
  }
});

test('a server that does not accept the index is not read for it again and again', async () => {
  await fill('site-1', 3);
  await fill('feed-1', 2_000);
  await indexed();
  const client = EventStoreDBClient.connectionString(endpoint.url);
  await client.tombstoneStream(await indexStream());
  await client.dispose();
  const before = counted.read;
  await expect(log.keepIndex(AbortSignal.timeout(1_500), 5)).rejects.toThrow('is not used');
  expect(counted.read - before).toBeLessThan(1_000);
  expect(await read(['site-'])).toHaveLength(3);
});

test('events as large as an append may be are indexed', async () => {
  const large = event({ text: '"'.repeat(300_000) });
  await log.append('site-1', NO_STREAM, [large]);
  await log.append('site-1', 0, [event(), large]);
  await indexed();
  const before = counted.read;
  expect((await read(['site-'])).map(({ data }) => data)).toEqual([large.data, event().data, large.data]);
  expect(counted.read - before).toBeLessThan(100);
});

test('the index belongs to no log: it is not copied, and the end of the log is that of its own events', async () => {
  await fill('site-1', 3);
  const head = await log.head();
  await indexed();
  expect(await log.head()).toBe(head);
  expect((await scanned([''])).map(({ stream }) => stream)).toEqual(['site-1', 'site-1', 'site-1']);
});

test('a server that grows continues its index, which then costs no second read of the log', async () => {
  const ending = new AbortController();
  const keeping = log.keepIndex(ending.signal, 1);
  await fill('site-1', 3);
  await fill('feed-1', 2_000);
  await fill('site-1', 3, 2);
  const head = await log.head();
  while ((await indexEnd()) < head) await new Promise((resolve) => setTimeout(resolve, 5));
  const before = counted.read;
  expect(await read(['site-'])).toHaveLength(6);
  expect(counted.read - before).toBeLessThan(100);
  ending.abort();
  await keeping;
});

test('finding the end of the log costs the server the same however many messages were sent since', async () => {
  const deliveries = await openEventStoreDeliveries(endpoint.url);
  const ending = new AbortController();
  const keeping = log.keepIndex(ending.signal, 5);
  await fill('site-1', 3);
  const head = await log.head();
  for (let at = 0; at < 3_000; at += 500)
    await deliveries.append(
      'matched',
      at - 1,
      Array.from({ length: 500 }, () => event()),
    );
  const passed = await deliveries.head();
  for (let last = START; last < passed; await new Promise((resolve) => setTimeout(resolve, 5)))
    last = /"last":"(\d+)"/.exec((await lastOf(/^\W+index\./))[0]?.data ?? '')?.[1] ?? START;
  ending.abort();
  await keeping;
  const before = counted.read;
  const another = await openEventStoreDb(endpoint.url.replace('127.0.0.1', 'localhost'));
  expect(await another.head()).toBe(head);
  expect(counted.read - before).toBeLessThan(500);
  await another.close();
  await deliveries.close();
});

test('finding the end of the log again costs few reads when few other events have come since, such as signs of life', async () => {
  const deliveries = await openEventStoreDeliveries(endpoint.url);
  await fill('site-1', 3);
  await fill('feed-1', 500);
  const head = await log.head();
  await deliveries.append('matched', NO_STREAM, Array.from({ length: 5 }, event));
  const before = counted.read;
  expect(await log.head()).toBe(head);
  expect(counted.read - before).toBeLessThan(20);
  await deliveries.close();
});

test('the end of a log of which the server has nothing among its last events is found', async () => {
  const deliveries = await openEventStoreDeliveries(endpoint.url.replace('127.0.0.1', 'localhost'));
  expect(await deliveries.head()).toBe(START);
  const { position } = await deliveries.append('matched', NO_STREAM, [event()]);
  await deliveries.close();
  await fill('feed-1', 2_000);
  const again = await openEventStoreDeliveries(endpoint.url.replace('127.0.0.1', 'localhost'));
  expect(await again.head()).toBe(position);
  await again.close();
});
