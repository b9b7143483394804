import { type Position } from '../kernel/event';
import { type EventBatch, type EventLog } from '../kernel/event-log';
import { type ReadStore } from '../kernel/read-store';
import { directoryAt } from '../network/directory';
import { flushAll, GenerationProjector } from './generation-projector';
import { directoryPrefixes, IncomingEvent, type Projection } from './projection';
import { ProjectionGroup } from './projection-group';

/** Large batches: nobody reads the new generation yet, and a document that changes often is written less often. */
const BUILD_BATCH = 5000;

/** Called after each batch with the number of its events. May raise to stop the work. */
export type OnBatch = (events: number, position: Position) => Promise<void>;

/**
 * Creates a new generation of each projection and folds all events up to `until` into them, in one pass. Documents
 * are described with the directory as of `until`, so earlier changes of the directory need no fan-out.
 */
export async function buildGenerations(
  log: EventLog,
  store: ReadStore,
  projections: readonly Projection[],
  { code, until, onBatch }: { readonly code: string; readonly until: Position; readonly onBatch: OnBatch },
): Promise<readonly GenerationProjector[]> {
  const projectors: GenerationProjector[] = [];
  for (const projection of projections) {
    const generation = await store.create(projection.collection);
    projectors.push(await GenerationProjector.open(log, store, projection, generation, code));
  }
  await fillGenerations(log, projectors, { until, onBatch });
  return projectors;
}

interface FillOptions {
  readonly until: Position;
  readonly onBatch: OnBatch;
  /** Events that are read at a time. */
  readonly batchSize?: number;
  /** How many of them are projected before `onBatch` is called; by default all. */
  readonly part?: () => number;
}

/** Folds all events up to `until` into generations that are being built, in one pass from the lowest checkpoint. */
export async function fillGenerations(
  log: EventLog,
  projectors: readonly GenerationProjector[],
  { until, onBatch, batchSize = BUILD_BATCH, part = () => Infinity }: FillOptions,
): Promise<void> {
  const projections = projectors.map(({ projection }) => projection);
  const directory = await directoryAt(log, until, directoryPrefixes(projections));
  const prefixes = [...new Set(projections.flatMap(({ streams }) => streams))];
  const after = projectors.reduce(
    (least, { checkpoint }) => (checkpoint < least ? checkpoint : least),
    until,
  );
  try {
    for await (const batch of after === until ? [] : log.readAll({ after, prefixes, batchSize })) {
      const whole = cutAt(batch, until);
      for (const { events, position } of partsOf(whole, part)) {
        const incoming = events.map((event) => new IncomingEvent(event));
        for (const projector of projectors)
          if (projector.checkpoint < position) await projector.apply(incoming, directory, position);
        // Also of those that the batch does not concern: whoever is killed continues from the lowest checkpoint.
        await flushAll(projectors);
        await onBatch(events.length, position);
      }
      if (whole.position === until) break;
    }
    for (const projector of projectors) projector.advance(until);
  } finally {
    await flushAll(projectors);
  }
}

/** Applies the events that a generation lacks up to `until`, in the same way as the live generations are updated. */
export async function catchUp(
  log: EventLog,
  projector: GenerationProjector,
  until: Position,
  onBatch: OnBatch = () => Promise.resolve(),
): Promise<void> {
  if (projector.checkpoint >= until) return;
  const group = await ProjectionGroup.open(log, [projector]);
  try {
    for await (const batch of log.readAll({ after: group.position, prefixes: group.prefixes })) {
      const part = cutAt(batch, until);
      await group.apply(part);
      await group.flush();
      await onBatch(part.events.length, part.position);
      if (part.position === until) return;
    }
  } finally {
    await group.flush();
  }
}

/** A batch in parts of at most so many events, which is asked before each. */
function* partsOf(
  { events, position }: EventBatch,
  part: () => number,
): Generator<Pick<EventBatch, 'events' | 'position'>> {
  let at = 0;
  do {
    const some = events.slice(at, at + part());
    at += some.length;
    yield { events: some, position: at < events.length ? (some.at(-1)?.position ?? position) : position };
  } while (at < events.length);
}

function cutAt(batch: EventBatch, until: Position): EventBatch {
  if (batch.position <= until) return batch;
  return { ...batch, events: batch.events.filter(({ position }) => position <= until), position: until };
}
