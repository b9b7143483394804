import { LeaseHolder } from '../../src/runtime/lease-holder';
import { openEmbeddedStore } from '../../src/engines/embedded/store/open-store';
import { MAX_SET_BACK_MS } from '../../src/kernel/leases';
import { type ReadStore } from '../../src/kernel/read-store';
import { TestClock } from '../support/clock';
import { storeFolder } from '../support/store-folder';

const TTL_MS = 900;

let store: ReadStore;
let remove: () => Promise<void>;
let now = 0;
const clock = new TestClock(() => now);
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

const holder = (owner: string): LeaseHolder => new LeaseHolder(clock, store, 'work', owner, TTL_MS);

/** Lets a time go by in steps, timers with it. */
async function pass(milliseconds: number): Promise<void> {
  for (let at = 0; at < milliseconds; at += 100) {
    now += 100;
    await jest.advanceTimersByTimeAsync(100);
  }
}

test('a lease is renewed for the duration of the work, even if no step checks it', async () => {
  const mine = holder('a');
  const other = holder('b');
  expect(await mine.acquire()).toBe(true);
  let end = (): void => undefined;
  const work = mine.renewDuring(() => new Promise<void>((resolve) => (end = resolve)));
  await pass(10 * TTL_MS);
  expect(await other.acquire()).toBe(false);
  end();
  await work;
  await pass(2 * TTL_MS);
  expect(await other.acquire()).toBe(true);
  expect(await mine.acquire()).toBe(false);
});

/** The store, whose leases are asked for only when the request arrives, from when `isSlow` is set. */
function slowly() {
  const requests = { isSlow: false, arrive: (): void => undefined };
  const slow = new Proxy(store, {
    get: (target, name) =>
      name === 'lease' && requests.isSlow
        ? async (...args: Parameters<ReadStore['lease']>) => {
            await new Promise<void>((resolve) => (requests.arrive = resolve));
            return await target.lease(...args);
          }
        : (Reflect.get(target, name) as unknown),
  });
  return { requests, slow };
}

test('a renewal in progress during the release does not acquire the lease again', async () => {
  const { requests, slow } = slowly();
  const mine = new LeaseHolder(clock, slow, 'work', 'a', TTL_MS);
  await mine.acquire();
  let end = (): void => undefined;
  const work = mine.renewDuring(() => new Promise<void>((resolve) => (end = resolve)));
  requests.isSlow = true;
  await pass(TTL_MS / 3 + 100);
  end();
  await work;
  const released = mine.release();
  requests.arrive();
  await released;
  await pass(0);
  expect(await holder('b').acquire()).toBe(true);
});

test('a lease is renewed at once when the clock was stepped back', async () => {
  now = 3_600_000;
  const mine = holder('a');
  expect(await mine.acquire()).toBe(true);
  now = 1_000;
  expect(await mine.acquire()).toBe(true);
  expect(await store.holder('work', now, TTL_MS)).toBe('a');
  expect(await holder('b').acquire()).toBe(false);
});

test('a lease acquired while the clock was an hour ahead does not block others', async () => {
  now = 3_600_000;
  await holder('a').acquire();
  now = 1_000;
  expect(await holder('b').acquire()).toBe(true);
});

test('a request that is under way when the clock is set back does not take a lease that was renewed since', async () => {
  now = 3_600_000;
  const mine = holder('a');
  await mine.acquire();
  const { requests, slow } = slowly();
  requests.isSlow = true;
  const other = new LeaseHolder(clock, slow, 'work', 'b', TTL_MS).acquire();
  now -= 10 * TTL_MS;
  expect(await mine.acquire()).toBe(true);
  requests.arrive();
  expect(await other).toBe(false);
  expect(await mine.acquire()).toBe(true);
});

test('a lease that its owner doubts counts only once it is acquired again', async () => {
  const mine = holder('a');
  await mine.acquire();
  const { term } = mine;
  mine.doubt();
  expect(mine.leftMs).toBeLessThanOrEqual(0);
  expect(await mine.acquire()).toBe(true);
  expect(mine.term).not.toBe(term);
  // By a clock that was wrong for a moment, another owner has taken it.
  expect(await store.lease('work', 'b', () => now + 2 * TTL_MS, TTL_MS)).toBeDefined();
  mine.doubt();
  expect(await mine.acquire()).toBe(false);
});

test('a lease is renewed no more once the work has failed', async () => {
  const mine = holder('a');
  await mine.acquire();
  await expect(mine.renewDuring(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await pass(2 * TTL_MS);
  expect(await holder('b').acquire()).toBe(true);
});

test('a lease that was over since the machine was suspended is not revived when the clock is set back', async () => {
  let [wall, monotonic] = [3_600_000, 0];
  const clock = new TestClock(
    () => wall,
    () => monotonic,
  );
  const mine = new LeaseHolder(clock, store, 'work', 'a', TTL_MS);
  await mine.acquire();
  expect(mine.leftMs).toBe(TTL_MS);
  wall += 10 * TTL_MS;
  expect(mine.leftMs).toBeLessThanOrEqual(0);
  wall -= 100 * TTL_MS;
  expect(mine.leftMs).toBeLessThanOrEqual(0);
  await mine.acquire();
  monotonic += 100;
  expect(mine.leftMs).toBe(TTL_MS - 100);
});

test('a lease is over once the clock was set back so far that others may acquire it, also when it is set ahead again', async () => {
  let wall = 3_600_000;
  const clock = new TestClock(
    () => wall,
    () => 0,
  );
  const mine = new LeaseHolder(clock, store, 'work', 'a', TTL_MS);
  const other = new LeaseHolder(clock, store, 'work', 'b', TTL_MS);
  await mine.acquire();
  wall -= MAX_SET_BACK_MS;
  expect(mine.leftMs).toBe(TTL_MS);
  expect(await other.acquire()).toBe(false);
  wall -= 1;
  expect(mine.leftMs).toBeLessThanOrEqual(0);
  expect(await other.acquire()).toBe(true);
  wall += MAX_SET_BACK_MS + 1;
  expect(mine.leftMs).toBeLessThanOrEqual(0);
});

test('a lease that has ended has another term once it is acquired again: another owner may have had it', async () => {
  const mine = holder('a');
  expect(await mine.acquire()).toBe(true);
  const { term } = mine;
  await pass(0.7 * TTL_MS);
  expect(await mine.acquire()).toBe(true);
  expect(mine.term).toBe(term);
  now += 2 * TTL_MS;
  const other = holder('b');
  expect(await other.acquire()).toBe(true);
  await other.release();
  expect(await mine.acquire()).toBe(true);
  expect(mine.term).not.toBe(term);
});
