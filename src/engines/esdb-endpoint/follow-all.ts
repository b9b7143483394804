import { START } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { AllSubscription, type Followed } from './all-subscription';
import { type Sieve } from './filter';
import { BATCH, eventAt } from './read-events';
import { type Pace, type Start } from './read-options';
import { invalid } from './refusal';

/** All events after a place that pass, then those to come. Raises `Refusal` if no event is there. */
export async function* followAll(
  log: EventLog,
  { position, inclusive }: Start,
  sieve: Sieve,
  pace: Pace | undefined,
  signal: AbortSignal,
): AsyncGenerator<Followed> {
  const head = await log.head();
  const from = position ?? head;
  const subscription = new AllSubscription(sieve, pace, head);
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
    yield* subscription.take(batch.events);
    if (batch.caughtUp && !subscription.live) yield* subscription.endOfLog();
  }
}
