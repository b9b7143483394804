import { type StateAt, toDomainEvent } from '../kernel/decider';
import { NO_STREAM, streamOf } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import {
  SUBSCRIPTION,
  subscriptionDecider,
  type SubscriptionEvent,
  type SubscriptionState,
} from './subscription';

/** The state as of an event. */
interface Folded extends StateAt<SubscriptionState> {
  /** Id of the event. */
  readonly last: string;
}

const NOTHING: Folded = { state: subscriptionDecider.initial, revision: NO_STREAM, last: '' };

/** The states of shorter streams are not cached: reading them takes about a millisecond. */
const SHORTEST = 200;

/** States that are cached of a log: each may have some 600 KB. */
const MOST = 32;

/** By ids of subscriptions, those that were read last at the end. */
const caches = new WeakMap<EventLog, Map<string, Folded>>();

/**
 * The current state of a subscription. Each test and each redelivery is an event of its stream, so it may have any number of them: of a
 * long stream only what is new since the last call is read.
 */
export async function loadSubscription(log: EventLog, id: string): Promise<StateAt<SubscriptionState>> {
  const cache = caches.get(log) ?? new Map<string, Folded>();
  caches.set(log, cache);
  const cached = cache.get(id);
  const continued = cached === undefined ? undefined : await foldedFrom(cached, log, id);
  const folded = continued ?? (await foldedFrom(NOTHING, log, id)) ?? NOTHING;
  cache.delete(id);
  if (folded.revision >= SHORTEST) {
    cache.set(id, folded);
    const [oldest = id] = cache.keys();
    if (cache.size > MOST) cache.delete(oldest);
  }
  return { state: folded.state, revision: folded.revision };
}

/** Undefined if the stream does not have that event: the log was replaced. */
async function foldedFrom(start: Folded, log: EventLog, id: string): Promise<Folded | undefined> {
  let { state, revision, last } = start;
  let isThere = revision === NO_STREAM;
  for await (const batch of log.readStream(streamOf(SUBSCRIPTION, id), { from: Math.max(0, revision) }))
    for (const recorded of batch) {
      if (isThere) {
        state = subscriptionDecider.evolve(state, toDomainEvent(recorded) as SubscriptionEvent);
        ({ revision, id: last } = recorded);
      } else if (recorded.id === last) isThere = true;
      else return undefined;
    }
  return isThere ? { state, revision, last } : undefined;
}
