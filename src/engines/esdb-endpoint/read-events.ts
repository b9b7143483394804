import { type RecordedEvent, START } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { type Sieve } from './filter';
import { type ReadEvent } from './messages';
import { storedName } from './names';
import { Refusal } from './refusal';
import { type ShownEvent, toShown } from './stored-event';
import { lastOf, type StreamState, stateOf } from './stream-state';

/** Which events of a stream are still to be seen. */
interface Window {
  readonly first: number;
  readonly last: number;
  /** Events created before this are gone (ms since 1970). */
  readonly oldest: number;
}

/** A part of a stream that is asked for. */
export interface StreamPart {
  /** First revision to be read; undefined for the stream's end. */
  readonly from: number | undefined;
  readonly backwards: boolean;
  readonly count: number;
}

/** Most events taken from the log at a time: while it is read, the thread does nothing else. */
export const BATCH = 250;

/** The events of a stream that are still to be seen; undefined if there is no such stream. Raises `Refusal`. */
export async function readStream(
  log: EventLog,
  stream: string,
  { from, backwards, count }: StreamPart,
): Promise<AsyncIterable<readonly ShownEvent[]> | undefined> {
  const state = await stateOf(log, stream);
  if (state.tombstoned) throw new Refusal({ kind: 'stream-deleted', stream });
  const last = await lastOf(log, stream);
  if (last === undefined || state.deleted) return undefined;
  const window = windowOf(state, last);
  const start = backwards
    ? Math.min(from ?? window.last, window.last)
    : Math.max(from ?? window.last + 1, window.first);
  const batchSize = Math.min(BATCH, count);
  const batches = log.readStream(storedName(stream), { from: start, backwards, batchSize });
  return atMost(count, seenOf(batches, window));
}

/** All events of the log before a position that pass, the last one first; undefined for the log's end. */
export async function* readAllBackwards(
  log: EventLog,
  before: string | undefined,
  sieve: Sieve,
  batchSize: number,
): AsyncGenerator<readonly ShownEvent[]> {
  for await (const batch of log.readAllBackwards({ batchSize, ...(before !== undefined && { before }) }))
    yield sieve.passing(batch.map(toShown));
}

/** All events of the log that pass, from that at a position on; at the log's end there is none. */
export async function* readAllForwards(
  log: EventLog,
  position: string | undefined,
  sieve: Sieve,
  batchSize: number,
): AsyncGenerator<readonly ShownEvent[]> {
  if (position === undefined) return;
  const after = await positionBefore(log, position);
  const { prefixes } = sieve;
  for await (const { events } of log.readAll({ after, batchSize, ...(prefixes && { prefixes }) }))
    yield sieve.passing(events.map(toShown));
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

/** What a client gets for an event when it asks for links to be followed: a link with the event it leads to. */
export async function resolved(log: EventLog, event: ShownEvent): Promise<ReadEvent> {
  if (event.type !== '$>') return { event, link: undefined };
  const [, revision, stream] = /^(\d+)@(.+)$/s.exec(Buffer.from(event.data).toString('utf8')) ?? [];
  const target = stream === undefined ? undefined : await eventAt(log, stream, Number(revision));
  return { event: target, link: event };
}

async function eventAt(log: EventLog, stream: string, revision: number): Promise<ShownEvent | undefined> {
  const state = await stateOf(log, stream);
  const last = await lastOf(log, stream);
  if (last === undefined || state.tombstoned) return undefined;
  const part = log.readStream(storedName(stream), { from: revision, limit: 1 });
  for await (const batch of seenOf(part, windowOf(state, last)))
    return batch.find((event) => event.revision === String(revision));
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

/** The position after which the event at this one is the first. */
async function positionBefore(log: EventLog, position: string): Promise<string> {
  for await (const [event] of log.readAllBackwards({ before: position, batchSize: 1 }))
    return event?.position ?? START;
  return START;
}
