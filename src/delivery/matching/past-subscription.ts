import {
  SUBSCRIPTION,
  subscriptionDecider,
  type SubscriptionEvent,
  type SubscriptionState,
} from '../../domain/subscriptions/subscription';
import { eventsOf, toDomainEvent } from '../../kernel/decider';
import { type Position, START, streamOf } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';

/** A state of a subscription, between two positions: of the event that made it, and of the next one. */
export interface PastSubscription {
  readonly from: Position;
  readonly until: Position;
  readonly state: SubscriptionState;
}

const END: Position = '9'.repeat(START.length);

/** A subscription as it was when the event at `position` was appended. */
export async function subscriptionAsOf(
  log: EventLog,
  id: string,
  position: Position,
): Promise<PastSubscription> {
  let [from, state]: [Position, SubscriptionState] = [START, subscriptionDecider.initial];
  if (position === START) return { from, until: START, state };
  for await (const event of eventsOf(log, streamOf(SUBSCRIPTION, id))) {
    if (event.position > position) return { from, until: event.position, state };
    from = event.position;
    state = subscriptionDecider.evolve(state, toDomainEvent(event) as SubscriptionEvent);
  }
  return { from, until: END, state };
}
