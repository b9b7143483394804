import { execute, type Executed, type StateAt, toDomainEvent } from '../../kernel/decider';
import { NO_STREAM, type Position, START, streamOf } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import {
  SUBSCRIPTION,
  type SubscriptionCommand,
  subscriptionDecider,
  type SubscriptionEvent,
  type SubscriptionState,
} from './subscription';

/** A subscription as of a position of the log. */
export interface SubscriptionAt extends StateAt<SubscriptionState> {
  /** Of the last event of its stream; `START` without one. */
  readonly position: Position;
}

/** The state as of an event. */
interface Folded extends SubscriptionAt {
  /** Id of the event. */
  readonly last: string;
  /** What it costs to read all events up to it: about their bytes. */
  readonly size: number;
}

const NOTHING: Folded = {
  state: subscriptionDecider.initial,
  revision: NO_STREAM,
  position: START,
  last: '',
  size: 0,
};

/** The states of smaller streams are not cached: reading them takes about a millisecond. */
const SMALLEST = 64 * 1024;

/** What an event costs beside its data. */
const PER_EVENT = 300;

/** States that are cached of a log: each may have some 600 KB. */
const MOST = 32;

/** By ids of subscriptions, those that were read last at the end. */
const caches = new WeakMap<EventLog, Map<string, Folded>>();

/**
 * The current state of a subscription. Each PUT, test and redelivery is an event of its stream, so it may have any
 * number of them: of a large stream only what is new since the last call is read.
 */
export async function loadSubscription(log: EventLog, id: string): Promise<SubscriptionAt> {
  const cache = caches.get(log) ?? new Map<string, Folded>();
  caches.set(log, cache);
  const cached = cache.get(id);
  const continued = cached === undefined ? undefined : await foldedFrom(cached, log, id);
  const folded = continued ?? (await foldedFrom(NOTHING, log, id)) ?? NOTHING;
  cache.delete(id);
  if (folded.size >= SMALLEST) {
    cache.set(id, folded);
    const [oldest = id] = cache.keys();
    if (cache.size > MOST) cache.delete(oldest);
  }
  return { state: folded.state, revision: folded.revision, position: folded.position };
}

/** Executes a command on a subscription, whose stream may be large. `known` saves the first load. */
export async function changeSubscription(
  log: EventLog,
  id: string,
  command: SubscriptionCommand,
  known?: StateAt<SubscriptionState>,
): Promise<Executed<SubscriptionState, SubscriptionEvent>> {
  return await execute(log, subscriptionDecider, id, command, known, () => loadSubscription(log, id));
}

/** A subscription as it was when the event at `position` was appended. */
export async function subscriptionAsOf(
  log: EventLog,
  id: string,
  position: Position,
): Promise<SubscriptionState> {
  let state: SubscriptionState = subscriptionDecider.initial;
  for await (const batch of log.readStream(streamOf(SUBSCRIPTION, id)))
    for (const recorded of batch) {
      if (recorded.position > position) return state;
      state = subscriptionDecider.evolve(state, toDomainEvent(recorded) as SubscriptionEvent);
    }
  return state;
}

/** Undefined if the stream does not have that event: the log was replaced. */
async function foldedFrom(start: Folded, log: EventLog, id: string): Promise<Folded | undefined> {
  let { state, revision, position, last, size } = start;
  let isThere = revision === NO_STREAM;
  for await (const batch of log.readStream(streamOf(SUBSCRIPTION, id), { from: Math.max(0, revision) }))
    for (const recorded of batch) {
      if (isThere) {
        state = subscriptionDecider.evolve(state, toDomainEvent(recorded) as SubscriptionEvent);
        ({ revision, position, id: last } = recorded);
        size += recorded.data.length + PER_EVENT;
      } else if (recorded.id === last) isThere = true;
      else return undefined;
    }
  return isThere ? { state, revision, position, last, size } : undefined;
}
