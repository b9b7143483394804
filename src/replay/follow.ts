import { NO_STREAM, START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { AllSubscription, LIVE, type SubscriptionPart } from './all-subscription';
import { metastreamOf, storedName } from './client-values';
import { type EventFilter } from './event-filter';
import { BATCH, eventAt, readStream } from './read-events';
import { type Pace, type Start } from './read-options';
import { invalid, streamDeleted } from './refusal';
import { toClientEvent, TOMBSTONE } from './stored-event';
import { lastOf } from './stream-state';

/** All matching events after a position, then new ones. Raises `Refusal` if there is no event at the position. */
export async function* followAll(
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
 * The events of a stream from a revision, then new ones, until the stream is tombstoned: delivers the tombstone as the last
 * event, then raises `Refusal`.
 */
export async function* followStream(
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
