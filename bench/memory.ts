import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type Bench, type Figure } from './harness';
import { bodyOf } from './products';
import { Server } from './server';

/** With 100,000 products as the count: 1 GB. */
const TIMES = 10;

const CASES = [
  { figure: 'memory', roles: 'api', limit: 500 },
  { figure: 'memory projecting', roles: 'api,projector', limit: 1000 },
] as const;

/**
 * Peak resident memory (VmHWM) of the server process from its start to the answer, while ten times the count of
 * products (1 GB for 100,000) is posted as one JSON body and appended: without and with a projector. The body is
 * generated while it is sent.
 */
export async function memory(bench: Bench): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const { figure, roles, limit } of CASES) {
    const server = await Server.start(join(bench.folder, `memory-${roles}`), roles);
    try {
      await server.post(1, 'json', Readable.from(bodyOf('json', bench.count * TIMES)));
      const measured = server.peakMemory();
      figures.push({ figure, measured, limit, ratio: limit / measured, goal: 1, unit: 'MB' });
    } finally {
      await server.stop();
    }
  }
  return figures;
}
