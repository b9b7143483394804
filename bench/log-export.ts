import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { START } from '../src/kernel/event';
import { exportLog, type ExportManifest } from '../src/operations/export-log';
import { readAll } from './bare/log';
import { type Bench, type Figure, quantile, roundsOf, timed } from './harness';
import { peakMemoryOf } from './program';
import { openLoaded } from './read-models';

/** Aimed at: MB of NDJSON, and events in CSV and Parquet, per second. */
const GOALS = { ndjson: 100, csv: 50_000, parquet: 30_000 } as const;

/** Peak memory of a process that exports (MB). */
const MEMORY = 300;

/**
 * Exports the log of a feed, as `affilog log export` does. Bare: reads all columns of the log's file, and writes
 * nothing. NDJSON in MB of what it writes (bare: reads), CSV and Parquet in events. Memory is that of the
 * command, in a process of its own.
 */
export async function* logExport(bench: Bench): AsyncGenerator<Figure> {
  const { engines, dataDir } = await openLoaded(bench, 'log-export', true);
  try {
    for (const format of ['ndjson', 'csv', 'parquet'] as const) {
      const [ours, bare] = [[], []] as [number[], number[]];
      for (let round = 0; round < roundsOf(bench.count); round += 1) {
        const folder = join(bench.folder, `${format}-${round}`);
        await mkdir(folder);
        let manifest: ExportManifest | undefined;
        const options = { format, gzip: false, range: { types: [], streams: [], after: START } };
        const time = await timed(async () => (manifest = await exportLog(engines.log, folder, options)));
        const { files = [], events = 0 } = manifest ?? {};
        const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
        ours.push((format === 'ndjson' ? bytes / 1000 : events * 1000) / time);
        let read = 0;
        const bareTime = await timed(() => (read = readAll(join(dataDir, 'log.sqlite'))));
        bare.push((format === 'ndjson' ? read / 1000 : events * 1000) / bareTime);
      }
      const [measured, limit] = [ours, bare].map((rates) => quantile(rates, 0.5)) as [number, number];
      const figure = `log-export ${format}`;
      const unit = format === 'ndjson' ? 'MB/s' : 'events/s';
      const goal = GOALS[format];
      yield { figure, measured, limit: goal, ratio: measured / goal, goal: 1, unit };
      yield { figure: `${figure} beside bare`, measured, limit, ratio: measured / limit, goal: null, unit };
      const folder = join(bench.folder, `${format}-memory`);
      const memory = await peakMemoryOf(dataDir, ['log', 'export', '--format', format, folder]);
      yield {
        figure: `${figure} memory`,
        measured: memory,
        limit: MEMORY,
        ratio: MEMORY / memory,
        goal: 1,
        unit: 'MB',
      };
    }
  } finally {
    await engines.close();
  }
}
