import { newPromise, orIdle } from '../../src/runtime/concurrency';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';

describe('Items that may take long', () => {
  it('are announced as idle where one has not come in time, and none is lost', async () => {
    const { promise, resolve } = newPromise();
    async function* items(): AsyncGenerator<number> {
      yield 1;
      await promise;
      yield 2;
    }
    const seen: (number | 'idle')[] = [];
    for await (const item of orIdle(SYSTEM_CLOCK, items(), () => (seen.includes('idle') ? undefined : 1))) {
      seen.push(item);
      if (item === 'idle') resolve();
    }
    expect(seen.filter((item) => item !== 'idle')).toEqual([1, 2]);
    expect(seen.filter((item) => item === 'idle')).toHaveLength(1);
  });

  it('end with the consumer, although one is awaited that never comes', async () => {
    const { promise } = newPromise();
    async function* items(): AsyncGenerator<number> {
      await promise;
      yield 1;
    }
    const consumed = (async () => {
      for await (const item of orIdle(SYSTEM_CLOCK, items(), () => 1)) throw new Error(String(item));
    })();
    await expect(consumed).rejects.toThrow('idle');
  });

  it('end with their failure', async () => {
    async function* items(): AsyncGenerator<number> {
      yield 1;
      throw new Error('broken');
    }
    const all = orIdle(SYSTEM_CLOCK, items(), () => undefined);
    expect(await all.next()).toEqual({ done: false, value: 1 });
    await expect(all.next()).rejects.toThrow('broken');
  });
});
