import { HeldLease } from '../../src/kernel/held-lease';
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

test('a renewal that is under way when the lease is released does not outlive it', async () => {
  let isSlow = false;
  let arrive = (): void => undefined;
  const slow = new Proxy(store, {
    get: (target, name) =>
      name === 'lease' && isSlow
        ? async (...args: Parameters<ReadStore['lease']>) => {
            await new Promise<void>((resolve) => (arrive = resolve));
            return await target.lease(...args);
          }
        : (Reflect.get(target, name) as unknown),
  });
  const mine = new HeldLease(slow, 'work', 'a', TTL_MS, () => now);
  await mine.hold();
  let end = (): void => undefined;
  const work = mine.during(() => new Promise<void>((resolve) => (end = resolve)));
  isSlow = true;
  await pass(TTL_MS / 3 + 100);
  end();
  await work;
  const released = mine.release();
  arrive();
  await released;
  await pass(0);
  expect(await held('b').hold()).toBe(true);
});

test('a lease is renewed at once when the clock was stepped back', async () => {
  now = 3_600_000;
  const mine = held('a');
  expect(await mine.hold()).toBe(true);
  now = 1_000;
  expect(await mine.hold()).toBe(true);
  expect(await store.holder('work', now, TTL_MS)).toBe('a');
  expect(await held('b').hold()).toBe(false);
});

test('a lease that was taken when the clock was an hour ahead keeps nobody waiting', async () => {
  now = 3_600_000;
  await held('a').hold();
  now = 1_000;
  expect(await held('b').hold()).toBe(true);
});

test('a lease is renewed no more once the work has failed', async () => {
  const mine = held('a');
  await mine.hold();
  await expect(mine.during(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await pass(2 * TTL_MS);
  expect(await held('b').hold()).toBe(true);
});
