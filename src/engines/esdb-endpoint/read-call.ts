import { randomUUID } from 'node:crypto';
import { type ReadReq, type ReadResp } from '@eventstore/db-client/generated/streams_pb';
import { type ServerWritableStream } from '@grpc/grpc-js';
import { type EventLog } from '../../kernel/event-log';
import { Sieve } from './filter';
import { type Followed } from './all-subscription';
import { followAll } from './follow-all';
import { followStream } from './follow-stream';
import {
  caughtUpMessage,
  checkpointMessage,
  confirmationMessage,
  eventMessage,
  firstRevisionMessage,
  lastRevisionMessage,
  notFoundMessage,
} from './messages';
import { Outgoing } from './outgoing';
import { atMost, BATCH, readAllBackwards, readAllForwards, readStream, resolved } from './read-events';
import { PAGE, type ReadOptions, readOptions } from './read-options';
import { failing } from './refusal';
import { type ShownEvent } from './stored-event';

/**
 * Answers a `Read` call at the pace of the client, until the client goes or `signal` ends it. Raises `Refusal`, `EngineUnavailable`.
 */
export async function answerRead(
  log: EventLog,
  call: ServerWritableStream<ReadReq, ReadResp>,
  signal: AbortSignal,
): Promise<void> {
  const options = readOptions(call.request);
  const outgoing = new Outgoing(call, signal);
  if (options.count === undefined) await sendFollowed(log, outgoing, options);
  else await sendRead(log, outgoing, options, options.count);
}

async function sendRead(
  log: EventLog,
  outgoing: Outgoing<ReadResp>,
  options: ReadOptions,
  count: number,
): Promise<void> {
  const { from, backwards, filter } = options;
  if (from.stream !== undefined) {
    await sendStream(log, outgoing, options, { ...from, count });
    return;
  }
  const readAll = backwards ? readAllBackwards : readAllForwards;
  const batchSize = filter === undefined ? Math.min(BATCH, Math.max(1, count)) : BATCH;
  const batches = atMost(count, readAll(log, from.position, new Sieve(filter), batchSize));
  await sendBatches(log, outgoing, batches, options);
}

async function sendStream(
  log: EventLog,
  outgoing: Outgoing<ReadResp>,
  options: ReadOptions,
  { stream, revision, count }: { stream: string; revision: number | undefined; count: number },
): Promise<void> {
  const { backwards, compatibility } = options;
  // EventStoreDB fails here, though it allows the same of all streams.
  if (revision === undefined && !backwards) throw failing('A stream cannot be read forwards from its end');
  const read = await readStream(log, stream, { from: revision, backwards, count });
  if (read === undefined) return outgoing.send(notFoundMessage(stream));
  const { first, last } = read;
  const from = revision ?? last;
  // In a page before the first event or after the last one there is nothing to read.
  const next = from + Math.min(PAGE, count) <= first ? first : last + 1;
  const empty = next === first || Math.max(from, first) > last;
  if (compatibility >= 1 && !backwards && empty && from !== next)
    await outgoing.send(firstRevisionMessage(next));
  await sendBatches(log, outgoing, read.events, options);
  if (compatibility >= 1) await outgoing.send(lastRevisionMessage(last));
}

async function sendBatches(
  log: EventLog,
  outgoing: Outgoing<ReadResp>,
  batches: AsyncIterable<readonly ShownEvent[]>,
  options: ReadOptions,
): Promise<void> {
  for await (const events of batches) {
    await sendEvents(log, outgoing, events, options);
    if (outgoing.signal.aborted) return;
  }
}

async function sendFollowed(
  log: EventLog,
  outgoing: Outgoing<ReadResp>,
  options: ReadOptions,
): Promise<void> {
  await outgoing.send(confirmationMessage(randomUUID()));
  for await (const { events, checkpoint, caughtUp } of follow(log, options, outgoing.signal)) {
    await sendEvents(log, outgoing, events, options);
    if (checkpoint !== undefined) await outgoing.send(checkpointMessage(checkpoint));
    if (caughtUp === true) await outgoing.send(caughtUpMessage());
  }
}

async function sendEvents(
  log: EventLog,
  outgoing: Outgoing<ReadResp>,
  events: readonly ShownEvent[],
  { resolveLinks, ids }: ReadOptions,
): Promise<void> {
  for (const event of events) {
    if (outgoing.signal.aborted) return;
    const found = resolveLinks ? await resolved(log, event) : { event, link: undefined };
    // A promise per event would cost half of the speed.
    const sent = outgoing.send(eventMessage(found, ids));
    if (sent !== undefined) await sent;
  }
}

/** The past, then what is appended later. */
function follow(
  log: EventLog,
  { from, filter, pace }: ReadOptions,
  signal: AbortSignal,
): AsyncIterable<Followed> {
  if (from.stream !== undefined) return followStream(log, from.stream, from.revision, signal);
  return followAll(log, from, new Sieve(filter), filter && pace, signal);
}
