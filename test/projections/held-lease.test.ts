import { HeldLease } from '../../projections/held-lease';
import { openEmbeddedStore } from '../../src/engines/embedded/store/open-store';
import { type ReadStore } from '../../src/kernel/read-store';
import { storeFolder } from '../support/store-folder';

const TTL_MS = 900;

let store: ReadStore;
let remove: () => Promise<void>;
let now = 0;
beforeEach(async () => {
  const folder = await storeFolder();
  store = openEmbeddedStore({ directory: folder.directory, threads: false, readers: 0 });
  remove = folder.remove;
  jest.useFakeTimers({ advanceTimers: false });
});
afterEach(async () => {
  jest.useRealTimers();
  await store.close();
  await remove();
});

const held = (owner: string): HeldLease => new HeldLease(store, 'work', owner, TTL_MS, () => now);

/** Lets a time go by in steps, timers with it. */
async function pass(milliseconds: number): Promise<void> {
  for (let at = 0; at < milliseconds; at += 100) {
    now += 100;
    await jest.advanceTimersByTimeAsync(100);
  }
}

test('a lease is held for as long as the work takes, even without a step that asks for it', async () => {
  const mine = held('a');
  const other = held('b');
  expect(await mine.hold()).toBe(true);
  let end = (): void => undefined;
  const work = mine.during(() => new Promise<void>((resolve) => (end = resolve)));
  await pass(10 * TTL_MS);
  expect(await other.hold()).toBe(false);
  end();
  await work;
  await pass(2 * TTL_MS);
  expect(await other.hold()).toBe(true);
  expect(await mine.hold()).toBe(false);
});

test('a lease is renewed no more once the work has failed', async () => {
  const mine = held('a');
  await mine.hold();
  await expect(mine.during(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await pass(2 * TTL_MS);
  expect(await held('b').hold()).toBe(true);
});
