import { type Position, type RecordedEvent, START } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { type Sieve } from './filter';
import { type ReadEvent } from './messages';
import { storedName } from './names';
import { failing, streamDeleted } from './refusal';
import { type ShownEvent, toShown } from './stored-event';
import { lastOf, type StreamState, stateOf } from './stream-state';

/** Which events of a stream are still visible. */
interface Window {
  readonly first: number;
  readonly last: number;
  /** Events created before this are invisible (ms since 1970). */
  readonly oldest: number;
}

/** The part of a stream to read. */
export interface StreamPart {
  /** First revision to read; undefined for the stream's end. */
  readonly from: number | undefined;
  readonly backwards: boolean;
  readonly count: number;
}

/** Most events read from the log at a time: reading blocks the thread. */
export const BATCH = 250;

/** A part of a stream, and where the stream begins and ends. */
export interface StreamRead {
  readonly events: AsyncIterable<readonly ShownEvent[]>;
  /** Revision of the first event that is still visible. */
  readonly first: number;
  readonly last: number;
}

/** The events of a stream that are still visible; undefined if there is no such stream. Raises `Refusal`. */
export async function readStream(
  log: EventLog,
  stream: string,
  { from, backwards, count }: StreamPart,
): Promise<StreamRead | undefined> {
  const state = await stateOf(log, stream);
  if (state.tombstoned) throw streamDeleted(stream);
  const end = await lastOf(log, stream);
  if (end === undefined || state.deleted) return undefined;
  const window = windowOf(state, end);
  const { first, last } = window;
  const start = backwards ? Math.min(from ?? last, last) : Math.max(from ?? last + 1, first);
  const batchSize = Math.min(BATCH, count);
  const batches = log.readStream(storedName(stream), { from: start, backwards, batchSize });
  return { events: atMost(count, seenOf(batches, window)), first, last };
}

/**
 * All events of the log before a position that pass, the last one first; undefined for the log's end. Raises
 * `Refusal` if no event is at the position.
 */
export async function* readAllBackwards(
  log: EventLog,
  before: Position | undefined,
  sieve: Sieve,
  batchSize: number,
): AsyncGenerator<readonly ShownEvent[]> {
  if (before !== undefined && before !== START && (await eventAt(log, before)).event === undefined)
    throw failing(INVALID_POSITION);
  for await (const batch of log.readAllBackwards({ batchSize, ...(before !== undefined && { before }) }))
    yield sieve.passing(batch).map(toShown);
}

/**
 * All events of the log that pass, from that at a position on; at the log's end there is none. Raises `Refusal` if
 * no event is at the position, unless it is beyond the end.
 */
export async function* readAllForwards(
  log: EventLog,
  position: Position | undefined,
  sieve: Sieve,
  batchSize: number,
): AsyncGenerator<readonly ShownEvent[]> {
  if (position === undefined) return;
  let after = START;
  if (position !== START) {
    const { event, before } = await eventAt(log, position);
    if (event === undefined && (await log.head()) > position) throw failing(INVALID_POSITION);
    after = before;
  }
  const { prefixes } = sieve;
  for await (const { events } of log.readAll({ after, batchSize, ...(prefixes && { prefixes }) }))
    yield sieve.passing(events).map(toShown);
}

/** The event at a position, if there is one, and the position of the event before it. */
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

/** The first so many events. */
export async function* atMost(
  count: number,
  batches: AsyncIterable<readonly ShownEvent[]>,
): AsyncGenerator<readonly ShownEvent[]> {
  let left = count;
  if (left === 0) return;
  for await (const batch of batches) {
    yield batch.slice(0, left);
    left -= batch.length;
    if (left <= 0) return;
  }
}

/**
 * What a client gets for an event when it asks for links to be followed: a link with the event it leads to. One that
 * does not begin with a number is no link.
 */
export async function resolved(log: EventLog, event: ShownEvent): Promise<ReadEvent> {
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
): Promise<ShownEvent | undefined> {
  const state = await stateOf(log, stream);
  const last = await lastOf(log, stream);
  if (last === undefined || state.tombstoned) return undefined;
  // EventStoreDB reads -1 as the last event.
  const from = revision === -1 ? last.revision : revision;
  if (from < 0) return undefined;
  const part = log.readStream(storedName(stream), { from, limit: 1 });
  for await (const batch of seenOf(part, windowOf(state, last)))
    return batch.find((event) => event.revision === String(from));
  return undefined;
}

async function* seenOf(
  batches: AsyncIterable<readonly RecordedEvent[]>,
  { first, last, oldest }: Window,
): AsyncGenerator<readonly ShownEvent[]> {
  for await (const batch of batches) {
    const inside = batch.filter(({ revision }) => revision >= first && revision <= last);
    yield inside.map(toShown).filter(({ created = Infinity }) => created >= oldest);
    if (inside.length < batch.length) return;
  }
}

function windowOf({ retention }: StreamState, { revision: last }: RecordedEvent): Window {
  const first = Math.max(retention.truncateBefore, last - retention.maxCount + 1, 0);
  return { first, last, oldest: Date.now() - retention.maxAge };
}

/** The position of the last event before one. */
async function positionBefore(log: EventLog, position: Position): Promise<Position> {
  for await (const [event] of log.readAllBackwards({ before: position, batchSize: 1 }))
    return event?.position ?? START;
  return START;
}

const INVALID_POSITION = 'Unexpected result: the position is not that of an event in the log';
