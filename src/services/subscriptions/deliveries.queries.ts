import { Inject, Injectable } from '@nestjs/common';
import {
  countWaiting,
  type DeliveryCriteria,
  deliveryOf,
  listDeliveries,
  type StateCriterion,
} from '../../../projections/deliveries';
import { restingUntil, totalsOfReceivers } from '../../../projections/receivers';
import { Rerenderer } from '../../delivery/matching/rerender';
import { conversionFaults as fault } from '../../domain/subscriptions/faults';
import { MATCHED, type Message } from '../../domain/deliveries/delivery-events';
import { withoutCancelled } from '../../domain/deliveries/redelivery';
import {
  type ListedDelivery,
  type ReceiverTotals,
  type StoredAttempt,
} from '../../domain/deliveries/stored-delivery';
import { originOf, receiversOf } from '../../domain/subscriptions/receiver-id';
import { sentUrl } from '../../domain/subscriptions/template';
import {
  type ActiveSubscription,
  type Cancellations,
  type Receiver,
  subscriptionDecider,
} from '../../domain/subscriptions/subscription';
import { type Topic } from '../../domain/subscriptions/topic';
import { TOPICS } from '../../domain/topics';
import { type FoundList } from '../../http/answer';
import { eventAt, load } from '../../kernel/decider';
import { EventLog } from '../../kernel/event-log';
import { type QueryOptions } from '../../kernel/query';
import { ReadStore } from '../../kernel/read-store';
import { defined } from '../../kernel/values';
import { eachOf } from '../../projector/search-in-parts';
import { Clock } from '../../runtime/clock';
import { given } from '../../wire/keys/keys';
import { sizeOf } from '../../wire/keys/pages';
import {
  deliveryCursors,
  type DeliveryKeys,
  namedFor,
  type OperatorsDelivery,
  type OperatorsDeliveryDetails,
  type OperatorsReceiver,
  type OutputDelivery,
  type OutputDeliveryDetails,
  type OutputReceiver,
  type OutputState,
  type OutputTotals,
} from './deliveries.fields';
import {
  type OwnedSubscription,
  ownedSubscription,
  SubscriptionParts,
  type Which,
} from './subscription.queries';

/** What owners may read of their messages (`docs/decisions.md#n14`). All raise CON_200 and CON_210. */
@Injectable()
export class DeliveryQueries {
  constructor(
    private readonly store: ReadStore,
    private readonly log: EventLog,
    @Inject(SubscriptionParts) private readonly parts: Pick<SubscriptionParts, 'deliveries'>,
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
      namedFor(which.topic, toDelivery(withoutCancelled(listed, subscription), waiting)),
    );
    const nextCursor = deliveryCursors.next(keys, found);
    return { items, total: found.total, requested: keys.pageSize, nextCursor };
  }

  /** Raises CON_540 too. */
  async one(which: Which, messageId: string): Promise<OutputDeliveryDetails> {
    const subscription = await ownedSubscription(this.log, which);
    const stored = await this.delivery(which, messageId);
    return await this.detailsOf(which, subscription, withoutCancelled(stored, subscription.state));
  }

  /** A message of any subscription, also of a deleted one, as operators see it; undefined if it is not kept. */
  async any(messageId: string): Promise<OperatorsDeliveryDetails | undefined> {
    const listed = MESSAGE_ID.test(messageId) ? await deliveryOf(this.store, messageId) : undefined;
    if (listed === undefined) return undefined;
    const { subscriptionId: id, organisationId } = listed;
    const topic = TOPICS[listed.topic];
    const { state, ...at } = await load(this.log, subscriptionDecider, id);
    const details =
      state.is === 'active'
        ? await this.detailsOf(
            { topic, id, caller: { organisationId } },
            { ...at, state },
            withoutCancelled(listed, state),
          )
        : toDetails(listed, await this.asSent(topic, listed), NOBODY_WAITS);
    const named = namedFor(topic, details);
    return {
      organisationId,
      subscriptionId: id,
      ...named,
      state: listed.state,
      held: details.state === 'held',
    };
  }

  async detailsOf(
    { topic, id }: Which,
    subscription: OwnedSubscription,
    listed: ListedDelivery,
  ): Promise<OutputDeliveryDetails> {
    const waiting = await this.waiting(id, subscription.state);
    const willBeSent = isWaiting(listed.state) || listed.redelivery !== undefined;
    const message = willBeSent
      ? await this.toSend(topic, subscription, listed)
      : await this.asSent(topic, listed);
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
    return message && (await new Rerenderer(this.log, [topic]).toSend(message, state, position));
  }

  private async asSent(topic: Topic, listed: ListedDelivery): Promise<Message | undefined> {
    const message = await this.message(listed);
    return message && (await new Rerenderer(this.log, [topic]).asSent(message, listed.rendered));
  }

  private async message({ matched, messageId }: ListedDelivery): Promise<Message | undefined> {
    return await messageIn(await this.parts.deliveries(), messageId, matched);
  }

  private async waiting(id: string, subscription: ActiveSubscription): Promise<WaitingReceivers> {
    const held = heldReceivers(id, subscription);
    const receivers = receiversOf(id, subscription.content).keys();
    return { isHeld: (receiver) => held.has(receiver), restingUntil: await this.resting(receivers) };
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
  const event = await eventAt(deliveries, MATCHED, from);
  if (event?.type !== 'MessageDue') return undefined;
  const message = JSON.parse(event.data) as Message;
  return message.id === messageId ? message : undefined;
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
    return [isWaiting(state) && held.size > 0 ? { state, receivers: others } : { state }];
  });
}

/** What keeps messages for a receiver waiting, beside their schedule. */
export interface WaitingReceivers {
  /** They are held (`docs/decisions.md#n8`). */
  readonly isHeld: (receiverId: string) => boolean;
  /** Until when (epoch ms) it rests, if it does (`docs/decisions.md#n7`). */
  readonly restingUntil: ReadonlyMap<string, number>;
}

const NOBODY_WAITS: WaitingReceivers = { isHeld: () => false, restingUntil: new Map() };

/** Those of a subscription that its owner or the system has disabled. */
export function heldReceivers(id: string, subscription: ActiveSubscription): ReadonlySet<string> {
  const { content, disabledReceivers } = subscription;
  const held = [...receiversOf(id, content)].filter(
    ([receiver, { disabled }]) =>
      content.disabled === true || disabled === true || receiver in disabledReceivers,
  );
  return new Set(held.map(([receiver]) => receiver));
}

export function toDelivery(listed: ListedDelivery, waiting: WaitingReceivers): OutputDelivery {
  const { messageId, receiver, subject, stateId, sequence, at, changed, attempts, redelivery } = listed;
  const isHeld = waiting.isHeld(receiver);
  const last = attempts.at(-1);
  const next = isHeld ? undefined : nextOf(listed, waiting.restingUntil.get(receiver));
  const lastError = last?.error ?? listed.reason;
  return defined({
    ...{ messageId, receiverId: receiver, transactionId: subject, messageTypeId: stateId },
    ...{ sequenceNumber: String(sequence), time: at },
    state: isHeld && isWaiting(listed.state) ? ('held' as const) : listed.state,
    ...{ changed, attempts: listed.attempted, lastStatus: last?.status, lastError },
    ...{ nextAttempt: next, redeliveryRequested: redelivery },
    test: listed.isTest === true,
  });
}

function isWaiting(state: OutputState): boolean {
  return state === 'due' || state === 'retrying';
}

/** When a message is attempted next (ISO 8601), unless at once or never: its receiver may rest longer. */
function nextOf(
  { state, next, redelivery }: ListedDelivery,
  restingUntil: number | undefined,
): string | undefined {
  if (!isWaiting(state) && redelivery === undefined) return undefined;
  const scheduled = redelivery === undefined ? next : undefined;
  const isLater =
    restingUntil !== undefined && (scheduled === undefined || restingUntil > Date.parse(scheduled));
  return isLater ? new Date(restingUntil).toISOString() : scheduled;
}

function toDetails(
  listed: ListedDelivery,
  message: Message | undefined,
  waiting: WaitingReceivers,
): OutputDeliveryDetails {
  const request = message && requestOf(message);
  return defined({ ...toDelivery(listed, waiting), request, lastAttempts: listed.attempts.map(toAttempt) });
}

function requestOf({ id, sequence, request, isTest }: Message): OutputDeliveryDetails['request'] {
  if (request === undefined) return undefined;
  const { method, url, contentType, body } = request;
  const headers = {
    ...(contentType === undefined ? {} : { 'content-type': contentType }),
    'webhook-id': id,
    'webhook-sequence': String(sequence),
    ...(isTest === true ? { 'webhook-test': 'true' } : {}),
  };
  return {
    method,
    // Messages that were made earlier have the text that was normalised when it was sent.
    url: sentUrl(url)?.href ?? url,
    headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
    ...(body === undefined ? {} : { body }),
  };
}

function toAttempt({ attempt, at, ms, status, error, answer, isManual }: StoredAttempt) {
  const milliseconds = ms && Math.round(ms);
  return defined({ attempt, time: at, status, error, milliseconds, answer, manual: isManual === true });
}

/** A receiver of a subscription; without totals nothing was sent to it. */
function toReceiver(
  [receiverId, receiver]: readonly [string, Receiver],
  { content, disabledReceivers }: ActiveSubscription,
  totals: ReceiverTotals | undefined,
  restingUntil: number | undefined,
): OutputReceiver {
  const { httpMethod, receiverUrl, disabled } = receiver;
  const bySystem = disabledReceivers[receiverId];
  const isByOwner = disabled === true || content.disabled === true;
  const state =
    isByOwner || bySystem !== undefined
      ? ({ state: 'disabled', disabledBy: isByOwner ? 'owner' : 'system' } as const)
      : ({ state: 'enabled' } as const);
  return {
    receiverId,
    ...state,
    ...(bySystem === undefined ? {} : { disabledReason: bySystem.reason }),
    ...(state.state === 'disabled' ? {} : toRest(restingUntil)),
    ...{ httpMethod, receiverUrl },
    ...toTotals(totals ?? NOTHING),
  };
}

function toRest(restingUntil: number | undefined): { readonly restingUntil?: string } {
  return restingUntil === undefined ? {} : { restingUntil: new Date(restingUntil).toISOString() };
}

const NOTHING = { attempts: 0, failed: 0, delivered: 0, dead: 0 } as const;

function toTotals(
  totals: Omit<ReceiverTotals, 'receiver' | 'subscriptionId' | 'organisationId'>,
): OutputTotals {
  const { attempts, failed, delivered, dead, failingSince } = totals;
  const lastSuccess = totals.lastSuccess && toEnded(totals.lastSuccess);
  const lastFailure = totals.lastFailure && toEnded(totals.lastFailure);
  return defined({ attempts, failed, delivered, dead, failingSince, lastSuccess, lastFailure });
}

export function toOperatorsDelivery(listed: ListedDelivery, waiting: WaitingReceivers): OperatorsDelivery {
  const { state, ...output } = toDelivery(listed, waiting);
  return {
    organisationId: listed.organisationId,
    subscriptionId: listed.subscriptionId,
    ...namedFor(TOPICS[listed.topic], output),
    state: listed.state,
    held: state === 'held',
  };
}

function toEnded({ at, ...rest }: NonNullable<ReceiverTotals['lastFailure']>) {
  return { time: at, ...rest };
}

/** Which messages of a subscription are held or cancelled, in its state. */
interface HeldMessages {
  readonly held: ReadonlySet<string>;
  /** Scheme and host of receivers, by their ids. */
  readonly origins: ReadonlyMap<string, string>;
  /** Undefined without a subscription. */
  readonly cancellations: Cancellations | undefined;
}

const NONE_HELD: HeldMessages = { held: new Set(), origins: new Map(), cancellations: undefined };

/** Without the content of the subscription, which may be large. */
function heldIn(id: string, state: ActiveSubscription): HeldMessages {
  const { redeliveriesCancelled, createdAt, content } = state;
  const receivers = [...receiversOf(id, content)];
  const origins = new Map(receivers.map(([receiver, { receiverUrl }]) => [receiver, originOf(receiverUrl)]));
  return { held: heldReceivers(id, state), origins, cancellations: { redeliveriesCancelled, createdAt } };
}

/** What keeps messages of any subscriptions waiting. Each subscription is read once. Disabled receivers do not rest. */
export class AnyWaiting {
  private readonly subscriptions = new Map<string, HeldMessages>();

  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
  ) {}

  async of(
    listed: readonly Pick<ListedDelivery, 'subscriptionId' | 'receiver'>[],
    now: Date,
  ): Promise<WaitingReceivers> {
    const held = new Set<string>();
    for (const { subscriptionId, receiver } of listed)
      if ((await this.heldOf(subscriptionId)).held.has(receiver)) held.add(receiver);
    const others = listed.map(({ receiver }) => receiver).filter((receiver) => !held.has(receiver));
    return {
      isHeld: (receiver) => held.has(receiver),
      restingUntil: await restingUntil(this.store, others, now.getTime()),
    };
  }

  /** Messages as they are since their owners have cancelled redeliveries. */
  async current(listed: readonly ListedDelivery[]): Promise<readonly ListedDelivery[]> {
    const current: ListedDelivery[] = [];
    for (const one of listed) {
      const { cancellations } = await this.heldOf(one.subscriptionId);
      current.push(cancellations === undefined ? one : withoutCancelled(one, cancellations));
    }
    return current;
  }

  /** Receivers as operators see them. */
  async receivers(listed: readonly ReceiverTotals[], now: Date): Promise<readonly OperatorsReceiver[]> {
    const { isHeld, restingUntil: resting } = await this.of(listed, now);
    return await Promise.all(
      listed.map(async ({ receiver, organisationId, subscriptionId, ...totals }) => ({
        ...{ organisationId, subscriptionId, receiverId: receiver },
        ...defined({ receiverUrl: (await this.heldOf(subscriptionId)).origins.get(receiver) }),
        disabled: isHeld(receiver),
        ...(isHeld(receiver) ? { held: await countWaiting(this.store, receiver) } : {}),
        ...toRest(resting.get(receiver)),
        ...toTotals(totals),
      })),
    );
  }

  private async heldOf(subscriptionId: string): Promise<HeldMessages> {
    const known = this.subscriptions.get(subscriptionId);
    if (known !== undefined) return known;
    const { state } = await load(this.log, subscriptionDecider, subscriptionId);
    const read = state.is === 'active' ? heldIn(subscriptionId, state) : NONE_HELD;
    this.subscriptions.set(subscriptionId, read);
    return read;
  }
}
