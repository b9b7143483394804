import { type DomainEvent, toDomainEvent } from '../../kernel/decider';
import { type Position, type RecordedEvent, START, streamOf } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { type DeliveryRequest } from '../../domain/subscriptions/delivery-requests';
import {
  type ActiveSubscription,
  SUBSCRIPTION,
  subscriptionDecider,
  type SubscriptionEvent,
  type SubscriptionState,
} from '../../domain/subscriptions/subscription';
import { type Topic, usableOccurrence } from '../../domain/subscriptions/topic';
import { directoryAt } from '../../network/directory';
import { type Programs } from '../../network/programs';
import { type Clock } from '../../runtime/clock';
import { Parking } from '../../runtime/parked-events';
import { BEYOND, ByteBudget, messagesOf, preparedOf } from './messages-of';
import { marksAround } from './cursor';
import { MATCHER } from './matcher';
import { subscriptionAsOf } from './subscription-book';

/** A message that was not made when its transition happened, and would be now. */
export type MissedMessage = Omit<
  Extract<DeliveryRequest, { readonly type: 'MessageRequested' }>['data'],
  'at'
>;

export interface Missed {
  readonly topic: Topic;
  readonly id: string;
  readonly subscription: ActiveSubscription;
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
 * Finds messages that a subscription would make of transitions now, and did not when these happened, or were retried:
 * what it was then is read along with them, so what the matcher has made, or will make, is not found. Stops after some
 * messages or events: `next` is where to continue. `first` is the position of the first transition that is found.
 */
export async function missedMessages(
  clock: Clock,
  log: EventLog,
  missed: Missed,
  most: number,
): Promise<{ readonly found: readonly MissedMessage[]; readonly first: Position; readonly next?: Position }> {
  const { topic, id, min, max } = missed;
  const own = streamOf(SUBSCRIPTION, id);
  const { joins = [] } = topic;
  const { upTo, ...marks } = await marksAround(log, min - CLOCKS_MS, max + CLOCKS_MS);
  const { after = marks.after } = missed;
  const directory = await directoryAt(log, after, joins);
  const parking = await new Parking(clock, log, MATCHER).refresh();
  let version = await subscriptionAsOf(log, id, after);
  let then = version.state;
  const found: MissedMessage[] = [];
  let first = START;
  let seen = 0;
  for await (const { events } of log.readAll({ after, prefixes: [...topic.streams, own, ...joins] })) {
    for (const event of events) {
      if (upTo !== undefined && event.position > upTo) return { found, first };
      seen += 1;
      if (event.stream === own)
        then = subscriptionDecider.evolve(then, toDomainEvent(event) as SubscriptionEvent);
      else if (topic.handles.includes(event.type)) {
        const time = timeOf(toDomainEvent(event));
        if (time >= min && time <= max && !parking.isDisregarded(event.id)) {
          const retried = parking.retriedAt(event.id);
          if (retried !== undefined && (retried < version.from || retried >= version.until))
            version = await subscriptionAsOf(log, id, retried);
          const before = retried === undefined ? then : version.state;
          const made = missedOf(event, before, missed, directory.programs);
          if (found.length === 0 && made.length > 0) first = event.position;
          found.push(...made);
        }
      } else directory.apply(event);
      if (seen >= MOST_EVENTS || found.length >= most) return { found, first, next: event.position };
    }
  }
  return { found, first };
}

/** When a transition happened (epoch ms): the `at` of its event, as of its `Occurrence`. */
function timeOf({ data }: DomainEvent): number {
  return Date.parse((data as { readonly at?: string }).at ?? '');
}

function missedOf(
  event: RecordedEvent,
  then: SubscriptionState,
  { topic, id, subscription, receivers }: Missed,
  programs: Programs,
): readonly MissedMessage[] {
  const { organisationId } = subscription;
  const happened = usableOccurrence(topic, event, programs);
  const prepared = preparedOf(id, subscription);
  const occurrence = happened && prepared.selector.of(organisationId, happened);
  if (happened === undefined || occurrence === undefined) return [];
  const before = then.is === 'active' ? preparedOf(id, then) : undefined;
  const wasMade = new Set(
    before?.selector.of(organisationId, happened) === undefined ? [] : before.renderers.keys(),
  );
  const isMissed = (receiver: string): boolean => receivers.has(receiver) && !wasMade.has(receiver);
  const { subject, sequence, stateId, at } = occurrence;
  const parts = { event, id, subscription, prepared, occurrence, programs };
  // They are rendered when they are sent; what they would take is counted now, unconverted.
  const counted = { ...parts, rates: undefined, budget: new ByteBudget(), report: () => undefined };
  return Array.from(messagesOf(counted, isMissed), ({ data: { receiver, id: message, unsendable } }) => ({
    ...{ receiver, message, subject, sequence, stateId },
    time: at,
    ...(unsendable === BEYOND.unsendable ? { isBeyond: true } : {}),
  }));
}
