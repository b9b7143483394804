import { type ListedDelivery } from '../../domain/deliveries/stored-delivery';
import { Injectable } from '@nestjs/common';
import {
  type DeliveryCriteria,
  deliveryOf,
  listDeliveries,
  type StateCriterion,
} from '../../../projections/deliveries';
import { restingUntil, totalsOfReceivers } from '../../../projections/receivers';
import { conversionFaults as fault } from '../../domain/conversion-faults';
import { type FoundList } from '../../http/answer';
import { Clock } from '../../runtime/clock';
import { EventLog } from '../../kernel/event-log';
import { type QueryOptions } from '../../kernel/query';
import { ReadStore } from '../../kernel/read-store';
import { given } from '../../wire/keys/keys';
import { sizeOf } from '../../wire/keys/pages';
import { eachOf } from '../../projector/search-in-parts';
import { MATCHED, type Message } from '../../domain/deliveries/delivery-events';
import { Rendering } from '../../delivery/matching/rendering';
import { type ActiveSubscription } from '../../domain/subscriptions/subscription';
import { receiversOf } from '../../domain/subscriptions/receiver-id';
import {
  deliveryCursors,
  type DeliveryKeys,
  namedFor,
  type OutputDelivery,
  type OutputDeliveryDetails,
  type OutputReceiver,
  type OutputState,
} from './deliveries.fields';
import {
  heldReceivers,
  toDelivery,
  toDetails,
  toReceiver,
  type WaitingReceivers,
  withoutCancelled,
} from './deliveries.output';
import { type Topic } from '../../domain/subscriptions/topic';
import {
  type OwnedSubscription,
  ownedSubscription,
  SubscriptionParts,
  type Which,
} from './subscription.queries';

/**
 * What owners may read of the messages of their subscriptions (`docs/decisions.md#n14`). All raise CON_200 and CON_210.
 */
@Injectable()
export class DeliveryQueries {
  constructor(
    private readonly store: ReadStore,
    private readonly log: EventLog,
    private readonly parts: SubscriptionParts,
    private readonly clock: Clock,
  ) {}

  async receivers(which: Which): Promise<readonly OutputReceiver[]> {
    const subscription = await this.owned(which);
    const receivers = [...receiversOf(which.id, subscription.content)];
    const ids = receivers.map(([id]) => id);
    const [totals, resting] = await Promise.all([totalsOfReceivers(this.store, ids), this.resting(ids)]);
    return receivers.map((receiver) =>
      toReceiver(receiver, subscription, totals.get(receiver[0]), resting.get(receiver[0])),
    );
  }

  async list(which: Which, keys: DeliveryKeys, query: QueryOptions = {}): Promise<FoundList<OutputDelivery>> {
    const subscription = await this.owned(which);
    const waiting = await this.waiting(which.id, subscription);
    const after = deliveryCursors.read(keys);
    const criteria = criteriaOf(which.id, keys, statesOf(keys.state, which.id, subscription));
    const size = sizeOf('pageSize', keys.pageSize, fault.content);
    const found = await listDeliveries(this.store, criteria, { size, after }, query);
    const items = eachOf(found, (listed) =>
      namedFor(which.kind, toDelivery(withoutCancelled(listed, subscription), waiting)),
    );
    const nextCursor = deliveryCursors.next(keys, found);
    return { items, total: found.total, requested: keys.pageSize, nextCursor };
  }

  /** Raises CON_540 too. */
  async one(which: Which, messageId: string): Promise<OutputDeliveryDetails> {
    const subscription = await ownedSubscription(this.log, which);
    return await this.detailsOf(which, subscription, await this.delivery(which, messageId));
  }

  async detailsOf(
    { kind, id }: Which,
    subscription: OwnedSubscription,
    stored: ListedDelivery,
  ): Promise<OutputDeliveryDetails> {
    const listed = withoutCancelled(stored, subscription.state);
    const waiting = await this.waiting(id, subscription.state);
    const isWaiting =
      listed.state === 'due' || listed.state === 'retrying' || listed.redelivery !== undefined;
    const message = isWaiting
      ? await this.toSend(kind, subscription, listed)
      : await this.asSent(kind, listed);
    return toDetails(listed, message, waiting);
  }

  /** A message of the subscription. Raises CON_540. */
  async delivery({ id }: Which, messageId: string): Promise<ListedDelivery> {
    const found = MESSAGE_ID.test(messageId) ? await deliveryOf(this.store, messageId) : undefined;
    if (found?.subscriptionId === id) return found;
    throw fault.unknownDelivery(
      `${messageId.slice(0, 100)}: expected the id of a message of this subscription that is still kept`,
    );
  }

  /** The message as it is sent next, by the current version of its receiver; undefined if it is no longer kept. */
  async toSend(
    topic: Topic,
    { state, position }: OwnedSubscription,
    listed: ListedDelivery,
  ): Promise<Message | undefined> {
    const message = await this.message(listed);
    return message && (await new Rendering(this.log, [topic]).toSend(message, state, position));
  }

  private async asSent(topic: Topic, listed: ListedDelivery): Promise<Message | undefined> {
    const message = await this.message(listed);
    return message && (await new Rendering(this.log, [topic]).asSent(message, listed.rendered));
  }

  /** As it was made, from the delivery log; undefined if it has expired there. */
  private async message({ matched, messageId }: ListedDelivery): Promise<Message | undefined> {
    return await messageIn(await this.parts.deliveries(), messageId, matched);
  }

  private async waiting(id: string, subscription: ActiveSubscription): Promise<WaitingReceivers> {
    const held = heldReceivers(id, subscription);
    const receivers = receiversOf(id, subscription.content).keys();
    return {
      isHeld: (receiver) => held.has(receiver),
      restingUntil: await this.resting(receivers),
    };
  }

  /** Until when (epoch ms) receivers rest, by id. */
  async resting(receivers: Iterable<string>): Promise<ReadonlyMap<string, number>> {
    return await restingUntil(this.store, receivers, this.clock.now().getTime());
  }

  private async owned(which: Which): Promise<ActiveSubscription> {
    return (await ownedSubscription(this.log, which)).state;
  }
}

/** A message as it was made; undefined if it has expired in the delivery log. */
export async function messageIn(
  deliveries: EventLog,
  messageId: string,
  from: number,
): Promise<Message | undefined> {
  for await (const [event] of deliveries.readStream(MATCHED, { from, limit: 1 })) {
    if (event?.revision !== from || event.type !== 'MessageDue') return undefined;
    const message = JSON.parse(event.data) as Message;
    return message.id === messageId ? message : undefined;
  }
  return undefined;
}

const MESSAGE_ID = /^msg_[0-9a-v]{32}$/;

function criteriaOf(
  id: string,
  keys: DeliveryKeys,
  states: readonly StateCriterion[] | undefined,
): DeliveryCriteria {
  const { receiverId, transactionId, messageTypeId, minTime, maxTime } = keys;
  return {
    subscriptionId: [id],
    receiver: given(receiverId),
    subject: given(transactionId),
    stateId: given(messageTypeId),
    states,
    at: { min: minTime, max: maxTime },
  };
}

/** `held` is what is due or retried to a receiver that is disabled; then it is nothing else. */
function statesOf(
  states: readonly OutputState[],
  id: string,
  subscription: ActiveSubscription,
): readonly StateCriterion[] | undefined {
  if (states.length === 0) return undefined;
  const held = heldReceivers(id, subscription);
  const others = [...receiversOf(id, subscription.content).keys()].filter((receiver) => !held.has(receiver));
  return states.flatMap((state): readonly StateCriterion[] => {
    if (state === 'held')
      return (['due', 'retrying'] as const).map((waiting) => ({ state: waiting, receivers: [...held] }));
    const isWaiting = state === 'due' || state === 'retrying';
    return [isWaiting && held.size > 0 ? { state, receivers: others } : { state }];
  });
}
