import { type DomainEvent, toDomainEvent } from '../../kernel/decider';
import { type Position, type RecordedEvent, START, streamOf } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { messageIdOf } from '../receiver-id';
import {
  type ActiveSubscription,
  SUBSCRIPTION,
  subscriptionDecider,
  type SubscriptionEvent,
  type SubscriptionState,
} from '../subscription';
import { type Occurrence, type Topic } from '../topic';
import { markBefore } from './cursor';
import { preparedOf } from './messages-of';

/** A message that was not made when its transition happened, and would be now. */
export type MissedMessage = Omit<
  Extract<SubscriptionEvent, { readonly type: 'MessageRequested' }>['data'],
  'at'
>;

export interface Missed {
  readonly topic: Topic;
  readonly id: string;
  /** The subscription as it is now. */
  readonly subscription: ActiveSubscription;
  /** Of these receivers. */
  readonly receivers: ReadonlySet<string>;
  /** Bounds of the time of the transition, inclusive (epoch ms). */
  readonly min: number;
  readonly max: number;
  /** What was looked at before; undefined: nothing. */
  readonly after: Position | undefined;
}

/** By how much the clocks of those who append may differ (ms), with room to spare. */
const CLOCKS_MS = 60 * 60 * 1000;

/** Events of one call: some seconds of reading. */
const MOST_EVENTS = 100_000;

/**
 * Finds messages that a subscription would make of transitions now, and did not when these happened: what it was then is read along with
 * them, so what the matcher has made, or will make, is not found. Stops after some messages or events: `next` is where to continue.
 */
export async function missedMessages(
  log: EventLog,
  missed: Missed,
  most: number,
): Promise<{ readonly found: readonly MissedMessage[]; readonly next?: Position }> {
  const { topic, id, min, max } = missed;
  const own = streamOf(SUBSCRIPTION, id);
  const after = missed.after ?? (await markBefore(log, min - CLOCKS_MS));
  let then = await stateUpTo(log, own, after);
  const found: MissedMessage[] = [];
  let seen = 0;
  for await (const { events } of log.readAll({ after, prefixes: [...topic.streams, own] })) {
    for (const event of events) {
      seen += 1;
      if (event.stream === own)
        then = subscriptionDecider.evolve(then, toDomainEvent(event) as SubscriptionEvent);
      else if (topic.handles.includes(event.type)) {
        const happened = toDomainEvent(event);
        const time = timeOf(happened);
        if (time > max + CLOCKS_MS) return { found };
        if (time >= min && time <= max) found.push(...missedOf(event, happened, then, missed));
      }
      if (seen >= MOST_EVENTS || found.length >= most) return { found, next: event.position };
    }
  }
  return { found };
}

async function stateUpTo(log: EventLog, stream: string, position: Position): Promise<SubscriptionState> {
  let state: SubscriptionState = subscriptionDecider.initial;
  if (position === START) return state;
  for await (const batch of log.readStream(stream))
    for (const event of batch) {
      if (event.position > position) return state;
      state = subscriptionDecider.evolve(state, toDomainEvent(event) as SubscriptionEvent);
    }
  return state;
}

/** When a transition happened (epoch ms): the `at` of its event, as of its `Occurrence`. */
function timeOf({ data }: DomainEvent): number {
  return Date.parse((data as { readonly at?: string }).at ?? '');
}

function missedOf(
  event: RecordedEvent,
  happened: DomainEvent,
  then: SubscriptionState,
  { topic, id, subscription, receivers }: Missed,
): readonly MissedMessage[] {
  const { stream, revision, position } = event;
  const occurrence = topic.occurrence({ ...happened, stream, revision, position });
  if (occurrence === undefined) return [];
  const wasMade = new Set(then.is === 'active' ? madeBy(id, then, occurrence) : []);
  const { subject, sequence, stateId, at } = occurrence;
  return madeBy(id, subscription, occurrence)
    .filter((receiver) => receivers.has(receiver) && !wasMade.has(receiver))
    .map((receiver) => ({
      ...{ receiver, message: messageIdOf(event.id, receiver), subject, sequence, stateId },
      time: at,
    }));
}

/** The receivers that a version of a subscription makes messages to of an occurrence. */
function madeBy(id: string, subscription: ActiveSubscription, occurrence: Occurrence): readonly string[] {
  if (!occurrence.parties.includes(subscription.organisationId)) return [];
  const prepared = preparedOf(id, subscription);
  return prepared.matches(occurrence) ? [...prepared.renderers.keys()] : [];
}
