import { randomUUID } from 'node:crypto';
import { type ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb';
import { type ServerWritableStream } from '@grpc/grpc-js';
import { type Position, type RecordedEvent, START } from '../kernel/event';
import { AllSubscription, LIVE, type SubscriptionPart } from './all-subscription';
import {
  BATCH,
  checkpointMessage,
  type ClientEvent,
  eventMessage,
  failing,
  invalid,
  notFoundMessage,
} from './client-values';
import { type ClientLog } from './client-log';
import {
  type ClientReadOptions,
  EventFilter,
  type ReadPace,
  PAGE,
  readOptions,
  type Start,
} from './read-options';

/** Answers a `Read` call with backpressure, until it is ended. Raises `Refusal`, `EngineUnavailable`. */
export async function answerRead(
  view: ClientLog,
  call: ServerWritableStream<ReadReq, ReadResp>,
  signal: AbortSignal,
): Promise<void> {
  const options = readOptions(call.request);
  const writer = new CallWriter(call, signal);
  if (options.count === undefined) await sendFollowed(view, writer, options);
  else await sendRead(view, writer, options, options.count);
}

async function sendRead(
  view: ClientLog,
  writer: CallWriter<ReadResp>,
  options: ClientReadOptions,
  count: number,
): Promise<void> {
  const { from, backwards, filter } = options;
  if (from.stream !== undefined) {
    await sendStream(view, writer, options, { ...from, count });
    return;
  }
  const readAll = backwards ? readAllBackwards : readAllForwards;
  const batchSize = filter === undefined ? Math.min(BATCH, Math.max(1, count)) : BATCH;
  const batches = atMost(count, readAll(view, from.position, new EventFilter(filter), batchSize));
  await sendBatches(view, writer, batches, options);
}

async function sendStream(
  view: ClientLog,
  writer: CallWriter<ReadResp>,
  options: ClientReadOptions,
  { stream, revision, count }: { stream: string; revision: number | undefined; count: number },
): Promise<void> {
  const { backwards, compatibility } = options;
  // EventStoreDB refuses this, though it allows it for all streams.
  if (revision === undefined && !backwards) throw failing('A stream cannot be read forwards from its end');
  const read = await view.readStream(stream, { from: revision, backwards, count });
  if (read === undefined) return writer.send(notFoundMessage(stream));
  const { first, last } = read;
  const from = revision ?? last;
  // A page before the first event or after the last one is empty.
  const next = from + Math.min(PAGE, count) <= first ? first : last + 1;
  const isEmpty = next === first || Math.max(from, first) > last;
  if (compatibility >= 1 && !backwards && isEmpty && from !== next)
    await writer.send(new ReadResp().setFirstStreamPosition(String(next)));
  await sendBatches(view, writer, read.events, options);
  if (compatibility >= 1) await writer.send(new ReadResp().setLastStreamPosition(String(last)));
}

async function sendBatches(
  view: ClientLog,
  writer: CallWriter<ReadResp>,
  batches: AsyncIterable<readonly ClientEvent[]>,
  options: ClientReadOptions,
): Promise<void> {
  for await (const events of batches) {
    await sendEvents(view, writer, events, options);
    if (writer.signal.aborted) return;
  }
}

async function sendFollowed(
  view: ClientLog,
  writer: CallWriter<ReadResp>,
  options: ClientReadOptions,
): Promise<void> {
  const confirmation = new ReadResp.SubscriptionConfirmation().setSubscriptionId(randomUUID());
  await writer.send(new ReadResp().setConfirmation(confirmation));
  for await (const { events, checkpoint, caughtUp } of follow(view, options, writer.signal)) {
    await sendEvents(view, writer, events, options);
    if (checkpoint !== undefined) await writer.send(checkpointMessage(checkpoint));
    if (caughtUp === true) await writer.send(new ReadResp().setCaughtUp(new ReadResp.CaughtUp()));
    if (writer.signal.aborted) return;
  }
}

async function sendEvents(
  view: ClientLog,
  writer: CallWriter<ReadResp>,
  events: readonly ClientEvent[],
  { resolveLinks, ids }: ClientReadOptions,
): Promise<void> {
  for (const event of events) {
    if (writer.signal.aborted) return;
    const found = resolveLinks ? await view.resolve(event) : { event, link: undefined };
    // Awaiting every event would halve the throughput.
    const sent = writer.send(eventMessage(found, ids));
    if (sent !== undefined) await sent;
  }
}

/** Existing events, then new ones. */
function follow(
  view: ClientLog,
  { from, filter, pace }: ClientReadOptions,
  signal: AbortSignal,
): AsyncIterable<SubscriptionPart> {
  if (from.stream !== undefined) return followStream(view, from.stream, from.revision, signal);
  return followAll(view, from, new EventFilter(filter), filter && pace, signal);
}

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
  view: ClientLog,
  { position, inclusive }: Start,
  eventFilter: EventFilter,
  pace: ReadPace | undefined,
  signal: AbortSignal,
): AsyncGenerator<SubscriptionPart> {
  const head = await view.log.head();
  const from = position ?? head;
  const subscription = new AllSubscription((event) => view.toClient(event), eventFilter, pace, head);
  let after = from;
  if (from >= head) yield subscription.goLive(from);
  else if (from === START) subscription.catchUp();
  else {
    const { event, before } = await eventAt(view, from);
    if (event === undefined) throw invalid('Trying to read from an invalid position.');
    subscription.catchUpFrom(event, inclusive);
    if (inclusive) after = before;
  }
  for await (const batch of view.log.subscribe({ after, batchSize: BATCH, signal })) {
    yield* subscription.push(batch.events);
    if (batch.caughtUp && !subscription.live) yield* subscription.endOfLog();
  }
}

/** The events of a stream from a revision, then new ones. Raises `Refusal`. */
async function* followStream(
  view: ClientLog,
  stream: string,
  from: number | undefined,
  signal: AbortSignal,
): AsyncGenerator<SubscriptionPart> {
  let live = false;
  for await (const { events, caughtUp } of view.follow(stream, from, signal)) {
    // More than the queue of a live subscriber holds: it falls behind and catches up again.
    if (events.length > LIVE) live = false;
    yield { events, caughtUp: caughtUp && !live };
    live ||= caughtUp;
  }
}

/**
 * All matching events before a position, newest first; undefined for the end of the log. Raises `Refusal` if there is
 * no event at the position.
 */
async function* readAllBackwards(
  view: ClientLog,
  before: Position | undefined,
  eventFilter: EventFilter,
  batchSize: number,
): AsyncGenerator<readonly ClientEvent[]> {
  if (before !== undefined && before !== START && (await eventAt(view, before)).event === undefined)
    throw failing(INVALID_POSITION);
  for await (const batch of view.log.readAllBackwards({ batchSize, ...(before !== undefined && { before }) }))
    yield eventFilter.selected(batch).map((event) => view.toClient(event));
}

/**
 * All matching events from a position on; undefined, the end of the log, gives none. Raises `Refusal` if there is no
 * event at the position, unless it is beyond the end.
 */
async function* readAllForwards(
  view: ClientLog,
  position: Position | undefined,
  eventFilter: EventFilter,
  batchSize: number,
): AsyncGenerator<readonly ClientEvent[]> {
  if (position === undefined) return;
  let after = START;
  if (position !== START) {
    const { event, before } = await eventAt(view, position);
    if (event === undefined && (await view.log.head()) > position) throw failing(INVALID_POSITION);
    after = before;
  }
  const { prefixes } = eventFilter;
  for await (const { events } of view.log.readAll({ after, batchSize, ...(prefixes && { prefixes }) }))
    yield eventFilter.selected(events).map((event) => view.toClient(event));
}

/** The event at a position, if there is one, and the position of the previous event. */
async function eventAt(
  view: ClientLog,
  position: Position,
): Promise<{ readonly event: RecordedEvent | undefined; readonly before: Position }> {
  const before = await positionBefore(view, position);
  for await (const { events } of view.log.readAll({ after: before, batchSize: 1 })) {
    const [event] = events;
    if (event !== undefined) return { event: event.position === position ? event : undefined, before };
  }
  return { event: undefined, before };
}

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

/** The position of the last event before `position`. */
async function positionBefore(view: ClientLog, position: Position): Promise<Position> {
  for await (const [event] of view.log.readAllBackwards({ before: position, batchSize: 1 }))
    return event?.position ?? START;
  return START;
}

const INVALID_POSITION = 'Unexpected result: the position is not that of an event in the log';
