import { without } from '../../kernel/without';
import { receiverIdOf } from '../../domain/subscriptions/receiver-id';
import { type Receiver, type SubscriptionContent } from '../../domain/subscriptions/subscription';
import { type OutputSubscription } from './fields';
import { type SubscriptionKind } from '../../domain/subscriptions/topic';

/** A copy of a subscription, as answers have it. */
export function toOutput(
  { states }: SubscriptionKind,
  subscriptionId: string,
  content: SubscriptionContent,
): OutputSubscription {
  const { subscriptionName, filter, receivers, currencyConversion, customAttribute } = content;
  const { disabled = false, strictOrder, siteId } = content;
  const { stateIds, ...lists } = filter;
  return {
    subscriptionId,
    ...(subscriptionName === undefined ? {} : { subscriptionName }),
    filter: { ...lists, [states.field]: stateIds },
    receivers: receivers.map((receiver) => toReceiver(subscriptionId, receiver)),
    ...(currencyConversion === undefined ? {} : { currencyConversion }),
    ...(customAttribute === undefined ? {} : { customAttribute }),
    disabled,
    ...(strictOrder === undefined ? {} : { strictOrder }),
    ...(siteId === undefined ? {} : { siteId }),
  };
}

function toReceiver(subscriptionId: string, receiver: Receiver): OutputSubscription['receivers'][number] {
  const { disabled = false } = receiver;
  return { ...without(receiver, 'id'), disabled, receiverId: receiverIdOf(subscriptionId, receiver) };
}
