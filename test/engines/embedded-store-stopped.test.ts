import { DatabaseSync } from '@photostructure/sqlite';
import { join } from 'node:path';
import { EmbeddedStore } from '../../src/engines/embedded/store/embedded-store';
import { QueryClock } from '../../src/engines/embedded/store/generation-file';
import { EVERYTHING, type GroupCounts, QueryTooLong, type Search } from '../../src/kernel/query';
import { LOOSE } from '../contracts/read-store/documents';
import { live, put } from '../contracts/read-store/subject';
import { openFilesIn } from '../support/open-files';
import { storeFolder } from '../support/store-folder';

const WORDS = Array.from({ length: 20 }, (_, n) => `w${n}`);
const target = { collection: LOOSE.name };
const search: Search = {
  filter: EVERYTHING,
  order: [{ matches: WORDS, within: 'title', descending: true }],
  offset: 0,
  size: 10,
};

let directory: string;
let remove: () => Promise<void>;
let store: EmbeddedStore;
let file: string;
const cancelled = new Int32Array(1);
let clock: QueryClock;
beforeEach(async () => {
  ({ directory, remove } = await storeFolder());
  clock = new QueryClock(cancelled);
  store = new EmbeddedStore(directory, { clock });
  store.clean();
  file = join(directory, `${LOOSE.name}-g${(await live(store, LOOSE)).number}.sqlite`);
  const documents = Array.from({ length: 600 }, (_, n) => ({
    id: `d${n}`,
    fields: { title: WORDS.slice(n % 20), groupId: `${n}` },
    body: '',
  }));
  await put(store, target, documents);
  await store.search(target, search);
});
afterEach(async () => {
  await store.close();
  await remove();
});

/** Whether a transaction on the file is still open somewhere. */
function isRead(): boolean {
  const database = new DatabaseSync(file);
  try {
    return database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy !== 0;
  } finally {
    database.close();
  }
}

describe('stopped queries keep their connection and leave no file or transaction open', () => {
  test('cancelled ones', async () => {
    const before = openFilesIn(directory);
    for (let times = 0; times < 500; times += 1) {
      Atomics.store(cancelled, 0, 1);
      await expect(store.search(target, search)).rejects.toThrow('the query was cancelled');
      Atomics.store(cancelled, 0, 0);
    }
    expect(openFilesIn(directory)).toEqual(before);
    expect(isRead()).toBe(false);
    expect(await store.search(target, search)).toMatchObject({ total: 600 });
  });

  test('timed-out ones', async () => {
    const before = openFilesIn(directory);
    for (let times = 0; times < 500; times += 1)
      await expect(store.search(target, search, { timeLimit: 0 })).rejects.toEqual(new QueryTooLong(0));
    expect(openFilesIn(directory)).toEqual(before);
    expect(isRead()).toBe(false);
    expect(await store.search(target, search)).toMatchObject({ total: 600 });
  });
});

test('counting groups and totals checks at each of them whether to go on', async () => {
  const check = jest.spyOn(clock, 'check');
  await store.countGroups(target, { filter: EVERYTHING, groupBy: 'groupId', size: 600 });
  expect(check.mock.calls.length).toBeGreaterThanOrEqual(600);
  check.mockClear();
  await store.totals(target, { filter: EVERYTHING, by: ['groupId'], sums: [] });
  expect(check.mock.calls.length).toBeGreaterThanOrEqual(600);
});

/** The most entries with such values that a map had while something was done. */
async function mostEntries(
  isCounted: (value: unknown) => boolean,
  work: () => Promise<void>,
): Promise<number> {
  let most = 0;
  const setIn: (this: Map<unknown, unknown>, key: unknown, value: unknown) => Map<unknown, unknown> =
    Reflect.get(Map.prototype, 'set');
  const spy = jest.spyOn(Map.prototype, 'set').mockImplementation(function (
    this: Map<unknown, unknown>,
    key: unknown,
    value: unknown,
  ) {
    const map = setIn.call(this, key, value);
    if (isCounted(value)) most = Math.max(most, map.size);
    return map;
  });
  try {
    await work();
  } finally {
    spy.mockRestore();
  }
  return most;
}

test('counted values are kept in memory only while they are among those of most documents', async () => {
  const brands = Array.from({ length: 1_200 }, (_, n) => ({
    id: `b${n}`,
    fields: { brand: n % 400 === 7 ? 'often' : `brand ${n}` },
    body: '',
  }));
  // Several segments, with values in common.
  for (let from = 0; from < brands.length; from += 400)
    await put(store, target, brands.slice(from, from + 400));
  const facets = [{ field: 'brand', size: 3 }];
  const isCount = (value: unknown): boolean => typeof value === 'number';
  const most = await mostEntries(isCount, async () => {
    expect(await store.countValues(target, { filter: EVERYTHING, facets })).toEqual([
      [
        { value: 'often', count: 3 },
        { value: 'brand 0', count: 1 },
        { value: 'brand 1', count: 1 },
      ],
    ]);
  });
  expect(most).toBeLessThanOrEqual(9);
});

test('a page of counted groups keeps not much more than its own in memory', async () => {
  const size = 10;
  const found = new Set<string>();
  const isGroup = (value: unknown): boolean =>
    typeof value === 'object' && value !== null && 'row' in value && 'count' in value;
  const largest = await mostEntries(isGroup, async () => {
    for (let after: string | undefined, isMore = true; isMore;) {
      const { groups, next }: GroupCounts = await store.countGroups(target, {
        filter: EVERYTHING,
        groupBy: 'groupId',
        size,
        ...(after === undefined ? {} : { after }),
      });
      for (const { count, one } of groups) if (count === 1) found.add(one.id);
      after = next;
      isMore = next !== undefined;
    }
  });
  expect(found.size).toBe(600);
  expect(largest).toBeGreaterThanOrEqual(size);
  expect(largest).toBeLessThanOrEqual(3 * size);
});
