import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readAndHash } from './bare/read-json';
import { type Bench, compareRates, type Figure, timed } from './harness';
import { Server } from './server';

const FEED = 1;

/**
 * Posts a body to a feed that already has the same products, without a projector: only the event that closes the load
 * is appended.
 *
 * Ours: from the start of the POST to the answer.
 * Bare, element by element in one thread: cuts the same bytes (already in memory), `JSON.parse` and SHA-256, without
 * lookups.
 */
export async function reloadUnchanged(bench: Bench): Promise<readonly Figure[]> {
  const path = await bench.body('json');
  const body = await readFile(path);
  const server = await Server.start(join(bench.folder, 'reload-unchanged'), 'api');
  try {
    await server.post(FEED, 'json', path);
    const figure = await compareRates(
      { figure: 'reload-unchanged', goal: 0.7, count: bench.count },
      () => timed(() => server.post(FEED, 'json', path)),
      () => timed(() => readAndHash(body)),
    );
    return [figure];
  } finally {
    await server.stop();
  }
}
