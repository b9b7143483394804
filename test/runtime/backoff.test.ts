import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { Backoff } from '../../src/runtime/unavailable';

describe('a back-off', () => {
  test('doubles its delay after each failure, up to the longest, and starts over after a success', async () => {
    const backoff = new Backoff(SYSTEM_CLOCK, { first: 1, longest: 5 });
    const waits: number[] = [];
    for (let failure = 0; failure < 5; failure += 1) {
      waits.push(backoff.nextMs);
      await backoff.wait();
    }
    expect(waits).toEqual([1, 2, 4, 5, 5]);
    backoff.reset();
    expect(backoff.nextMs).toBe(1);
  });

  test('ends its wait when the signal aborts, and waits no longer than allowed', async () => {
    const backoff = new Backoff(SYSTEM_CLOCK, { first: 3_600_000, longest: 3_600_000 });
    const aborting = new AbortController();
    const waited = backoff.wait(aborting.signal);
    aborting.abort();
    await waited;
    await backoff.wait(undefined, 1);
  });
});
