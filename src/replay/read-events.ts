import { type Position, type RecordedEvent, START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { type EventFilter } from './event-filter';
import { type ReadEvent } from './messages';
import { storedName } from './client-values';
import { failing, streamDeleted } from './refusal';
import { type ClientEvent, toClientEvent } from './stored-event';
import { lastOf, type StreamState, stateOf } from './stream-state';

/** Which events of a stream are visible. */
interface VisibleRange {
  readonly first: number;
  readonly last: number;
  /** Events created earlier are not visible (ms since 1970). */
  readonly oldest: number;
}

/** The part of a stream to read. */
export interface StreamPart {
  /** First revision to read; undefined for the stream's end. */
  readonly from: number | undefined;
  readonly backwards: boolean;
  readonly count: number;
}

/** Maximum events per read of the log, which blocks the thread. */
export const BATCH = 250;

/** A part of a stream, with the bounds of the whole stream. */
export interface StreamRead {
  readonly events: AsyncIterable<readonly ClientEvent[]>;
  /** Revision of the first visible event. */
  readonly first: number;
  readonly last: number;
}

/** The visible events of a stream; undefined if the stream does not exist. Raises `Refusal`. */
export async function readStream(
  log: EventLog,
  stream: string,
  { from, backwards, count }: StreamPart,
): Promise<StreamRead | undefined> {
  const state = await stateOf(log, stream);
  if (state.tombstoned) throw streamDeleted(stream);
  const end = await lastOf(log, stream);
  if (end === undefined || state.deleted) return undefined;
  const range = rangeOf(state, end);
  const { first, last } = range;
  const start = backwards ? Math.min(from ?? last, last) : Math.max(from ?? last + 1, first);
  const batchSize = Math.min(BATCH, count);
  const batches = log.readStream(storedName(stream), { from: start, backwards, batchSize });
  return { events: atMost(count, visibleIn(batches, range)), first, last };
}

/**
 * All matching events before a position, newest first; undefined for the end of the log. Raises `Refusal` if there is no event at
 * the position.
 */
export async function* readAllBackwards(
  log: EventLog,
  before: Position | undefined,
  eventFilter: EventFilter,
  batchSize: number,
): AsyncGenerator<readonly ClientEvent[]> {
  if (before !== undefined && before !== START && (await eventAt(log, before)).event === undefined)
    throw failing(INVALID_POSITION);
  for await (const batch of log.readAllBackwards({ batchSize, ...(before !== undefined && { before }) }))
    yield eventFilter.selected(batch).map(toClientEvent);
}

/**
 * All matching events from a position on; undefined, the end of the log, gives none. Raises `Refusal` if there is no event at the
 * position, unless it is beyond the end.
 */
export async function* readAllForwards(
  log: EventLog,
  position: Position | undefined,
  eventFilter: EventFilter,
  batchSize: number,
): AsyncGenerator<readonly ClientEvent[]> {
  if (position === undefined) return;
  let after = START;
  if (position !== START) {
    const { event, before } = await eventAt(log, position);
    if (event === undefined && (await log.head()) > position) throw failing(INVALID_POSITION);
    after = before;
  }
  const { prefixes } = eventFilter;
  for await (const { events } of log.readAll({ after, batchSize, ...(prefixes && { prefixes }) }))
    yield eventFilter.selected(events).map(toClientEvent);
}

/** The event at a position, if there is one, and the position of the previous event. */
export async function eventAt(
  log: EventLog,
  position: Position,
): Promise<{ readonly event: RecordedEvent | undefined; readonly before: Position }> {
  const before = await positionBefore(log, position);
  for await (const { events } of log.readAll({ after: before, batchSize: 1 })) {
    const [event] = events;
    if (event !== undefined) return { event: event.position === position ? event : undefined, before };
  }
  return { event: undefined, before };
}

/** The first `count` events. */
export async function* atMost(
  count: number,
  batches: AsyncIterable<readonly ClientEvent[]>,
): AsyncGenerator<readonly ClientEvent[]> {
  let left = count;
  if (left === 0) return;
  for await (const batch of batches) {
    yield batch.slice(0, left);
    left -= batch.length;
    if (left <= 0) return;
  }
}

/**
 * Resolves a link to the event it refers to. Any other event is returned as it is, and so is a link whose data does not start
 * with a number.
 */
export async function resolveLink(log: EventLog, event: ClientEvent): Promise<ReadEvent> {
  if (event.type !== '$>') return { event, link: undefined };
  const [, revision, stream = ''] = LINK.exec(Buffer.from(event.data).toString('utf8')) ?? [];
  if (revision === undefined) return { event, link: undefined };
  const target = stream === '' ? undefined : await visibleEvent(log, stream, Number(revision));
  return { event: target, link: event };
}

const LINK = /^\s*([+-]?\d+)\s*(?:@(.*))?$/s;

async function visibleEvent(
  log: EventLog,
  stream: string,
  revision: number,
): Promise<ClientEvent | undefined> {
  const state = await stateOf(log, stream);
  const last = await lastOf(log, stream);
  if (last === undefined || state.tombstoned) return undefined;
  // EventStoreDB interprets -1 as the last event.
  const from = revision === -1 ? last.revision : revision;
  if (from < 0) return undefined;
  const part = log.readStream(storedName(stream), { from, limit: 1 });
  for await (const batch of visibleIn(part, rangeOf(state, last)))
    return batch.find((event) => event.revision === String(from));
  return undefined;
}

async function* visibleIn(
  batches: AsyncIterable<readonly RecordedEvent[]>,
  { first, last, oldest }: VisibleRange,
): AsyncGenerator<readonly ClientEvent[]> {
  for await (const batch of batches) {
    const inside = batch.filter(({ revision }) => revision >= first && revision <= last);
    yield inside.map(toClientEvent).filter(({ created = Infinity }) => created >= oldest);
    if (inside.length < batch.length) return;
  }
}

function rangeOf({ retention }: StreamState, { revision: last }: RecordedEvent): VisibleRange {
  const first = Math.max(retention.truncateBefore, last - retention.maxCount + 1, 0);
  return { first, last, oldest: Date.now() - retention.maxAge };
}

/** The position of the last event before `position`. */
async function positionBefore(log: EventLog, position: Position): Promise<Position> {
  for await (const [event] of log.readAllBackwards({ before: position, batchSize: 1 }))
    return event?.position ?? START;
  return START;
}

const INVALID_POSITION = 'Unexpected result: the position is not that of an event in the log';
