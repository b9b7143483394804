import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { GenerationFile } from '../../src/engines/embedded/store/generation-file';
import { openEmbeddedStore } from '../../src/engines/embedded/store/open-store';
import { prepareWrites, writeBatch } from '../../src/engines/embedded/store/writer';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { EVERYTHING } from '../../src/kernel/query';
import { type ReadStore } from '../../src/kernel/read-store';
import { generatedDocuments, OFFERS } from '../contracts/read-store/documents';
import { at, live, put } from '../contracts/read-store/subject';
import { built, DIST } from '../support/built';
import { storeFolder } from '../support/store-folder';

built('src/engines/embedded/store/open-store');

const target = { collection: OFFERS.name };
let directory: string;
let remove: () => Promise<void>;
let store: ReadStore;
const open = () => openEmbeddedStore({ directory, threads: false, readers: 0 });

beforeEach(async () => {
  ({ directory, remove } = await storeFolder());
  store = open();
});
afterEach(async () => {
  await store.close();
  await remove();
});

test('after kill -9 at any point, documents and checkpoint match and no acknowledged write is lost', async () => {
  await live(store, OFFERS);
  for (let round = 0; round < 5; round += 1) {
    const acknowledged = await writtenUntilKilled(1 + round * round * 20);
    const checkpoint = Number(await store.checkpoint(target));
    const [always] = await store.get(target, ['always']);
    expect(checkpoint).toBeGreaterThanOrEqual(acknowledged);
    expect(always?.body).toBe(at(checkpoint));
    expect(await store.count(target, EVERYTHING)).toBe(10 * checkpoint + 1);
    expect(await store.count(target, { words: ['red'], within: ['title'] })).toBe(10 * checkpoint + 1);
  }
});

test.each([
  ['is full', 'PRAGMA max_page_count = 1', 'the disk is full'],
  ['may only be read', 'PRAGMA query_only = 1', 'read-only'],
])(
  'a disk that %s is named, nothing is written by half, and writing goes on when that ends',
  async (_, begin, named) => {
    const generation = await live(store, OFFERS);
    await put(store, target, generatedDocuments(20));
    const file = new GenerationFile(join(directory, `${OFFERS.name}-g${generation.number}.sqlite`), OFFERS);
    const writes = generatedDocuments(400).map((document) => ({ put: document, version: at(2) }));
    const prepared = prepareWrites(file.layout, writes);
    file.file.execute(begin);

    expect(() => writeBatch(file, prepared, at(2))).toThrow(EngineUnavailable);
    expect(await store.count(target, EVERYTHING)).toBe(20);
    expect(await store.checkpoint(target)).toBe(at(1));

    file.file.execute(begin);
    expect(() => writeBatch(file, prepared, at(2))).toThrow(new RegExp(named));
    // The condition was that of a connection that is not used again.
    writeBatch(file, prepared, at(2));
    expect(await store.count(target, EVERYTHING)).toBe(400);
    file.close();
  },
);

test('an error about a damaged file omits its path; the file can be dropped and does not affect others', async () => {
  const generation = await live(store, OFFERS);
  await put(store, target, generatedDocuments(20));
  await store.close();
  const path = join(directory, `${OFFERS.name}-g${generation.number}.sqlite`);
  writeFileSync(path, 'x'.repeat(statSync(path).size));
  rmSync(`${path}-wal`, { force: true });

  store = open();
  const failure = await store.count(target, EVERYTHING).catch((error: unknown) => error);
  expect(failure).toMatchObject({ name: 'EngineUnavailable', message: expect.stringContaining('damaged') });
  expect((failure as Error).message).not.toContain(directory);
  const next = await live(store, OFFERS);
  await store.drop(generation);
  expect(await store.count(target, EVERYTHING)).toBe(0);
  expect(await store.generations(OFFERS.name)).toEqual([next]);
});

test('a damaged file fails its own checkpoint, not those requested with it', async () => {
  const { number } = await live(store, OFFERS);
  const others = { ...OFFERS, name: 'others' };
  await live(store, others);
  await store.write({ collection: others.name }, [], at(7));
  await store.close();
  const path = join(directory, `${OFFERS.name}-g${number}.sqlite`);
  writeFileSync(path, 'x'.repeat(statSync(path).size));
  rmSync(`${path}-wal`, { force: true });

  store = open();
  const [damaged, other, missing] = await Promise.allSettled(
    [OFFERS.name, others.name, 'missing'].map((collection) => store.checkpoint({ collection })),
  );
  expect(damaged).toMatchObject({ status: 'rejected', reason: { name: 'EngineUnavailable' } });
  expect(other).toEqual({ status: 'fulfilled', value: at(7) });
  expect(missing).toMatchObject({ status: 'rejected', reason: { name: 'NoGeneration' } });
});

test('a folder that cannot be made is named without its path', () => {
  writeFileSync(join(directory, 'file'), '');
  const inFile = () =>
    openEmbeddedStore({ directory: join(directory, 'file', 'read'), threads: false, readers: 0 });
  expect(inFile).toThrow(EngineUnavailable);
  expect(inFile).not.toThrow(directory);
});

test('opening the store removes files left by crashes, but not those of generations', async () => {
  const generation = await live(store, OFFERS);
  const dropped = await store.create(OFFERS);
  await store.drop(dropped);
  await store.close();
  const name = `${OFFERS.name}-g${generation.number}.sqlite`;
  for (const suffix of ['', '-wal', '-shm'])
    writeFileSync(join(directory, `${OFFERS.name}-g77.sqlite${suffix}`), '');
  writeFileSync(join(directory, 'mine.txt'), '');

  store = open();
  const left = readdirSync(directory);
  expect(left).toEqual(expect.arrayContaining(['mine.txt', name, 'registry.sqlite']));
  expect(left.filter((file) => file.includes('-g') && !file.startsWith(name))).toEqual([]);
  expect(await store.count(target, EVERYTHING)).toBe(0);
});

/** The last version that a process said it has written, which is killed once it has said so many. */
async function writtenUntilKilled(lines: number): Promise<number> {
  const child = spawn(
    process.execPath,
    [join(__dirname, '../support/write-forever.cjs'), DIST, directory, OFFERS.name],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const closed = once(child, 'close');
  let last = 0;
  let said = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    last = Number(line);
    said += 1;
    if (said === lines) child.kill('SIGKILL');
  }
  await closed;
  return last;
}
