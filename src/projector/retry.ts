import { type EventLog } from '../kernel/event-log';
import { START } from '../kernel/event';
import { Arrival } from './arrival';
import { type GenerationFold } from './generation-fold';
import { type LogPass } from './log-pass';
import { type Parked } from './parked';

/**
 * Folds what is parked and due again, whole documents from their first events up to the checkpoint; what fails again
 * stays parked. To be done between batches, while every fold is where the pass is.
 */
export async function retryDue(log: EventLog, pass: LogPass): Promise<void> {
  await pass.each(async (fold) => {
    const due = fold.parked.takeDue(fold.checkpoint);
    if (due.length === 0) return;
    await fold.foldAgain(await eventsOf(log, fold, due), pass.directory);
    await fold.parked.settle(due, fold.checkpoint);
  });
}

/** All events so far of the documents parked. */
async function eventsOf(
  log: EventLog,
  fold: GenerationFold,
  due: readonly Parked[],
): Promise<ReadonlyMap<string, readonly Arrival[]>> {
  const documents = new Set(due.flatMap(({ document }) => document ?? []));
  const untold = new Set(
    due.filter(({ document }) => document === undefined).map(({ position }) => position),
  );
  for await (const arrival of arrivals(log, fold, untold.size === 0 ? [] : due)) {
    if (!untold.has(arrival.event.position)) continue;
    const id = fold.idOf(arrival);
    if (id !== undefined) documents.add(id);
  }
  const events = new Map<string, Arrival[]>([...documents].map((id) => [id, []]));
  for await (const arrival of arrivals(log, fold, due)) {
    const id = fold.idOf(arrival);
    if (id !== undefined) events.get(id)?.push(arrival);
  }
  return events;
}

async function* arrivals(
  log: EventLog,
  fold: GenerationFold,
  due: readonly Parked[],
): AsyncIterable<Arrival> {
  const streams = new Set(due.map(({ stream }) => stream));
  if (streams.size === 0) return;
  for await (const { events } of log.readAll({ after: START, prefixes: [...streams] })) {
    for (const event of events) {
      if (event.position > fold.checkpoint) return;
      if (streams.has(event.stream) && fold.handles(event)) yield new Arrival(event);
    }
  }
}
