import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { START } from '../../src/kernel/event';
import { EngineUnavailable, type EventLog } from '../../src/kernel/event-log';
import { exportLog, importLog } from '../../src/operations/export-log';
import { MemoryEvents, MemoryLog } from './memory-log';
import { type Random } from './random';

const WHOLE = { types: [], streams: [], after: START };

/**
 * What becomes of a log that is exported, and imported into an empty one that sometimes fails: again until it is done.
 */
export async function imported(events: MemoryEvents, random: Random): Promise<MemoryEvents> {
  const folder = await mkdtemp(join(tmpdir(), 'world-'));
  const into = new MemoryEvents(() => NaN);
  const log = new MemoryLog(into);
  const append: EventLog['append'] = async (...args) => {
    if (random.chance(0.01)) throw new EngineUnavailable('lost before it took effect');
    const appended = await log.append(...args);
    if (random.chance(0.01)) throw new EngineUnavailable('lost after it took effect');
    return appended;
  };
  const failing = Object.assign(Object.create(log) as MemoryLog, { append });
  try {
    const [from, range] = [join(folder, 'export'), { ...WHOLE }];
    await exportLog(new MemoryLog(events), from, {
      format: 'ndjson',
      gzip: false,
      range,
      eventsPerFile: 100,
    });
    for (let isDone = false; !isDone;)
      isDone = await importLog(from, failing, { dataDir: folder }).then(
        () => true,
        (error: unknown) => {
          if (!(error instanceof EngineUnavailable)) throw error;
          return false;
        },
      );
  } finally {
    await rm(folder, { recursive: true });
  }
  return into;
}
