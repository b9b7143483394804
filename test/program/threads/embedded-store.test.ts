import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { DatabaseSync } from '@photostructure/sqlite';
import { EVERYTHING } from '../../../src/kernel/query';
import { type Generation, type ReadStore, targetOf } from '../../../src/kernel/read-store';
import { readStoreContract } from '../../contracts/read-store';
import { FEEDS, generatedDocuments, OFFERS } from '../../contracts/read-store/documents';
import { at, live, put } from '../../contracts/read-store/subject';
import type * as OpenStore from '../../../src/engines/embedded/store/open-store';
import { built } from '../../support/built';
import { openFilesIn } from '../../support/open-files';
import { threadsGivingWay } from '../../support/priorities';
import { FULL_SIZE } from '../../support/size';
import { storeFolder, storeFixture } from '../../support/store-folder';

const { openEmbeddedStore, StoreThreads } = built(
  'src/engines/embedded/store/open-store',
) as typeof OpenStore;

readStoreContract('SQLite with reader threads', () => storeFixture(openEmbeddedStore, true));
if (FULL_SIZE)
  readStoreContract('SQLite with a thread that writes every batch', () => storeFixture(openWithWriter, true));

function openWithWriter({ directory }: { readonly directory: string }): ReadStore {
  return openEmbeddedStore({ directory, threads: true, readers: 0, largeBatch: 0 });
}

test('large batches are written by a thread that gives way to those of requests (decisions P41)', async () => {
  const { directory, remove } = await storeFolder();
  const before = threadsGivingWay(process.pid);
  const store = openWithWriter({ directory });
  await live(store, OFFERS);
  await put(store, { collection: OFFERS.name }, generatedDocuments(10));
  if (process.platform === 'linux') expect(threadsGivingWay(process.pid)).toBeGreaterThan(before);
  await store.close();
  await remove();
});

test('the thread that writes goes on to the next batch while the calling thread is busy', async () => {
  const { directory, remove } = await storeFolder();
  const store = openWithWriter({ directory });
  const generation = await live(store, OFFERS);
  const target = { collection: OFFERS.name };
  await put(store, target, generatedDocuments(10));
  const batches = [100, 200, 300].map((documents) => put(store, target, generatedDocuments(documents)));
  const other = new DatabaseSync(pathOf(directory, generation), { readOnly: true });
  const counted = other.prepare('SELECT count(*) AS documents FROM keys');
  // Nothing of this thread goes on meanwhile, so no answer is seen.
  const deadline = performance.now() + 60_000;
  while (Number(counted.get()?.['documents']) < 300) expect(performance.now()).toBeLessThan(deadline);
  other.close();
  await Promise.all(batches);
  await store.close();
  await remove();
});

test('the thread that writes is replaced when it dies: what it was called with fails, the next batch is written', async () => {
  const { directory, remove } = await storeFolder();
  const started = jest.spyOn(Worker.prototype, 'unref');
  const store = openWithWriter({ directory });
  await live(store, OFFERS);
  const target = { collection: OFFERS.name };
  await put(store, target, generatedDocuments(10));
  const ended = (started.mock.contexts[0] as Worker).terminate();
  const batches = [20, 30].map((documents) => put(store, target, generatedDocuments(documents)));
  const unavailable = { status: 'rejected', reason: { name: 'EngineUnavailable' } };
  expect(await Promise.allSettled(batches)).toMatchObject([unavailable, unavailable]);
  await ended;
  started.mockRestore();
  await put(store, target, generatedDocuments(40));
  expect(await store.count(target, EVERYTHING)).toBe(40);
  await store.close();
  await remove();
});

test('stores in two threads or processes see the writes, swaps and drops of the other', async () => {
  const { directory, remove } = await storeFolder();
  const [one, other] = [true, false].map((threads) => openEmbeddedStore({ directory, threads, readers: 2 }));
  const target = { collection: OFFERS.name };
  const first = await live(one!, OFFERS);
  await put(other!, target, generatedDocuments(30));
  expect(await one!.count(target, EVERYTHING)).toBe(30);
  expect(await one!.checkpoint(target)).toBe('0000000000000000001');

  const second = await live(other!, OFFERS);
  expect(await one!.count(target, EVERYTHING)).toBe(0);
  await one!.drop(first);
  expect(await other!.generations(OFFERS.name)).toEqual([second]);
  await expect(other!.get({ ...target, generation: first.number }, ['a'])).rejects.toMatchObject({
    name: 'NoGeneration',
  });
  await Promise.all([one!.close(), other!.close()]);
  await remove();
});

test('idle threads close generations that another store drops', async () => {
  const { directory, remove } = await storeFolder();
  const [one, other] = [true, false].map((threads) => openEmbeddedStore({ directory, threads, readers: 2 }));
  const target = { collection: OFFERS.name };
  const dropped = await live(other!, OFFERS);
  await put(other!, target, generatedDocuments(400));
  await Promise.all(Array.from({ length: 50 }, () => one!.count(target, EVERYTHING)));
  const snapshot = one!.snapshot(target, EVERYTHING)[Symbol.asyncIterator]();
  await snapshot.next();
  await live(other!, OFFERS);
  await other!.drop(dropped);
  expect((await snapshot.next()).value).toMatchObject({ total: 400 });
  await snapshot.return!();
  const left = (): readonly string[] => openFilesIn(directory).filter((path) => path.endsWith('(deleted)'));
  expect(left()).not.toEqual([]);
  const deadline = performance.now() + 100_000;
  while (left().length > 0 && performance.now() < deadline) await pause(20);
  expect(left()).toEqual([]);
  await Promise.all([one!.close(), other!.close()]);
  await remove();
});

test('concurrent queries are all answered, and later ones are refused after close', async () => {
  const { directory, remove } = await storeFolder();
  const store = openEmbeddedStore({ directory, threads: true, readers: 2 });
  const target = { collection: OFFERS.name };
  await live(store, OFFERS);
  await put(store, target, generatedDocuments(100));
  const counts = await Promise.all(Array.from({ length: 200 }, () => store.count(target, EVERYTHING)));
  expect(new Set(counts)).toEqual(new Set([100]));
  await store.close();
  await expect(store.count(target, EVERYTHING)).rejects.toMatchObject({ name: 'EngineUnavailable' });
  await expect(store.checkpoint(target)).rejects.toMatchObject({ name: 'EngineUnavailable' });
  await remove();
});

test('large batches are written in another thread; if it ends meanwhile, a batch is written completely or not at all', async () => {
  const { directory, remove } = await storeFolder();
  const store = openEmbeddedStore({ directory, threads: true, readers: 0 });
  const target = { collection: OFFERS.name };
  await live(store, OFFERS);
  const large = generatedDocuments(500).map((document) => ({ put: document, version: at(1) }));
  await store.write(target, large, at(1));
  expect(await store.count(target, EVERYTHING)).toBe(500);
  expect(await store.get(target, [large[499]!.put.id])).toHaveLength(1);

  const undeclared = { version: at(2), put: { ...large[0]!.put, fields: { colour: 'red' } } };
  await expect(store.write(target, [...large, undeclared], at(2))).rejects.toMatchObject({
    name: 'UndeclaredField',
  });
  expect(await store.checkpoint(target)).toBe(at(1));

  const writing = store.write(
    target,
    large.map(({ put: { id } }) => ({ version: at(3), remove: id })),
    at(3),
  );
  const closed = store.close();
  // Closed while it writes, it may still have written all of it.
  const [outcome] = await Promise.allSettled([writing, closed]);
  const again = openEmbeddedStore({ directory, threads: false, readers: 0 });
  const left = [await again.checkpoint(target), await again.count(target, EVERYTHING)];
  expect([
    [at(1), 500],
    [at(3), 0],
  ]).toContainEqual(left);
  if (outcome.status === 'fulfilled') expect(left[1]).toBe(0);
  await again.close();
  await remove();
});

test('finishing a generation merges each partition once, although batches were written in a thread just before', async () => {
  const { directory, remove } = await storeFolder();
  const store = openWithWriter({ directory });
  const generation = await store.create(OFFERS);
  const documents = generatedDocuments(6_000);
  for (let from = 0; from < documents.length; from += 300)
    await store.write(
      targetOf(generation),
      documents.slice(from, from + 300).map((document) => ({ put: document, version: at(1) })),
      at(1),
    );
  const written = nextSegment(directory, generation);
  await store.finish(generation);
  expect(nextSegment(directory, generation) - written).toBe(FEEDS.length);
  await store.swap(generation);
  expect(await store.count({ collection: OFFERS.name }, EVERYTHING)).toBe(6_000);
  await store.close();
  await remove();
});

/** The number that the next segment of a generation will have. */
function nextSegment(directory: string, generation: Generation): number {
  const database = new DatabaseSync(pathOf(directory, generation), { readOnly: true });
  const row = database.prepare("SELECT bytes FROM blobs WHERE name = 'manifest'").get();
  database.close();
  return Number(/"next":(\d+)/.exec(Buffer.from(row?.bytes as Uint8Array).toString())?.[1]);
}

test('a thread that dies is replaced: its callers get an error, the next call succeeds', async () => {
  const { directory, remove } = await storeFolder();
  const store = openEmbeddedStore({ directory, threads: false, readers: 0 });
  const target = { collection: OFFERS.name };
  await live(store, OFFERS);
  await put(store, target, generatedDocuments(7));
  // Each thread is unreferenced when it is started: that is how the test gets hold of it.
  const started = jest.spyOn(Worker.prototype, 'unref');
  const threads = new StoreThreads(directory, 1, 1_000_000, true);
  expect(await threads.run((one) => one.count(target, EVERYTHING))).toBe(7);
  await expect(
    threads.run(async (one) => {
      const ended = (started.mock.contexts[0] as Worker).terminate();
      const answer = one.count(target, EVERYTHING);
      await ended;
      return await answer;
    }),
  ).rejects.toMatchObject({ name: 'EngineUnavailable' });
  started.mockRestore();
  expect(await threads.run((one) => one.count(target, EVERYTHING))).toBe(7);
  await threads.close();
  await store.close();
  await remove();
});

test('a client has all threads while its queries are quick and nobody else waits (decisions X70)', async () => {
  const { directory, remove } = await storeFolder();
  const threads = new StoreThreads(directory, 2, 1_000_000, true);
  let now = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const tasks = new Map<string, Promise<void>>();
  const run = (name: string): void => {
    const work = (): Promise<void> => {
      started.push(name);
      return new Promise((resolve) => ends.set(name, resolve));
    };
    tasks.set(name, threads.run(work, { client: name.charAt(0) }));
  };
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await tasks.get(name);
    await nextTurn();
  };
  for (const name of ['a1', 'a2']) run(name);
  // Not known yet.
  expect(started).toEqual(['a1']);
  await end('a1');
  run('a3');
  expect(started).toEqual(['a1', 'a2', 'a3']);
  for (const name of ['a4', 'a5', 'b1']) run(name);
  await end('a2');
  expect(started.slice(3)).toEqual(['a4']);
  await end('a4');
  expect(started.slice(4)).toEqual(['b1']);
  // Now a query of it runs for long.
  now += 51;
  await end('b1');
  expect(started.slice(5)).toEqual([]);
  run('c1');
  expect(started.slice(5)).toEqual(['c1']);
  await end('a3');
  expect(started.slice(6)).toEqual(['a5']);
  for (const name of ['a5', 'c1']) await end(name);
  clock.mockRestore();
  await threads.close();
  await remove();
});

function pathOf(directory: string, { collection, number }: Generation): string {
  return join(directory, `${collection}-g${number}.sqlite`);
}
