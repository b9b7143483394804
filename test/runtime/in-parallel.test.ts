import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { inParallel } from '../../src/runtime/concurrency';

describe('Work in parallel', () => {
  it('is done on every item, on no more at a time than allowed, and gives results in the order of the items', async () => {
    const done: number[] = [];
    let running = 0;
    let most = 0;
    const results = await inParallel([5, 1, 4, 2, 3].values(), 2, async (item) => {
      running += 1;
      most = Math.max(most, running);
      for (let turn = 0; turn < item; turn += 1) await SYSTEM_CLOCK.yield();
      running -= 1;
      done.push(item);
      return `item ${item}`;
    });
    expect(results).toEqual(['item 5', 'item 1', 'item 4', 'item 2', 'item 3']);
    expect(most).toBe(2);
    expect(done.toSorted()).toEqual([1, 2, 3, 4, 5]);
  });

  it('of fewer items than workers, or of none, ends too', async () => {
    const done: number[] = [];
    await inParallel([1], 8, async (item) => void done.push(item));
    await inParallel([], 8, async (item) => void done.push(item));
    expect(done).toEqual([1]);
  });

  it('after a failure starts no further item, waits for those under way, and raises the failure', async () => {
    const started: number[] = [];
    const ended: number[] = [];
    const work = inParallel([1, 2, 3, 4, 5, 6], 3, async (item) => {
      started.push(item);
      if (item === 2) throw new Error('the second item failed');
      await SYSTEM_CLOCK.yield();
      ended.push(item);
    });
    await expect(work).rejects.toThrow('the second item failed');
    expect([started, ended]).toEqual([
      [1, 2, 3],
      [1, 3],
    ]);
  });
});
