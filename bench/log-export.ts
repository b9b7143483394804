import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { iterate } from '../src/engines/embedded/connection';
import { START } from '../src/kernel/event';
import { exportLog, type Manifest } from '../src/operations/export-log';
import { type Bench, type Figure, quantile, roundsOf, timed } from './harness';
import { openLoaded } from './read-models';

/** Aimed at: MB of NDJSON, and events in CSV, per second. */
const GOALS = { ndjson: 100, csv: 50_000 } as const;

/**
 * Exports the log of a feed, as `affilog log export` does. Bare: reads all columns of the log's file, and writes nothing.
 * NDJSON in MB of what it writes (bare: reads), CSV in events.
 */
export async function* logExport(bench: Bench): AsyncGenerator<Figure> {
  const { engines, dataDir } = await openLoaded(bench, 'log-export', true);
  try {
    for (const format of ['ndjson', 'csv'] as const) {
      const [ours, bare] = [[], []] as [number[], number[]];
      for (let round = 0; round < roundsOf(bench.count); round += 1) {
        const folder = join(bench.folder, `${format}-${round}`);
        await mkdir(folder);
        let manifest: Manifest | undefined;
        const options = { format, gzip: false, range: { types: [], streams: [], after: START } };
        const time = await timed(async () => (manifest = await exportLog(engines.log, folder, options)));
        const { files = [], events = 0 } = manifest ?? {};
        const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
        ours.push((format === 'csv' ? events * 1000 : bytes / 1000) / time);
        let read = 0;
        const bareTime = await timed(() => (read = readBare(join(dataDir, 'log.sqlite'))));
        bare.push((format === 'csv' ? events * 1000 : read / 1000) / bareTime);
      }
      const [measured, limit] = [ours, bare].map((rates) => quantile(rates, 0.5)) as [number, number];
      const figure = `log-export ${format}`;
      const unit = format === 'csv' ? 'events/s' : 'MB/s';
      const goal = GOALS[format];
      yield { figure, measured, limit: goal, ratio: measured / goal, goal: 1, unit };
      yield { figure: `${figure} beside bare`, measured, limit, ratio: measured / limit, goal: null, unit };
    }
  } finally {
    await engines.close();
  }
}

/** Characters of all events. */
function readBare(file: string): number {
  const database = new DatabaseSync(file, { returnArrays: true, readOnly: true });
  const statement = database.prepare(
    `SELECT a.stream, e.id, e.type, e.data, e.meta FROM appends a
     CROSS JOIN events e ON e.position > a.position - a.events AND e.position <= a.position ORDER BY a.position, e.position`,
  );
  let characters = 0;
  for (const row of iterate<string[]>(database, statement)) for (const text of row) characters += text.length;
  database.close();
  return characters;
}
