import { randomUUID } from 'node:crypto';
import { type ReadReq, type ReadResp } from '@eventstore/db-client/generated/streams_pb';
import { type ServerWritableStream } from '@grpc/grpc-js';
import { type EventLog } from '../../kernel/event-log';
import { Sieve } from './filter';
import { type Followed, followAll, followStream } from './follow-events';
import {
  caughtUpMessage,
  checkpointMessage,
  confirmationMessage,
  eventMessage,
  notFoundMessage,
} from './messages';
import { Outgoing } from './outgoing';
import { atMost, BATCH, readAllBackwards, readAllForwards, readStream, resolved } from './read-events';
import { type ReadOptions, readOptions } from './read-options';
import { type ShownEvent } from './stored-event';

/**
 * Answers a `Read` call: sends what is asked for at the pace the client takes it, until the client goes or
 * `signal` ends it. Raises `Refusal`, `EngineUnavailable`.
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
  const batches = await read(log, options, count);
  if (batches === undefined) return outgoing.send(notFoundMessage(options.from.stream ?? ''));
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
    if (caughtUp) await outgoing.send(caughtUpMessage());
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
    // Only what has to be waited for is: a turn of the loop for each event costs speed.
    const sent = outgoing.send(eventMessage(found, ids));
    if (sent !== undefined) await sent;
  }
}

/** What is there now; undefined for a stream that is not. */
async function read(
  log: EventLog,
  { from, backwards, filter }: ReadOptions,
  count: number,
): Promise<AsyncIterable<readonly ShownEvent[]> | undefined> {
  if (from.stream !== undefined)
    return readStream(log, from.stream, { from: from.revision, backwards, count });
  const readAll = backwards ? readAllBackwards : readAllForwards;
  const batchSize = filter === undefined ? Math.min(BATCH, Math.max(1, count)) : BATCH;
  return atMost(count, readAll(log, from.position, new Sieve(filter), batchSize));
}

/** What is there, then what comes. */
function follow(
  log: EventLog,
  { from, filter, interval }: ReadOptions,
  signal: AbortSignal,
): AsyncIterable<Followed> {
  if (from.stream !== undefined) return followStream(log, from.stream, from.revision, signal);
  return followAll(log, from.position, new Sieve(filter), filter && interval, signal);
}
