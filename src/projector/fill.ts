import { directoryAt } from '../directory/fold';
import { type Position, START } from '../kernel/event';
import { type EventBatch, type EventLog } from '../kernel/event-log';
import { type ReadStore } from '../kernel/read-store';
import { Arrival } from './arrival';
import { allWritten, GenerationFold } from './generation-fold';
import { LogPass } from './log-pass';
import { type Projection } from './projection';

/** Events folded at once into a generation that nobody reads yet: documents changed often are written seldom. */
const FILL_BATCH = 5000;

/** Told how far it is: `events` since the last time. May raise to stop the work. */
export type OnFolded = (events: number, position: Position) => Promise<void>;

/**
 * Makes a new generation of each projection and folds everything up to `until` into them, in one pass. Documents
 * are described by the directory as of `until` at once: no change of it before then has to be fanned out.
 */
export async function fill(
  log: EventLog,
  store: ReadStore,
  projections: readonly Projection[],
  { code, until, onFolded }: { readonly code: string; readonly until: Position; readonly onFolded: OnFolded },
): Promise<readonly GenerationFold[]> {
  const folds: GenerationFold[] = [];
  for (const projection of projections) {
    const generation = await store.create(projection.collection);
    folds.push(await GenerationFold.open(log, store, projection, generation, code));
  }
  const directory = await directoryAt(log, until);
  const prefixes = [...new Set(projections.flatMap(({ streams }) => streams))];
  try {
    for await (const batch of until === START
      ? []
      : log.readAll({ after: START, prefixes, batchSize: FILL_BATCH })) {
      const { events, position } = cutAt(batch, until);
      const arrivals = events.map((event) => new Arrival(event));
      for (const fold of folds) await fold.take(arrivals, directory, position);
      await onFolded(events.length, position);
      if (position === until) break;
    }
    for (const fold of folds) await fold.advance(until);
  } finally {
    await allWritten(folds);
  }
  return folds;
}

/** Folds what a generation lacks up to `until`, the way live ones are folded. */
export async function catchUp(
  log: EventLog,
  fold: GenerationFold,
  until: Position,
  onFolded: OnFolded = () => Promise.resolve(),
): Promise<void> {
  if (fold.checkpoint >= until) return;
  const pass = await LogPass.open(log, [fold]);
  try {
    for await (const batch of log.readAll({ after: pass.position, prefixes: pass.prefixes })) {
      const part = cutAt(batch, until);
      await pass.take(part);
      await onFolded(part.events.length, part.position);
      if (part.position === until) return;
    }
  } finally {
    await pass.written();
  }
}

function cutAt(batch: EventBatch, until: Position): EventBatch {
  if (batch.position <= until) return batch;
  return { ...batch, events: batch.events.filter(({ position }) => position <= until), position: until };
}
