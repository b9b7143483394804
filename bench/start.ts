import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Bench, type Figure, quantile, roundsOf, timed } from './harness';
import { Server } from './server';

/** Limit in milliseconds until the server listens. */
const GOALS = { first: 10_000, later: 2_000 } as const;

/**
 * Starts the built program with the demo until it listens: with an empty folder, where it creates the demo network, and
 * with that folder again. Medians of three.
 */
export async function start(bench: Bench): Promise<readonly Figure[]> {
  const times: { first: number[]; later: number[] } = { first: [], later: [] };
  for (let round = 0; round < roundsOf(bench.count); round += 1) {
    const dataDir = join(bench.folder, `start-${round}`);
    for (const which of ['first', 'later'] as const) {
      let server: Server | undefined;
      times[which].push(await timed(async () => (server = await Server.startDemo(dataDir))));
      await server?.stop();
    }
    await rm(dataDir, { recursive: true });
  }
  return (['first', 'later'] as const).map((which) => {
    const measured = quantile(times[which], 0.5);
    const limit = GOALS[which];
    return { figure: `start ${which}`, measured, limit, ratio: limit / measured, goal: 1, unit: 'ms' };
  });
}
