import { whyUnsendable, type Message } from './delivery-events';
import { type ListedDelivery } from './stored-delivery';
import { without } from '../../kernel/values';
import { type DeliveryRequest } from '../subscriptions/delivery-requests';
import { receiversOf } from '../subscriptions/receiver-id';
import {
  type Cancellations,
  lastCancelled,
  laterThan,
  type SubscriptionState,
} from '../subscriptions/subscription';

/** A message that somebody asks to be sent again, with what is known of it. */
export interface RedeliveredMessage {
  readonly subscription: SubscriptionState;
  readonly listed: ListedDelivery;
  /** As it would be sent now; undefined: it is no longer kept. */
  readonly message: Message | undefined;
  /** When it was last asked for; undefined: never, or that was cancelled. */
  readonly lastRequest: string | undefined;
}

export interface RedeliveryAsker {
  readonly at: string;
  /** Operators may ask for a message again that is asked for already: it is sent once more for each request. */
  readonly mayRepeat: boolean;
}

/**
 * - `deleted`: there is no such subscription any more;
 * - `no receiver`: the subscription has no such receiver any more;
 * - `not kept`: what was sent is no longer kept;
 * - `unsendable`: there is nothing to send, such as for lack of an exchange rate.
 */
export type RedeliveryRefusal = 'deleted' | 'no receiver' | 'not kept' | 'unsendable';

export type RedeliveryDecision =
  | { readonly is: 'requested'; readonly request: DeliveryRequest }
  /** It is asked for already, since then. */
  | { readonly is: 'pending'; readonly since: string }
  | { readonly is: 'refused'; readonly because: RedeliveryRefusal; readonly reason: string };

/**
 * Whether a message is sent again, whoever asks (`docs/decisions.md#n17`). Of several reasons to refuse it the first
 * one counts, in the order of `RedeliveryRefusal`.
 */
export function decideRedelivery(
  { subscription, listed, message, lastRequest }: RedeliveredMessage,
  { at, mayRepeat }: RedeliveryAsker,
): RedeliveryDecision {
  const { messageId, subscriptionId, receiver } = listed;
  if (subscription.is !== 'active')
    return refused('deleted', `${messageId}: its subscription ${subscriptionId} is deleted`);
  const receivers = [...receiversOf(subscriptionId, subscription.content).keys()];
  if (!receivers.includes(receiver))
    return refused(
      'no receiver',
      `${messageId}: its subscription no longer has the receiver ${receiver}; it has ${receivers.join(', ')}`,
    );
  if (message === undefined)
    return refused('not kept', `${messageId}: what was sent is no longer kept, so it cannot be sent again`);
  if (message.request === undefined)
    return refused('unsendable', `${messageId} cannot be sent: ${whyUnsendable(message)}`);
  const since = mayRepeat ? undefined : pendingSince(listed, lastRequest);
  return since === undefined
    ? { is: 'requested', request: redeliveryOf(listed, at) }
    : { is: 'pending', since };
}

function refused(because: RedeliveryRefusal, reason: string): RedeliveryDecision {
  return { is: 'refused', because, reason };
}

/** A message that is due within this time is not asked for with others of its period (ms). */
const SOON_MS = 60_000;

/**
 * Whether a message is among those of a period that are sent again, without those that are asked for already. One that
 * is due soon anyway is not: it may be delivered before the request is read. `now` is in epoch ms; undefined: its
 * receiver rests.
 */
export function isRedeliveredInBulk(
  { attempts, state, renderable, isTest, next }: ListedDelivery,
  now: number | undefined,
): boolean {
  const isSoon = next !== undefined && now !== undefined && Date.parse(next) < now + SOON_MS;
  if (isTest === true || (state === 'retrying' && isSoon)) return false;
  return attempts.length > 0 || state === 'cancelled' || renderable === true;
}

/**
 * Since when a message is to be sent once more; undefined if nobody has asked for it, or it was attempted since. Read
 * models may be behind: `lastRequest` is when it was last asked for, as the log has it.
 */
export function pendingSince(
  { redelivered }: ListedDelivery,
  lastRequest: string | undefined,
): string | undefined {
  return lastRequest === redelivered ? undefined : lastRequest;
}

/**
 * Its time is not before that of the message, and later than that of earlier requests for it, whatever clocks show: by
 * its time it is found, and distinguished from one that was attempted.
 */
export function redeliveryOf(
  listed: ListedDelivery,
  now: string,
): Extract<DeliveryRequest, { readonly type: 'RedeliveryRequested' }> {
  const { receiver, messageId, matched, redelivered, redelivery = redelivered } = listed;
  const notBefore = Date.parse(now) < Date.parse(listed.at) ? listed.at : now;
  const at = redelivery === undefined ? notBefore : laterThan(redelivery, notBefore);
  return { type: 'RedeliveryRequested', data: { at, receiver, message: messageId, revision: matched } };
}

/** The delivery as it is since redeliveries were last cancelled, if they were. */
export function withoutCancelled(listed: ListedDelivery, subscription: Cancellations): ListedDelivery {
  return isCancelled(listed, subscription) ? without(listed, 'redelivery') : listed;
}

/** Whether redeliveries were cancelled after the request in the log; of older requests by its time. */
function isCancelled({ redelivery, cancelledBefore }: ListedDelivery, subscription: Cancellations): boolean {
  if (redelivery === undefined) return false;
  const { redeliveriesCancelled } = subscription;
  return cancelledBefore === undefined
    ? redeliveriesCancelled !== undefined && redelivery <= redeliveriesCancelled
    : Date.parse(cancelledBefore) < Date.parse(lastCancelled(subscription));
}
