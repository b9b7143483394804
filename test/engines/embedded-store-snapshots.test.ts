import { statSync } from 'node:fs';
import { join } from 'node:path';
import { openEmbeddedStore } from '../../src/engines/embedded/store/open-store';
import { EVERYTHING, type Found } from '../../src/kernel/query';
import { type ReadStore } from '../../src/kernel/read-store';
import { OFFERS } from '../contracts/read-store/documents';
import { scanning } from '../contracts/read-store/scanning';
import { at, live, put, type Subject } from '../contracts/read-store/subject';
import { openFilesIn } from '../support/open-files';
import { storeFolder } from '../support/store-folder';

const MB = 1_000_000;
const target = { collection: OFFERS.name };

let directory: string;
let remove: () => Promise<void>;
let store: ReadStore;

/** A store whose snapshots are ended at the first opportunity. */
async function open(): Promise<ReadStore> {
  ({ directory, remove } = await storeFolder());
  return (store = openEmbeddedStore({ directory, threads: false, readers: 0, snapshotMs: 0 }));
}

async function close(): Promise<void> {
  await store.close();
  await remove();
}

const subject: Subject = {
  open,
  store: () => store,
  reopen: () => Promise.resolve(store),
  close,
};
describe('a store whose snapshots are copied immediately scans', () => scanning(subject));

describe('the WAL of a read model', () => {
  let name: string;
  beforeEach(async () => {
    const { number } = await live(await open(), OFFERS);
    name = `${OFFERS.name}-g${number}.sqlite-wal`;
  });
  afterEach(close);

  const walBytes = (): number => statSync(join(directory, name)).size;
  const ids = Array.from({ length: 400 }, (_, n) => `d${String(n).padStart(3, '0')}`);
  /** Each is at least 20 MB, and nothing of it as it was. */
  const rewrite = async (version: number): Promise<void> => {
    await put(
      store,
      target,
      ids.map((id) => ({ id, fields: { feedId: 1, groupId: id }, body: `${version} `.repeat(20_000) })),
      version,
    );
    // In this thread a write lets nothing else happen: timers are due now.
    await new Promise((resolve) => setTimeout(resolve, 1));
  };

  it('does not grow without bound while a snapshot is consumed slowly, and the snapshot stays consistent', async () => {
    await rewrite(1);
    const slow = store.snapshot(target, EVERYTHING)[Symbol.asyncIterator]();
    expect((await slow.next()).value).toMatchObject({ found: [], total: 400, checkpoint: at(1) });
    await store.write(target, [{ remove: 'd399', version: at(2) }], at(2));
    for (let version = 3; version <= 12; version += 1) await rewrite(version);
    expect(walBytes()).toBeLessThan(130 * MB);
    const shown: string[] = [];
    for (let next = await slow.next(); next.done !== true; next = await slow.next()) {
      expect(next.value).toMatchObject({ total: 400, checkpoint: at(1) });
      for (const found of next.value.found) {
        expect(found.version).toBe(at(1));
        shown.push(found.id);
      }
    }
    expect(shown).toEqual(ids);
  });

  it('does not grow without bound while samples are consumed slowly, and they stay consistent too', async () => {
    await rewrite(1);
    const slow = store.snapshot(target, EVERYTHING, 'groupId')[Symbol.asyncIterator]();
    const samples: Found[] = [];
    const found: Found[] = [];
    let next = await slow.next();
    expect(next).toMatchObject({ done: false, value: { total: 400, checkpoint: at(1) } });
    for (let version = 2; version <= 12; version += 1) await rewrite(version);
    expect(walBytes()).toBeLessThan(130 * MB);
    for (; next.done !== true; next = await slow.next()) {
      samples.push(...(next.value.samples ?? []));
      found.push(...next.value.found);
    }
    expect(samples.map(({ id }) => id)).toEqual(ids);
    expect(found).toEqual(samples);
    expect(new Set(found.map(({ version }) => version))).toEqual(new Set([at(1)]));
  });

  it('does not grow without bound during a slow scan', async () => {
    await rewrite(1);
    const slow = store.scan(target, EVERYTHING)[Symbol.asyncIterator]();
    await slow.next();
    for (let version = 2; version <= 12; version += 1) await rewrite(version);
    expect(walBytes()).toBeLessThan(130 * MB);
    let scanned = 100;
    for (let next = await slow.next(); next.done !== true; next = await slow.next())
      scanned += next.value.length;
    expect(scanned).toBe(400);
  });

  it('does not grow without bound while snapshots overlap continuously', async () => {
    await rewrite(1);
    let ends = false;
    const reader = async (): Promise<void> => {
      while (!ends)
        for await (const { found } of store.snapshot(target, EVERYTHING)) expect(found).toBeDefined();
    };
    const readers = Promise.all([reader(), reader(), reader()]);
    for (let version = 2; version <= 20; version += 1) {
      await rewrite(version);
    }
    const largest = walBytes();
    ends = true;
    await readers;
    expect(largest).toBeLessThan(300 * MB);
  });
});

describe('files of long reads', () => {
  beforeEach(async () => {
    await live(await open(), OFFERS);
    await put(
      store,
      target,
      ['a', 'b'].map((id) => ({ id, fields: { feedId: 1, groupId: id }, body: '{}' })),
      1,
    );
  });
  afterEach(close);

  it('are few, however many there were', async () => {
    for (let read = 0; read < 300; read += 1)
      for await (const found of store.scan(target, EVERYTHING)) expect(found).toHaveLength(2);
    expect(openFilesIn(directory).length).toBeLessThan(20);
  });

  it('are few after many at a time, of which some were given up', async () => {
    for (let round = 0; round < 30; round += 1) {
      const reads = Array.from({ length: 10 }, () =>
        store.snapshot(target, EVERYTHING)[Symbol.asyncIterator](),
      );
      for (const read of reads) expect((await read.next()).value).toMatchObject({ total: 2 });
      for (const read of reads) await read.return?.();
      await new Promise(setImmediate);
    }
    expect(openFilesIn(directory).length).toBeLessThan(400);
  });
});
