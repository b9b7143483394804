import { join } from 'node:path';
import { PROJECTIONS } from '../projections';
import { BareTables } from './bare/tables';
import { type Bench, compareRates, type Figure, timed } from './harness';
import { openLoaded, projected, type Wanted, wantedOf } from './read-models';

/** Documents per transaction on both sides. */
const BATCH = 1000;

/**
 * Projects all products of the log into live read models.
 *
 * Ours: the runner of the server's projector thread, here in this process, from its start until all read models have
 * reached the end of the log: read, parse, fold, describe, write in a thread of the store. (`npm run bench` gives this
 * process the young generation size of the projector thread.)
 * Bare: inserts the resulting rows (already in memory) into tables with indexes and FTS5, in transactions of the same
 * size, one read model after the other.
 */
export async function project(bench: Bench): Promise<readonly Figure[]> {
  const loaded = await openLoaded(bench, 'project', true);
  try {
    const wanted: Wanted[] = [];
    for (const projection of PROJECTIONS) wanted.push(await wantedOf(loaded, projection));
    const figure = await compareRates(
      { figure: 'project', goal: 0.6, count: bench.count },
      () => projected(loaded.engines),
      (round) => loadedBare(wanted, join(bench.folder, `project-${round}`)),
    );
    return [figure];
  } finally {
    await loaded.engines.close();
  }
}

async function loadedBare(wanted: readonly Wanted[], path: string): Promise<number> {
  let ms = 0;
  for (const [at, { rows, spec }] of wanted.entries()) {
    const tables = new BareTables(`${path}-${at}.sqlite`, spec);
    tables.createIndexes();
    ms += await timed(() => {
      for (let from = 0; from < rows.keys.length; from += BATCH) {
        tables.insert({
          keys: rows.keys.slice(from, from + BATCH),
          bodies: rows.bodies.slice(from, from + BATCH),
          tokens: rows.tokens.slice(from, from + BATCH),
        });
      }
    });
    tables.close();
  }
  return ms;
}
