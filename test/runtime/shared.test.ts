import { TestClock } from '../support/clock';
import { SharedResults } from '../../src/runtime/concurrency';

let now = 0;
const clock = new TestClock(
  () => now,
  () => now,
);

test('a result is computed at most once in a while, and once at a time, for all who ask for its key', async () => {
  const shared = new SharedResults<number>(clock, 100);
  let computed = 0;
  let end = (): void => undefined;
  const compute = async (): Promise<number> => {
    const number = (computed += 1);
    await new Promise<void>((resolve) => (end = resolve));
    return number;
  };
  const first = [shared.get('a', compute), shared.get('a', compute)];
  now += 500;
  first.push(shared.get('a', compute));
  end();
  expect(await Promise.all(first)).toEqual([1, 1, 1]);
  const second = shared.get('a', compute);
  const other = shared.get('b', async () => 9);
  end();
  expect([await second, await other]).toEqual([2, 9]);
  now += 99;
  expect(await shared.get('a', compute)).toBe(2);
  now += 1;
  const third = shared.get('a', compute);
  end();
  expect(await third).toBe(3);
});

test('a failure is not kept', async () => {
  const shared = new SharedResults<number>(clock, 100);
  await expect(shared.get('a', () => Promise.reject(new Error('once')))).rejects.toThrow('once');
  expect(await shared.get('a', async () => 1)).toBe(1);
});
