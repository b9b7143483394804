import { type DeliveryCriteria, deliveryOf, listDeliveries } from '../../projections/deliveries';
import { listReceivers, type ReceiverCriteria } from '../../projections/receivers';
import {
  type ListedSubscription,
  listSubscriptions,
  type SubscriptionCriteria,
} from '../../projections/subscriptions';
import { continueFromHere } from '../delivery/matching/cursor';
import { Rerenderer } from '../delivery/matching/rerender';
import { conversionFaults as fault } from '../domain/subscriptions/faults';
import { takeDeliveries } from '../domain/deliveries/ownership';
import { decideRedelivery } from '../domain/deliveries/redelivery';
import { type ListedDelivery } from '../domain/deliveries/stored-delivery';
import { appendRequests } from '../domain/subscriptions/delivery-requests';
import { subscriptionDecider, TOPIC_NAMES } from '../domain/subscriptions/subscription';
import { stateField } from '../domain/subscriptions/topic';
import { TOPICS } from '../domain/topics';
import { type Engines } from '../engines/open';
import { type Clock, SYSTEM_CLOCK } from '../runtime/clock';
import { load } from '../kernel/decider';
import { type EventLog } from '../kernel/event-log';
import { Fault, Faults } from '../kernel/fault';
import { type Cursor, type QueryOptions } from '../kernel/query';
import { defined, without } from '../kernel/values';
import { directoryAt } from '../network/directory';
import { eachOf } from '../projector/search-in-parts';
import { Subscriptions } from '../services/subscriptions/commands';
import {
  AnyWaiting,
  DeliveryQueries,
  heldReceivers,
  messageIn,
  toOperatorsDelivery,
  type WaitingReceivers,
} from '../services/subscriptions/deliveries.queries';
import {
  type OperatorsDeliveryDetails,
  type OperatorsReceiver,
} from '../services/subscriptions/deliveries.fields';
import { postedState } from '../services/subscriptions/fields';
import { RedeliveryCommands } from '../services/subscriptions/deliveries.commands';
import { ReceiverCommands, type Tested } from '../services/subscriptions/receivers.commands';
import {
  missingSubscription,
  ownedSubscription,
  toOutput,
  type Which,
} from '../services/subscriptions/subscription.queries';
import { type Config } from '../settings/config';
import { counted, deliveryText } from './explain-notifications';
import { ownerOf, secretsOf } from './installation';
import { type ProjectedEngines } from './rebuild';
import { transactionIdsOf } from './show-transaction';
import { NothingThere, UsageError } from './command-error';
import { maskedReceivers } from './log-events';

const PAGE = 1000;
const RECEIVERS = 100;

/** A line for each receiver that anything was sent to, those that were used last first. */
export async function* receiverLines(
  { log, store }: Pick<Engines, 'log' | 'store'>,
  criteria: ReceiverCriteria,
  { now, json = false }: { readonly now: Date; readonly json?: boolean | undefined },
): AsyncGenerator<string> {
  const anyWaiting = new AnyWaiting(log, store);
  for (let after: Cursor | null | undefined = null; after !== undefined;) {
    const page = { size: RECEIVERS, after };
    const found: Awaited<ReturnType<typeof listReceivers>> = await listReceivers(store, criteria, page);
    for (const one of await anyWaiting.receivers(found.receivers, now))
      yield json ? JSON.stringify(one) : receiverLine(one);
    after = found.next;
  }
}

function receiverLine(one: OperatorsReceiver): string {
  const { receiverId, receiverUrl = 'no longer in its subscription', organisationId, subscriptionId } = one;
  const { attempts, failed, delivered, dead, failingSince, restingUntil, disabled, held = 0 } = one;
  const last = one.lastFailure;
  const trouble =
    failingSince === undefined
      ? []
      : [`failing since ${failingSince}: ${last?.error ?? last?.status ?? 'unknown'}`];
  return [
    receiverId,
    receiverUrl,
    ...[`organisation ${organisationId}`, `subscription ${subscriptionId}`],
    `${counted(attempts, 'attempt')}, ${failed} failed, ${delivered} delivered, ${dead} dead`,
    ...trouble,
    ...(restingUntil === undefined ? [] : [`resting until ${restingUntil}`]),
    ...(disabled ? [`disabled, ${counted(held, 'message')} held`] : []),
  ].join('\t');
}

interface NotificationParts extends ProjectedEngines {
  readonly clock: Clock;
}

function queriesOf({ log, store, deliveries, clock }: NotificationParts): DeliveryQueries {
  return new DeliveryQueries(store, log, { deliveries }, clock);
}

/** The subscriptions of all organisations with their receivers, the oldest first (`docs/decisions.md#x130`). */
export async function anySubscriptions(
  parts: NotificationParts,
  criteria: SubscriptionCriteria,
  page: { readonly offset?: number; readonly size?: number } = {},
  query: QueryOptions = {},
) {
  const queries = queriesOf(parts);
  const found = await listSubscriptions(parts.store, criteria, query, page);
  const items = async function* () {
    for await (const batch of eachOf(found, (one) => one))
      for (const one of batch) yield [await withReceivers(queries, one)] as const;
  };
  return { items: items(), total: found.total };
}

export type AnySubscription = Awaited<ReturnType<typeof withReceivers>>;

async function withReceivers(queries: DeliveryQueries, listed: ListedSubscription) {
  const { organisationId, topic: name, subscriptionId, content } = listed;
  const topic = TOPICS[name];
  const which = { topic, id: subscriptionId, caller: { organisationId } };
  // None if the subscription was deleted meanwhile.
  const receivers = await queries.receivers(which).catch((error: unknown) => {
    if (error instanceof Fault || error instanceof Faults) return [];
    throw error;
  });
  const output = { ...content, ...toOutput(topic, subscriptionId, content) };
  const { subscriptionName, siteId, disabled, filter } = output;
  return {
    ...{
      organisationId,
      topic: name,
      subscriptionId,
      ...defined({ subscriptionName, siteId }),
      disabled,
      filter,
    },
    receivers: maskedReceivers(receivers) ?? [],
  };
}

/** A message of any subscription with its request and last attempts. Raises `NothingThere`. */
export async function anyMessage(parts: NotificationParts, id: string): Promise<OperatorsDeliveryDetails> {
  const found = await queriesOf(parts).any(id);
  if (found !== undefined) return found;
  throw new NothingThere(`${id.slice(0, 100)}: expected the id of a message that is still kept`);
}

interface LineOptions {
  readonly most: number;
  readonly now: Date;
  /** Lines of JSON. */
  readonly json?: boolean | undefined;
  /** Receives the number of all messages found, those that are not listed included. */
  readonly count: (total: number) => void;
}

/** Ids of what messages are about: of transactions also `legacyTransactionId`. */
export type SubjectIds = Readonly<
  Partial<Record<'transaction' | 'claim' | 'voucher' | 'product', readonly string[] | undefined>>
>;

/** Messages about these, whatever their topics; without any, about everything. */
export async function aboutSubjects(
  log: EventLog,
  { transaction = [], claim = [], voucher = [], product = [] }: SubjectIds,
): Promise<Pick<DeliveryCriteria, 'subject' | 'topic'>> {
  const transactions = await Promise.all(transaction.map((id) => transactionIdsOf(log, id)));
  const subject = [...transactions.flat(), ...claim, ...voucher, ...product];
  const named = { transactions: transaction, claims: claim, vouchers: voucher, products: product };
  const topic = TOPIC_NAMES.filter((name) => named[name].length > 0);
  return topic.length === 0 ? {} : { subject, topic };
}

/** A line for each message, newest first, `most` at most. */
export async function* deliveryLines(
  { log, store }: Pick<Engines, 'log' | 'store'>,
  criteria: DeliveryCriteria,
  { most, now, count, json = false }: LineOptions,
): AsyncGenerator<string> {
  const anyWaiting = new AnyWaiting(log, store);
  let left = most;
  for (let after: Cursor | null | undefined = null; after !== undefined && left > 0;) {
    const page = { size: Math.min(PAGE, left), after };
    const found: Awaited<ReturnType<typeof listDeliveries>> = await listDeliveries(store, criteria, page);
    const { groups, next, total } = found;
    count(total);
    for await (const batch of groups) {
      const listed = await anyWaiting.current(batch.flat());
      const waiting = await anyWaiting.of(listed, now);
      for (const one of listed)
        yield json ? JSON.stringify(toOperatorsDelivery(one, waiting)) : deliveryLine(one, waiting);
    }
    left -= page.size;
    after = next;
  }
}

function deliveryLine(listed: ListedDelivery, waiting: WaitingReceivers): string {
  const { messageId, at, topic, subject, stateId, receiver } = listed;
  return [
    at,
    messageId,
    `${TOPICS[topic].subject} ${subject}`,
    `state ${stateId}`,
    `receiver ${receiver}`,
    deliveryText(listed, waiting),
  ].join('\t');
}

/**
 * Has a message sent again, as its owner may, also if it is asked for already. Returns when it is attempted next, as
 * the API answers it; undefined if it is held. Raises `UsageError`.
 */
export async function redeliver(
  { log, store, deliveries }: ProjectedEngines,
  messageId: string,
  now: Date,
): Promise<{ readonly nextAttempt: string | undefined }> {
  const listed = await deliveryOf(store, messageId);
  if (listed === undefined)
    throw new UsageError(`${messageId}: expected the id of a message that is still kept`);
  const { subscriptionId, receiver, matched, topic } = listed;
  const { state: subscription, position } = await load(log, subscriptionDecider, subscriptionId);
  const kept = await messageIn(await deliveries(), messageId, matched);
  const rerenderer = new Rerenderer(log, [TOPICS[topic]]);
  const message =
    kept !== undefined && subscription.is === 'active'
      ? await rerenderer.toSend(kept, subscription, position)
      : kept;
  const at = now.toISOString();
  const known = { subscription, listed, message, lastRequest: undefined };
  const decision = decideRedelivery(known, { at, mayRepeat: true });
  if (decision.is === 'refused') throw new UsageError(decision.reason);
  if (decision.is === 'requested')
    await appendRequests(SYSTEM_CLOCK, log, subscriptionId, [decision.request]);
  const isHeld = subscription.is === 'active' && heldReceivers(subscriptionId, subscription).has(receiver);
  return { nextAttempt: isHeld ? undefined : at };
}

/** As they are sent, unchecked. */
export interface RedeliveredPeriod {
  readonly minTime: string;
  readonly maxTime: string;
  readonly receiverId?: string | undefined;
  readonly state?: string | undefined;
  readonly cursor?: string | undefined;
  readonly dryRun?: boolean | undefined;
}

/**
 * Has dead letters, or others, of a subscription and a period sent again, as its owner may: at most 10,000, without
 * those that are asked for already. With `dryRun` they are only counted. Raises `UsageError`.
 */
export async function redeliverAll(
  parts: NotificationParts,
  subscriptionId: string,
  period: RedeliveredPeriod,
) {
  const { log, store } = parts;
  return await refusing(async () => {
    const which = await ofOwner(log, subscriptionId);
    const commands = new RedeliveryCommands(subscriptionsOf(log), queriesOf(parts), store, log);
    return without(await commands.redeliverAll(which, defined({ ...period })), 'position');
  });
}

export interface ReceiverOf {
  readonly subscriptionId: string;
  readonly receiverId: string;
}

export interface TestOptions {
  /** The state of the example; by default the first one of the filter. */
  readonly stateId: number | undefined;
  /** How long to wait for the outcome (ms). */
  readonly within: number;
  readonly signal: AbortSignal;
}

type ReceiverParts = Pick<Engines, 'log' | 'store'>;

/** Sends a test to a receiver of any owner, as its owner may (`docs/decisions.md#n16`). Raises `UsageError`. */
export async function testReceiver(
  { log, store }: ReceiverParts,
  { subscriptionId, receiverId }: ReceiverOf,
  { stateId, within, signal }: TestOptions,
): Promise<Tested> {
  return await refusing(async () => {
    const which = await ofOwner(log, subscriptionId);
    const tested = stateId === undefined ? undefined : await checkedState(log, which, stateId);
    const commands = new ReceiverCommands(subscriptionsOf(log), store, { testWithin: within });
    return await commands.test(which, receiverId, { stateId: tested, isGone: () => signal.aborted });
  });
}

/**
 * Enables a receiver of any owner, or has one that rests tried at once, as its owner may. False: its owner has disabled
 * it, which stays so. Raises `UsageError`.
 */
export async function enableReceiver(
  { log, store }: ReceiverParts,
  { subscriptionId, receiverId }: ReceiverOf,
): Promise<boolean> {
  return await refusing(async () => {
    const which = await ofOwner(log, subscriptionId);
    await new ReceiverCommands(subscriptionsOf(log), store, { testWithin: 0 }).enable(which, receiverId);
    const { state } = await ownedSubscription(log, which);
    return !heldReceivers(subscriptionId, state).has(receiverId);
  });
}

/** A command does not wait until lists of running servers show what it has done. */
function subscriptionsOf(log: EventLog): Subscriptions {
  return new Subscriptions(log, { after: async () => await log.head() }, SYSTEM_CLOCK);
}

async function ofOwner(log: EventLog, id: string): Promise<Which> {
  const { state } = await load(log, subscriptionDecider, id);
  if (state.is !== 'active') throw missingSubscription(id);
  const { topic, organisationId, content } = state;
  const { siteId } = content;
  const caller = { organisationId, ...(siteId === undefined ? {} : { siteId }) };
  return { topic: TOPICS[topic], id, caller };
}

async function checkedState(
  log: EventLog,
  { topic, caller }: Which,
  stateId: number,
): Promise<number | undefined> {
  const owner = (await directoryAt(log)).organisations.get(caller.organisationId);
  if (owner === undefined) throw fault.notRelated(`the organisation ${caller.organisationId} was removed`);
  return postedState(topic, { [stateField(topic.states)]: stateId }, owner);
}

/** Raises `UsageError` for what the API would answer as a fault. */
async function refusing<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const isFault = error instanceof Fault || error instanceof Faults;
    throw isFault ? new UsageError(error.message) : error;
  }
}

/**
 * Makes this installation the one that sends the notifications of its log. Without a delivery log, which a copy may
 * lack, nothing is sent about what happened before. False if it was the one already.
 */
export async function ownDeliveries(
  { log, deliveries }: Engines,
  config: Pick<Config, 'dataDir' | 'eventLog' | 'notifyKey'>,
): Promise<boolean> {
  const owner = await ownerOf(config, await secretsOf(config));
  if (!(await takeDeliveries(SYSTEM_CLOCK, log, owner))) return false;
  await continueFromHere(SYSTEM_CLOCK, await deliveries(), log);
  return true;
}
