import { eventsOf, lastEvent, toDomainEvent, toNewEvent } from '../../kernel/decider';
import { type NewEvent, NO_STREAM, type Position, type RecordedEvent, START } from '../../kernel/event';
import { type EventLog, RevisionConflict } from '../../kernel/event-log';
import { defined } from '../../kernel/values';
import { type MatcherCursor, MATCHED, type MatchedEvent } from '../../domain/deliveries/delivery-events';
import { type Clock } from '../../runtime/clock';

/**
 * A mark in the domain log: everything before it is matched, except what was appended at the same moment. It counts
 * where there is no delivery log, since that was lost or the log was copied: otherwise all messages of all time would
 * be sent again. Its position is its own, since a copy has others.
 *
 * The name and shape of the event are the storage format: add, never rename.
 */
export interface DeliveriesMatched {
  readonly type: 'DeliveriesMatched';
  readonly data: { readonly at: string };
}

const STREAM = 'deliveries-matched';

/** Where matching continues. */
export interface Continuation {
  readonly cursor: MatcherCursor;
  /** The last revision of `matched`. */
  readonly revision: number;
  /** The revision of the last cursor without `messages`. */
  readonly complete: number;
  /** Ids of what was appended after it. */
  readonly made: ReadonlySet<string>;
}

/** From the last cursor; without a delivery log from the last mark, or the start of the log. */
export async function continuationOf(deliveries: EventLog, log: EventLog): Promise<Continuation> {
  let [revision, cursor] = [NO_STREAM, undefined as MatcherCursor | undefined];
  const made = new Set<string>();
  for await (const event of eventsOf(deliveries, MATCHED, { backwards: true, batchSize: 10 })) {
    revision = Math.max(revision, event.revision);
    const found = cursorIn(event);
    if (found === undefined) made.add(event.id);
    cursor ??= found;
    if (cursor !== undefined && found?.messages === 0)
      return { cursor, revision, complete: event.revision, made };
  }
  cursor ??= { upTo: (await lastMark(log)).position, messages: 0 };
  return { cursor, revision, complete: NO_STREAM, made };
}

/** The greatest position of the log that a delivery log knows of; undefined if it has no cursor. */
export async function matchedUpTo(deliveries: EventLog): Promise<Position | undefined> {
  for await (const event of eventsOf(deliveries, MATCHED, { backwards: true, batchSize: 10 })) {
    const cursor = cursorIn(event);
    if (cursor === undefined) continue;
    const { upTo, event: begun = upTo } = cursor;
    return begun > upTo ? begun : upTo;
  }
  return undefined;
}

/** What was appended to `matched` after a revision, up to a cursor. */
export interface MatchedRange {
  readonly after: number;
  /** Of the cursor. */
  readonly upTo: Position;
  readonly ids: readonly string[];
}

/** What was appended after a revision, up to the first cursor that has passed a position, or to the last one. */
export async function rangeOf(
  deliveries: EventLog,
  after: number,
  position: Position,
): Promise<MatchedRange> {
  const ids: string[] = [];
  let upTo = START;
  for await (const event of eventsOf(deliveries, MATCHED, { from: after + 1, batchSize: 100 })) {
    const cursor = cursorIn(event);
    if (cursor === undefined) ids.push(event.id);
    else upTo = cursor.upTo;
    if (upTo >= position) return { after, upTo, ids };
  }
  return { after, upTo, ids };
}

function cursorIn(event: RecordedEvent): MatcherCursor | undefined {
  const { type, data } = toDomainEvent(event) as MatchedEvent;
  return type === 'Matched' && isCursor(data) ? data : undefined;
}

/** False for one that another program has written: the one before it counts. */
function isCursor(cursor: Partial<Record<keyof MatcherCursor, unknown>>): boolean {
  const { upTo, messages, event = upTo } = cursor;
  const isPosition = (value: unknown): boolean =>
    typeof value === 'string' && value.length === START.length && /^\d+$/.test(value);
  return isPosition(upTo) && isPosition(event) && Number.isInteger(messages);
}

/** How long what is matched is not marked again (ms). */
const MARK_MS = 24 * 60 * 60 * 1000;

/** Marks daily what is matched, if anything was. */
export class DailyMark {
  private last: Mark | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly log: EventLog,
  ) {}

  /** Call when everything is matched. `now`: epoch ms; `upTo`: the cursor of the last append. */
  async setIfDue(now: number, upTo: Position): Promise<void> {
    const { at, position, revision } = (this.last ??= await lastMark(this.log));
    if (at + MARK_MS > now || upTo <= position) return;
    try {
      const mark = markAt(new Date(now), this.clock.uuid());
      this.last = { at: now, ...(await this.log.append(STREAM, revision, [mark])) };
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
      // Another process has marked it.
      this.last = undefined;
    }
  }
}

/** If there is no delivery log: what has happened before now counts as matched. */
export async function continueFromHere(clock: Clock, deliveries: EventLog, log: EventLog): Promise<void> {
  const { revision } = await continuationOf(deliveries, log);
  if (revision !== NO_STREAM) return;
  await log.append(STREAM, (await lastMark(log)).revision, [markAt(clock.now(), clock.uuid())]);
}

function markAt(time: Date, id: string): NewEvent {
  const mark: DeliveriesMatched = { type: 'DeliveriesMatched', data: { at: time.toISOString() } };
  return toNewEvent(mark, id);
}

interface Mark {
  /** Epoch ms. */
  readonly at: number;
  readonly position: Position;
  readonly revision: number;
}

/**
 * Between which positions the events of a period are (epoch ms): after the last mark before it, `START` without one,
 * and up to the second mark behind it. Of one mark alone the clock may have been ahead, of two a day apart it was not.
 */
export async function marksAround(
  log: EventLog,
  min: number,
  max: number,
): Promise<{ readonly after: Position; readonly upTo?: Position }> {
  const later: Position[] = [];
  let after = START;
  for await (const event of eventsOf(log, STREAM, { backwards: true, batchSize: 50 })) {
    const { data } = toDomainEvent(event) as DeliveriesMatched;
    const at = Date.parse(data.at);
    if (at > max) later.push(event.position);
    if (at >= min) continue;
    after = event.position;
    break;
  }
  return { after, ...defined({ upTo: later.at(-2) }) };
}

async function lastMark(log: EventLog): Promise<Mark> {
  const last = await lastEvent(log, STREAM);
  if (last === undefined) return { at: -Infinity, position: START, revision: NO_STREAM };
  const { data } = toDomainEvent(last) as DeliveriesMatched;
  return { at: Date.parse(data.at), position: last.position, revision: last.revision };
}
