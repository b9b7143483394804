import { randomUUID } from 'node:crypto';
import { type ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb';
import { type ServerWritableStream } from '@grpc/grpc-js';
import { type EventLog } from '../kernel/event-log';
import { EventFilter } from './event-filter';
import { type SubscriptionPart } from './all-subscription';
import { followAll, followStream } from './follow';
import { checkpointMessage, eventMessage, notFoundMessage } from './messages';
import { CallWriter } from './call-writer';
import { atMost, BATCH, readAllBackwards, readAllForwards, readStream, resolveLink } from './read-events';
import { PAGE, type ReadOptions, readOptions } from './read-options';
import { failing } from './refusal';
import { type ClientEvent } from './stored-event';

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
