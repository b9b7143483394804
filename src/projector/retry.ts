import { type RecordedEvent, START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { type GenerationProjector } from './generation-projector';
import { type Parked } from './parked';
import { IncomingEvent } from './projection';
import { type ProjectionGroup } from './projection-group';

/**
 * Retries the parked documents that are due: folds each from its first event up to the checkpoint. Those that fail
 * again stay parked. Call it between batches, when every projection is at the position of the group.
 */
export async function retryDue(log: EventLog, group: ProjectionGroup): Promise<void> {
  await group.forEach(async (projector) => {
    const due = projector.parked.takeDue(projector.checkpoint);
    if (due.length === 0) return;
    await projector.reproject(await eventsOf(log, projector, due), group.directory);
    await projector.parked.finishRetry(due, projector.checkpoint);
  });
}

/** All events so far of the parked documents, by document. */
async function eventsOf(
  log: EventLog,
  projector: GenerationProjector,
  due: readonly Parked[],
): Promise<ReadonlyMap<string, readonly IncomingEvent[]>> {
  const documents = new Set(due.flatMap(({ document }) => document ?? []));
  const withoutDocument = new Set(
    due.filter(({ document }) => document === undefined).map(({ position }) => position),
  );
  for await (const incoming of readStreams(log, projector, withoutDocument.size === 0 ? [] : due)) {
    if (!withoutDocument.has(incoming.event.position)) continue;
    const id = projector.documentIdOf(incoming);
    if (id !== undefined) documents.add(id);
  }
  const events = new Map<string, IncomingEvent[]>([...documents].map((id) => [id, []]));
  for await (const incoming of readStreams(log, projector, due)) {
    const id = projector.documentIdOf(incoming);
    if (id !== undefined) events.get(id)?.push(incoming);
  }
  return events;
}

async function* readStreams(
  log: EventLog,
  projector: GenerationProjector,
  due: readonly Parked[],
): AsyncIterable<IncomingEvent> {
  const { streams: prefixes, acrossStreams: isWhole = false } = projector.projection;
  const streams = new Set(due.map(({ stream }) => stream));
  if (streams.size === 0) return;
  for (const batches of isWhole
    ? [eventsOfAll(log, prefixes)]
    : Array.from(streams, (stream) => log.readStream(stream)))
    for await (const events of batches) {
      const reached = events.filter(({ position }) => position <= projector.checkpoint);
      for (const event of reached) if (projector.handles(event)) yield new IncomingEvent(event);
      if (reached.length < events.length) break;
    }
}

async function* eventsOfAll(
  log: EventLog,
  prefixes: readonly string[],
): AsyncGenerator<readonly RecordedEvent[]> {
  for await (const { events } of log.readAll({ after: START, prefixes })) yield events;
}
