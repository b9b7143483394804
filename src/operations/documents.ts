import { type Position, positionOf, type RecordedEvent, numberOf } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { NoGeneration, type ReadStore } from '../kernel/read-store';
import { IncomingEvent, type Projection } from '../projector/projection';
import { UsageError } from './command-error';
import { maskedReceivers, positionIn } from './log-events';
import { PROJECTED, projectionsNamed } from './rebuild';

/** A document of a live read model. */
export interface ShownDocument {
  readonly readModel: string;
  readonly id: string;
  /** Absent: there is none, or it was removed. */
  readonly document?: object;
}

/** The documents that the event at a position is folded into, as they are now (`docs/decisions.md#x132`). Raises `UsageError`. */
export async function documentsOfEvent(
  log: EventLog,
  store: ReadStore,
  sent: string,
): Promise<readonly ShownDocument[]> {
  const event = await eventAtPosition(log, positionIn('position', sent));
  if (event === undefined) throw new UsageError(`position=${sent}: expected the position of an event`);
  const found: ShownDocument[] = [];
  for (const projection of PROJECTED[0]?.projections ?? []) {
    const id = idIn(projection, event);
    if (id !== undefined) found.push(await documentIn(store, projection.collection.name, id));
  }
  return found;
}

/** A document by the name of its read model and its id. Raises `UsageError`. */
export async function documentNamed(store: ReadStore, name: string, id: string): Promise<ShownDocument> {
  const [projection, ...others] = projectionsNamed(name);
  if (projection === undefined || others.length > 0)
    throw new UsageError(`readModel=${name.slice(0, 100)}: expected the name of one read model`);
  return await documentIn(store, projection.collection.name, id);
}

async function eventAtPosition(log: EventLog, position: Position): Promise<RecordedEvent | undefined> {
  const after = positionOf(Math.max(0, numberOf(position) - 1));
  for await (const { events } of log.readAll({ after, batchSize: 1 }))
    for (const event of events) return event.position === position ? event : undefined;
  return undefined;
}

/** Undefined if the read model does not have it, or cannot use it: another program may have written it. */
function idIn(projection: Projection, event: RecordedEvent): string | undefined {
  const { streams, handles } = projection;
  if (!handles.includes(event.type) || !streams.some((prefix) => event.stream.startsWith(prefix)))
    return undefined;
  try {
    return projection.idOf(new IncomingEvent(event).parse());
  } catch {
    return undefined;
  }
}

async function documentIn(store: ReadStore, readModel: string, id: string): Promise<ShownDocument> {
  const [found] = await store.get({ collection: readModel }, [id]).catch((error: unknown) => {
    if (error instanceof NoGeneration) return [];
    throw error;
  });
  if (found === undefined) return { readModel, id };
  return { readModel, id, document: JSON.parse(found.body, withoutSecrets) as object };
}

/** Addresses and bodies of receivers, as in histories. */
function withoutSecrets(name: string, value: unknown): unknown {
  return name === 'receivers' && Array.isArray(value) ? maskedReceivers(value as readonly object[]) : value;
}
