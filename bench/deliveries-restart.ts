import { join } from 'node:path';
import { memoryOf } from './deliveries';
import { prepare } from './deliveries/prepare';
import { Receivers } from './deliveries/receivers';
import { type Bench, type Figure } from './harness';
import { Server } from './server';

/** With 100,000 as the count: a million messages. */
const TIMES = 10;
const RECEIVERS = 1_000;
/** Seconds to the first attempt. */
const LIMIT = 10;

/**
 * Messages that are due, ten times the count, when the notifier starts: for the first time, and again after an orderly
 * stop. Measures the seconds from the start of the process to the first arrival at a receiver.
 */
export async function deliveriesRestart(bench: Bench): Promise<readonly Figure[]> {
  const receivers = await Receivers.start();
  const dataDir = join(bench.folder, 'deliveries-restart');
  try {
    await prepare(dataDir, receivers, { targets: RECEIVERS, messages: bench.count * TIMES });
    const figures: Figure[] = [];
    const runs: { readonly memory: number }[] = [];
    for (const figure of ['deliveries-restart unread', 'deliveries-restart']) {
      await receivers.reset({ most: bench.count });
      const start = Date.now();
      const server = await Server.start(dataDir, 'notifier', receivers.settings);
      const { first } = await receivers.arrived(1);
      // Then all that is due has been taken in. The rest remains due, since nothing more is answered.
      await receivers.arrived(bench.count);
      runs.push({ memory: server.peakMemory() });
      await server.stop();
      const measured = (first - start) / 1000;
      figures.push({ figure, measured, limit: LIMIT, ratio: LIMIT / measured, goal: 1, unit: 's' });
    }
    return [...figures, memoryOf('deliveries-restart', runs)];
  } finally {
    await receivers.stop();
  }
}
