import { conversionFaults as fault } from '../../domain/conversion-faults';
import { type Caller } from '../../network/organisations';
import { type EventLog } from '../../kernel/event-log';
import { loadSubscription, type SubscriptionAt } from '../../domain/subscriptions/loaded-subscription';
import { receiverIdOf, receiversOf } from '../../domain/subscriptions/receiver-id';
import { type ActiveSubscription } from '../../domain/subscriptions/subscription';
import { type Topic } from '../../domain/subscriptions/topic';

const ID = /^[0-9a-f]{32}$/;

/** Who asks: a token for one site has the subscriptions for this site only (`docs/decisions.md#n11`). */
export type Owner = Pick<Caller, 'organisationId' | 'siteId'>;

export interface OwnedSubscription extends SubscriptionAt {
  readonly state: ActiveSubscription;
}

/** A subscription of the caller, read from its stream. Raises CON_210 and CON_200. */
export async function ownedSubscription(
  log: EventLog,
  { name: topic }: Pick<Topic, 'name'>,
  id: string,
  { organisationId, siteId }: Owner,
): Promise<OwnedSubscription> {
  if (!ID.test(id)) throw missingSubscription(id);
  const { state, revision, position } = await loadSubscription(log, id);
  if (state.is !== 'active' || state.topic !== topic) throw missingSubscription(id);
  if (state.organisationId !== organisationId)
    throw fault.notRelated(`${id}: expected a subscription of yours`);
  if (siteId !== undefined && state.content.siteId !== siteId)
    throw fault.notRelated(`${id}: the token is for site ${siteId}; expected a subscription for this site`);
  return { state, revision, position };
}

export function missingSubscription(id: string) {
  return fault.unknownSubscription(
    `${id.slice(0, 100)}: expected the id of a subscription that is not deleted`,
  );
}

/** Raises CON_530 unless the subscription has this receiver. */
export function checkReceiverId(id: string, subscription: ActiveSubscription, receiverId: string): void {
  const problem = receiverProblem(id, subscription, receiverId);
  if (problem !== undefined) throw fault.unknownReceiver(problem);
}

/** The message of CON_530 unless the subscription has this receiver. */
export function receiverProblem(
  id: string,
  { content }: ActiveSubscription,
  receiverId: string,
): string | undefined {
  const ids = content.receivers.map((receiver) => receiverIdOf(id, receiver));
  if (ids.includes(receiverId)) return undefined;
  return `${receiverId.slice(0, 100)}: expected one of ${ids.join(', ')}`;
}

/** Raises CON_350 if nothing would be sent to a receiver, since its owner has disabled it (`docs/decisions.md#n8`). */
export function checkEnabled(id: string, { content }: ActiveSubscription, receiverId: string): void {
  const place = content.disabled === true ? 'the subscription' : 'the receiver';
  if (content.disabled !== true && receiversOf(id, content).get(receiverId)?.disabled !== true) return;
  throw fault.content(`disabled: ${place} is disabled, so no test is sent; set disabled to false with a PUT`);
}
