import { toDomainEvent, toNewEvent } from '../../kernel/decider';
import { type NewEvent, NO_STREAM, type Position, START } from '../../kernel/event';
import { type EventLog, RevisionConflict } from '../../kernel/event-log';
import { type Cursor, MATCHED, type MatchedEvent } from '../../domain/deliveries/delivery-events';

/**
 * A mark in the domain log: everything before it is matched, except what was appended at the same moment. It counts where there
 * is no delivery log, since that was lost or the log was copied: otherwise all messages of all time would be sent again. Its
 * position is its own, since a copy has others.
 *
 * The name and shape of the event are the storage format: add, never rename.
 */
export interface DeliveriesMatched {
  readonly type: 'DeliveriesMatched';
  readonly data: { readonly at: string };
}

const STREAM = 'deliveries-matched';

/** Where matching continues, and the revision of `matched` there. */
export interface Continuation {
  readonly cursor: Cursor;
  readonly revision: number;
}

/** The last cursor; without a delivery log the position of the last mark, or the start of the log. */
export async function continuationOf(deliveries: EventLog, log: EventLog): Promise<Continuation> {
  let revision = NO_STREAM;
  for await (const batch of deliveries.readStream(MATCHED, { backwards: true, batchSize: 10 })) {
    for (const event of batch) {
      revision = Math.max(revision, event.revision);
      const { type, data } = toDomainEvent(event) as MatchedEvent;
      if (type === 'Matched' && isCursor(data)) return { cursor: data, revision };
    }
  }
  const { position } = await lastMark(log);
  return { cursor: { upTo: position, messages: 0 }, revision };
}

/** False for one that another program has written: the one before it counts. */
function isCursor({ upTo, messages }: Partial<Record<keyof Cursor, unknown>>): boolean {
  const isPosition = typeof upTo === 'string' && upTo.length === START.length && /^\d+$/.test(upTo);
  return isPosition && Number.isInteger(messages);
}

/** How long what is matched is not marked again (ms). */
const MARK_MS = 24 * 60 * 60 * 1000;

/** Marks daily what is matched, if anything was. */
export class DailyMark {
  private last: Mark | undefined;

  constructor(private readonly log: EventLog) {}

  /** Call when everything is matched. `now`: epoch ms; `upTo`: the cursor of the last append. */
  async setIfDue(now: number, upTo: Position): Promise<void> {
    const { at, position, revision } = (this.last ??= await lastMark(this.log));
    if (at + MARK_MS > now || upTo <= position) return;
    try {
      this.last = { at: now, ...(await this.log.append(STREAM, revision, [markAt(new Date(now))])) };
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
      // Another process has marked it.
      this.last = undefined;
    }
  }
}

/** If there is no delivery log: what has happened before now counts as matched. */
export async function continueFromHere(deliveries: EventLog, log: EventLog, now: Date): Promise<void> {
  const { revision } = await continuationOf(deliveries, log);
  if (revision !== NO_STREAM) return;
  await log.append(STREAM, (await lastMark(log)).revision, [markAt(now)]);
}

function markAt(time: Date): NewEvent {
  return toNewEvent({
    type: 'DeliveriesMatched',
    data: { at: time.toISOString() },
  } satisfies DeliveriesMatched);
}

interface Mark {
  /** Epoch ms. */
  readonly at: number;
  readonly position: Position;
  readonly revision: number;
}

/** The position of the last mark before a time (epoch ms); `START` without one. */
export async function markBefore(log: EventLog, time: number): Promise<Position> {
  for await (const batch of log.readStream(STREAM, { backwards: true, batchSize: 50 }))
    for (const event of batch) {
      const { data } = toDomainEvent(event) as DeliveriesMatched;
      if (Date.parse(data.at) < time) return event.position;
    }
  return START;
}

async function lastMark(log: EventLog): Promise<Mark> {
  for await (const batch of log.readStream(STREAM, { backwards: true, limit: 1 })) {
    for (const event of batch) {
      const { data } = toDomainEvent(event) as DeliveriesMatched;
      return { at: Date.parse(data.at), position: event.position, revision: event.revision };
    }
  }
  return { at: -Infinity, position: START, revision: NO_STREAM };
}
