import { randomUUID } from 'node:crypto';
import { type ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb';
import { type ServerWritableStream } from '@grpc/grpc-js';
import { NO_STREAM, type Position, type RecordedEvent, START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { AllSubscription, LIVE, type SubscriptionPart } from './all-subscription';
import { metastreamOf, storedName } from './client-values';
import { EventFilter } from './event-filter';
import { checkpointMessage, eventMessage, notFoundMessage, type ReadEvent } from './messages';
import { type Pace, PAGE, type ReadOptions, readOptions, type Start } from './read-options';
import { failing, invalid, streamDeleted } from './refusal';
import { type ClientEvent, toClientEvent, TOMBSTONE } from './stored-event';
import { lastOf, stateOf, type StreamState } from './stream-state';

/**
 * Answers a `Read` call with backpressure, until the client disconnects or `signal` ends it. Raises `Refusal`,
 * `EngineUnavailable`.
 */
export async function answerRead(
  log: EventLog,
  call: ServerWritableStream<ReadReq, ReadResp>,
  signal: AbortSignal,
): Promise<void> {
  const options = readOptions(call.request);
  const writer = new CallWriter(call, signal);
  if (options.count === undefined) await sendFollowed(log, writer, options);
  else await sendRead(log, writer, options, options.count);
}

async function sendRead(
  log: EventLog,
  writer: CallWriter<ReadResp>,
  options: ReadOptions,
  count: number,
): Promise<void> {
  const { from, backwards, filter } = options;
  if (from.stream !== undefined) {
    await sendStream(log, writer, options, { ...from, count });
    return;
  }
  const readAll = backwards ? readAllBackwards : readAllForwards;
  const batchSize = filter === undefined ? Math.min(BATCH, Math.max(1, count)) : BATCH;
  const batches = atMost(count, readAll(log, from.position, new EventFilter(filter), batchSize));
  await sendBatches(log, writer, batches, options);
}

async function sendStream(
  log: EventLog,
  writer: CallWriter<ReadResp>,
  options: ReadOptions,
  { stream, revision, count }: { stream: string; revision: number | undefined; count: number },
): Promise<void> {
  const { backwards, compatibility } = options;
  // EventStoreDB refuses this, though it allows it for all streams.
  if (revision === undefined && !backwards) throw failing('A stream cannot be read forwards from its end');
  const read = await readStream(log, stream, { from: revision, backwards, count });
  if (read === undefined) return writer.send(notFoundMessage(stream));
  const { first, last } = read;
  const from = revision ?? last;
  // A page before the first event or after the last one is empty.
  const next = from + Math.min(PAGE, count) <= first ? first : last + 1;
  const isEmpty = next === first || Math.max(from, first) > last;
  if (compatibility >= 1 && !backwards && isEmpty && from !== next)
    await writer.send(new ReadResp().setFirstStreamPosition(String(next)));
  await sendBatches(log, writer, read.events, options);
  if (compatibility >= 1) await writer.send(new ReadResp().setLastStreamPosition(String(last)));
}

async function sendBatches(
  log: EventLog,
  writer: CallWriter<ReadResp>,
  batches: AsyncIterable<readonly ClientEvent[]>,
  options: ReadOptions,
): Promise<void> {
  for await (const events of batches) {
    await sendEvents(log, writer, events, options);
    if (writer.signal.aborted) return;
  }
}

async function sendFollowed(
  log: EventLog,
  writer: CallWriter<ReadResp>,
  options: ReadOptions,
): Promise<void> {
  const confirmation = new ReadResp.SubscriptionConfirmation().setSubscriptionId(randomUUID());
  await writer.send(new ReadResp().setConfirmation(confirmation));
  for await (const { events, checkpoint, caughtUp } of follow(log, options, writer.signal)) {
    await sendEvents(log, writer, events, options);
    if (checkpoint !== undefined) await writer.send(checkpointMessage(checkpoint));
    if (caughtUp === true) await writer.send(new ReadResp().setCaughtUp(new ReadResp.CaughtUp()));
  }
}

async function sendEvents(
  log: EventLog,
  writer: CallWriter<ReadResp>,
  events: readonly ClientEvent[],
  { resolveLinks, ids }: ReadOptions,
): Promise<void> {
  for (const event of events) {
    if (writer.signal.aborted) return;
    const found = resolveLinks ? await resolveLink(log, event) : { event, link: undefined };
    // Awaiting every event would halve the throughput.
    const sent = writer.send(eventMessage(found, ids));
    if (sent !== undefined) await sent;
  }
}

/** Existing events, then new ones. */
function follow(
  log: EventLog,
  { from, filter, pace }: ReadOptions,
  signal: AbortSignal,
): AsyncIterable<SubscriptionPart> {
  if (from.stream !== undefined) return followStream(log, from.stream, from.revision, signal);
  return followAll(log, from, new EventFilter(filter), filter && pace, signal);
}

/** The writable side of a call. */
interface Sink<Message> {
  readonly cancelled: boolean;
  write(message: Message): boolean;
  on(event: 'drain' | 'cancelled' | 'close' | 'error', listener: () => void): unknown;
}

/** Writes messages to a call, with backpressure. */
export class CallWriter<Message> {
  readonly #abort = new AbortController();
  #full: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  /** `signal` ends the call, and so does a client that disconnects. */
  constructor(
    private readonly call: Sink<Message>,
    signal: AbortSignal,
  ) {
    const end = (): void => {
      this.#abort.abort();
      this.#resume();
    };
    signal.addEventListener('abort', end, { once: true });
    // One listener for the whole call: adding one per wait halves the throughput.
    call.on('drain', () => this.#resume());
    for (const event of ['cancelled', 'close', 'error'] as const)
      call.on(event, () => {
        signal.removeEventListener('abort', end);
        end();
      });
    if (signal.aborted || call.cancelled) end();
  }

  /** Aborted once the call has ended. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Sends a message. Returns a promise if the next message must wait for it. */
  send(message: Message): Promise<void> | undefined {
    if (this.signal.aborted || this.call.write(message)) return undefined;
    this.#full ??= pending();
    return this.#full.promise;
  }

  #resume(): void {
    const full = this.#full;
    this.#full = undefined;
    full?.resolve();
  }
}

function pending(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}

/** All matching events after a position, then new ones. Raises `Refusal` if there is no event at the position. */
async function* followAll(
  log: EventLog,
  { position, inclusive }: Start,
  eventFilter: EventFilter,
  pace: Pace | undefined,
  signal: AbortSignal,
): AsyncGenerator<SubscriptionPart> {
  const head = await log.head();
  const from = position ?? head;
  const subscription = new AllSubscription(eventFilter, pace, head);
  let after = from;
  if (from >= head) yield subscription.goLive(from);
  else if (from === START) subscription.catchUp();
  else {
    const { event, before } = await eventAt(log, from);
    if (event === undefined) throw invalid('Trying to read from an invalid position.');
    subscription.catchUpFrom(event, inclusive);
    if (inclusive) after = before;
  }
  for await (const batch of log.subscribe({ after, batchSize: BATCH, signal })) {
    yield* subscription.push(batch.events);
    if (batch.caughtUp && !subscription.live) yield* subscription.endOfLog();
  }
}

/**
 * The events of a stream from a revision, then new ones, until the stream is tombstoned: delivers the tombstone as the
 * last event, then raises `Refusal`.
 */
async function* followStream(
  log: EventLog,
  stream: string,
  from: number | undefined,
  signal: AbortSignal,
): AsyncGenerator<SubscriptionPart> {
  const head = await log.head();
  let next = from ?? ((await lastOf(log, stream))?.revision ?? NO_STREAM) + 1;
  const history = await readStream(log, stream, { from: next, backwards: false, count: Infinity });
  for await (const events of history?.events ?? []) {
    yield { events };
    next = Number(events.at(-1)?.revision ?? next - 1) + 1;
  }
  let live = false;
  const own = storedName(stream);
  const metastream = storedName(metastreamOf(stream));
  const tombstone = storedName(TOMBSTONE);
  const prefixes = [own, metastream];
  for await (const batch of log.subscribe({ after: head, prefixes, batchSize: BATCH, signal })) {
    const fresh = batch.events.filter(({ stream: name, revision }) => name === own && revision >= next);
    // More than the queue of a live subscriber holds: it falls behind and catches up again.
    if (fresh.length > LIVE) live = false;
    yield { events: fresh.map(toClientEvent), caughtUp: batch.caughtUp && !live };
    live ||= batch.caughtUp;
    const end = batch.events.find((event) => event.stream === metastream && event.type === tombstone);
    if (end !== undefined) {
      yield { events: [toClientEvent(end)] };
      throw streamDeleted(stream);
    }
  }
}

/** Which events of a stream are visible. */
interface VisibleRange {
  readonly first: number;
  readonly last: number;
  /** Events created earlier are not visible (ms since 1970). */
  readonly oldest: number;
}

/** The part of a stream to read. */
interface StreamPart {
  /** First revision to read; undefined for the stream's end. */
  readonly from: number | undefined;
  readonly backwards: boolean;
  readonly count: number;
}

/** Maximum events per read of the log, which blocks the thread. */
const BATCH = 250;

/** A part of a stream, with the bounds of the whole stream. */
interface StreamRead {
  readonly events: AsyncIterable<readonly ClientEvent[]>;
  /** Revision of the first visible event. */
  readonly first: number;
  readonly last: number;
}

/** The visible events of a stream; undefined if the stream does not exist. Raises `Refusal`. */
async function readStream(
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
 * All matching events before a position, newest first; undefined for the end of the log. Raises `Refusal` if there is
 * no event at the position.
 */
async function* readAllBackwards(
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
 * All matching events from a position on; undefined, the end of the log, gives none. Raises `Refusal` if there is no
 * event at the position, unless it is beyond the end.
 */
async function* readAllForwards(
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
async function eventAt(
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
async function* atMost(
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
 * Resolves a link to the event it refers to. Any other event is returned as it is, and so is a link whose data does not
 * start with a number.
 */
async function resolveLink(log: EventLog, event: ClientEvent): Promise<ReadEvent> {
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
