import { DatabaseSync } from '@photostructure/sqlite';
import { join } from 'node:path';
import { EmbeddedStore } from '../../src/engines/embedded/store/embedded-store';
import { QueryClock } from '../../src/engines/embedded/store/query-clock';
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

test('a page of counted groups keeps not much more than its own in memory', async () => {
  const size = 10;
  let largest = 0;
  const setIn: (this: Map<unknown, unknown>, key: unknown, value: unknown) => Map<unknown, unknown> =
    Reflect.get(Map.prototype, 'set');
  const spy = jest.spyOn(Map.prototype, 'set').mockImplementation(function (
    this: Map<unknown, unknown>,
    key: unknown,
    value: unknown,
  ) {
    const isGroup = typeof value === 'object' && value !== null && 'row' in value && 'count' in value;
    const map = setIn.call(this, key, value);
    if (isGroup) largest = Math.max(largest, map.size);
    return map;
  });
  const found = new Set<string>();
  try {
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
  } finally {
    spy.mockRestore();
  }
  expect(found.size).toBe(600);
  expect(largest).toBeGreaterThanOrEqual(size);
  expect(largest).toBeLessThanOrEqual(3 * size);
});
