import { Injectable } from '@nestjs/common';
import { listSubscriptions } from '../../../projections/subscriptions';
import { conversionFaults as fault } from '../../domain/subscriptions/faults';
import { receiverIdOf, receiversOf } from '../../domain/subscriptions/receiver-id';
import {
  type ActiveSubscription,
  type Receiver,
  type Secrets,
  type SubscriptionContent,
  subscriptionDecider,
} from '../../domain/subscriptions/subscription';
import { type SubscriptionTopic, type Topic } from '../../domain/subscriptions/topic';
import { load, type Loaded } from '../../kernel/decider';
import { EventLog } from '../../kernel/event-log';
import { type QueryOptions } from '../../kernel/query';
import { ReadStore } from '../../kernel/read-store';
import { defined, without } from '../../kernel/values';
import { type Caller } from '../../network/organisations';
import { eachOf } from '../../projector/search-in-parts';
import { type OutputSecret, type OutputSubscription } from './fields';

/** What subscriptions need of others, provided by the process; the container's token for it. */
export abstract class SubscriptionParts {
  /** The log of deliveries, opened when it is first needed. Raises `EngineUnavailable`. */
  abstract readonly deliveries: () => Promise<EventLog>;
  /** Raises `EngineUnavailable`. */
  abstract readonly secrets: () => Secrets;
  /** How long a request for a test waits for its outcome (ms). */
  abstract readonly testWithin: number;
  /** How long messages are kept (ms). */
  abstract readonly keepMs: number;
  /** What is wrong with host and port of a URL, if anything, after the field's name (`docs/decisions.md#n9`). */
  abstract readonly addressProblem: (url: URL) => string | undefined;
  /** Currencies that there are rates for; undefined as long as there are none (`docs/decisions.md#n12`). */
  abstract readonly convertible: () => ReadonlySet<string> | undefined;
}

/** What callers may read of their subscriptions (Document 2, Endpoints, Subscriptions). */
@Injectable()
export class SubscriptionQueries {
  constructor(
    private readonly store: ReadStore,
    private readonly log: EventLog,
    private readonly parts: SubscriptionParts,
  ) {}

  /** The caller's, oldest first. */
  async list(
    topic: SubscriptionTopic,
    { organisationId, siteId }: Caller,
    query: QueryOptions = {},
  ): Promise<AsyncIterable<Iterable<OutputSubscription>>> {
    const found = await listSubscriptions(this.store, { organisationId, siteId, topic: topic.name }, query);
    return eachOf(found, ({ subscriptionId, content }) => toOutput(topic, subscriptionId, content));
  }

  /** From its stream; raises CON_200 and CON_210, as `secret` does. */
  async one(which: Which): Promise<OutputSubscription> {
    const { state } = await ownedSubscription(this.log, which);
    return toOutput(which.topic, which.id, state.content);
  }

  async secret(which: Which): Promise<OutputSecret> {
    const { state } = await ownedSubscription(this.log, which);
    return this.secretOf(which.id, state);
  }

  /** `docs/decisions.md#n5`. */
  secretOf(id: string, { secret: { number, since } }: ActiveSubscription): OutputSecret {
    return { secret: this.parts.secrets().text(id, number), since };
  }
}

export function toOutput(
  { states }: SubscriptionTopic,
  subscriptionId: string,
  content: SubscriptionContent,
): OutputSubscription {
  const { subscriptionName, filter, receivers, currencyConversion, customAttribute } = content;
  const { disabled = false, strictOrder, siteId } = content;
  const { stateIds, ...lists } = filter;
  return defined({
    ...{ subscriptionId, subscriptionName },
    filter: { ...lists, [states.field]: stateIds },
    receivers: receivers.map((receiver) => toReceiver(subscriptionId, receiver)),
    ...{ currencyConversion, customAttribute, disabled, strictOrder, siteId },
  });
}

function toReceiver(subscriptionId: string, receiver: Receiver): OutputSubscription['receivers'][number] {
  const { disabled = false } = receiver;
  return { ...without(receiver, 'id'), disabled, receiverId: receiverIdOf(subscriptionId, receiver) };
}

const ID = /^[0-9a-f]{32}$/;

/** Who asks: a token for one site has the subscriptions for this site only (`docs/decisions.md#n11`). */
type SubscriptionOwner = Pick<Caller, 'organisationId' | 'siteId'>;

/** Which subscription: raises CON_200 or CON_210 unless it is the caller's. */
export interface Which {
  readonly topic: SubscriptionTopic;
  readonly id: string;
  readonly caller: SubscriptionOwner;
}

export type OwnedSubscription = Loaded<ActiveSubscription>;

/** A subscription of the caller, read from its stream. Raises CON_210 and CON_200. */
export async function ownedSubscription(
  log: EventLog,
  {
    topic,
    id,
    caller: { organisationId, siteId },
  }: Omit<Which, 'topic'> & { readonly topic: Pick<Topic, 'name'> },
): Promise<OwnedSubscription> {
  if (!ID.test(id)) throw missingSubscription(id);
  const { state, ...at } = await load(log, subscriptionDecider, id);
  if (state.is !== 'active' || state.topic !== topic.name) throw missingSubscription(id);
  if (state.organisationId !== organisationId)
    throw fault.notRelated(`${id}: expected a subscription of yours`);
  if (siteId !== undefined && state.content.siteId !== siteId)
    throw fault.notRelated(`${id}: the token is for site ${siteId}; expected a subscription for this site`);
  return { ...at, state };
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
