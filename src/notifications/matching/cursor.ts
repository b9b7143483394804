import { toDomainEvent, toNewEvent } from '../../kernel/decider';
import { NO_STREAM, START } from '../../kernel/event';
import { type EventLog, RevisionConflict } from '../../kernel/event-log';
import { type Cursor, MATCHED, type MatchedEvent } from '../delivery-events';

/**
 * The cursor beside those in `matched`, which are deleted with the messages: a stream of the delivery log that is never deleted.
 *
 * The name and shape of its event are the storage format: add, never rename.
 */
export const CURSOR = 'cursor';

export interface CursorEvent {
  readonly type: 'CursorKept';
  readonly data: Cursor;
}

/** Where matching continues, and the revision of `matched` there. */
export interface Continuation {
  readonly cursor: Cursor;
  /** `NO_STREAM` too if all events have been deleted. */
  readonly revision: number;
}

/** Reads where matching continues: at the start of the log if nothing has been matched. */
export async function continuationOf(deliveries: EventLog): Promise<Continuation> {
  let revision = NO_STREAM;
  for await (const batch of deliveries.readStream(MATCHED, { backwards: true, batchSize: 10 })) {
    for (const event of batch) {
      revision = Math.max(revision, event.revision);
      const { type, data } = toDomainEvent(event) as MatchedEvent;
      if (type === 'Matched') return { cursor: data, revision };
    }
  }
  return { cursor: (await keptCursor(deliveries)).cursor, revision };
}

/** Keeps the cursor beyond the messages. Another matcher may do so at the same time: either is right. */
export async function keepCursor(deliveries: EventLog, cursor: Cursor): Promise<void> {
  const kept = await keptCursor(deliveries);
  if (kept.cursor.upTo >= cursor.upTo) return;
  const event: CursorEvent = { type: 'CursorKept', data: cursor };
  try {
    await deliveries.append(CURSOR, kept.revision, [toNewEvent(event)]);
  } catch (error) {
    if (!(error instanceof RevisionConflict)) throw error;
  }
}

async function keptCursor(deliveries: EventLog): Promise<Continuation> {
  for await (const batch of deliveries.readStream(CURSOR, { backwards: true, limit: 1 }))
    for (const event of batch)
      return { cursor: (toDomainEvent(event) as CursorEvent).data, revision: event.revision };
  return { cursor: { upTo: START, messages: 0 }, revision: NO_STREAM };
}
