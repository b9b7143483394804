import { backTo, requestStream } from '../../domain/subscriptions/delivery-requests';
import { SUBSCRIPTION, type SubscriptionEvent } from '../../domain/subscriptions/subscription';
import { type Position, streamOf } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';

/**
 * The requests of a subscription up to a revision of them, back to a time (epoch ms), newest first; after them what is
 * in the stream of the subscription, where old logs have requests, and where they are cancelled.
 */
export async function* requestsSince(
  log: EventLog,
  subscriptionId: string,
  revision: number,
  since: number,
): AsyncGenerator<SubscriptionEvent & { readonly position: Position }> {
  yield* backTo<SubscriptionEvent>(log, requestStream(subscriptionId), since, revision);
  yield* backTo<SubscriptionEvent>(log, streamOf(SUBSCRIPTION, subscriptionId), since);
}
