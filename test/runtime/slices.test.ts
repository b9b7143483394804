import { setImmediate as turn } from 'node:timers/promises';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { pacer, SLICE_MS, sliceBy } from '../../src/runtime/concurrency';
import { TestClock } from '../support/clock';

/** Blocks the thread for so long (ms). */
function work(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/**
 * Works in several loops that share a pacer; returns when each piece of work began, by the rounds of the event loop.
 */
async function workTogether(loops: number, pieces: number, ms: number): Promise<readonly number[]> {
  let round = 0;
  const ending = new AbortController();
  const counting = (async () => {
    while (!ending.signal.aborted) {
      await turn();
      round += 1;
    }
  })();
  const pace = pacer();
  const rounds: number[] = [];
  await Promise.all(
    Array.from({ length: loops }, async () => {
      for (let piece = 0; piece < pieces; piece += 1) {
        const pause = pace();
        if (pause !== undefined) await pause;
        rounds.push(round);
        work(ms);
      }
    }),
  );
  ending.abort();
  await counting;
  return rounds;
}

describe('pacer', () => {
  it('lets loops that it pauses at once share the next slice', async () => {
    const rounds = await workTogether(100, 3, SLICE_MS / 20);
    expect(new Set(rounds).size).toBeLessThan(60);
  });

  it('lets other work run after each slice, however many loops it has paused', async () => {
    const rounds = await workTogether(20, 2, SLICE_MS);
    expect(new Set(rounds).size).toBe(rounds.length);
  });

  it.each([1, 2, 3])('continues %i loops, whichever of them wait', async (loops) => {
    expect(await workTogether(loops, 20, SLICE_MS / 2)).toHaveLength(20 * loops);
  });

  it('does not pause work that is shorter than a slice', () => {
    expect(pacer()()).toBeUndefined();
  });

  it('measures slices by the clock that a simulation sets: while no time passes there, nothing pauses', () => {
    sliceBy(new TestClock(Date.now, () => 0));
    const pace = pacer();
    work(2 * SLICE_MS);
    expect(pace()).toBeUndefined();
    sliceBy(SYSTEM_CLOCK);
  });
});
