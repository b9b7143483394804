import { claimsOfOrder } from '../../projections/claims';
import { deliveryOf } from '../../projections/deliveries';
import { lastImports } from '../../projections/imports';
import { oldestSubscription } from '../../projections/subscriptions';
import { transactionsOfOrder } from '../../projections/transactions';
import { type ListedDelivery } from '../domain/deliveries/stored-delivery';
import { type Engines } from '../engines/open';
import { eventAt } from '../kernel/decider';
import { streamOf } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { type ReadStore } from '../kernel/read-store';
import {
  type Exclusion,
  type ExplainedEvent,
  type Explanation,
  explainMatches,
} from '../delivery/matching/explain';
import { claimTopic } from '../domain/claims/topic';
import { AnyWaiting, toDelivery, type WaitingReceivers } from '../services/subscriptions/deliveries.queries';
import { type Occurrence, partiesOf, type SubscriptionTopic } from '../domain/subscriptions/topic';
import { productTopic } from '../domain/products/topic';
import { transactionTopic } from '../domain/transactions/topic';
import { voucherTopic } from '../domain/vouchers/topic';
import { transactionNamed } from './show-transaction';
import { NothingThere } from './command-error';

interface Subject {
  readonly topic: SubscriptionTopic;
  readonly id: string;
}

const FEED_OR_PRODUCT = /^(\d{1,15})(?:-(.+))?$/s;

/**
 * What an id names: the claim, voucher and feed that there are, a product of a feed that there is, and a transaction by
 * either of its ids, of which a `legacyTransactionId` may look like any of them.
 */
async function subjectsNamed(log: EventLog, id: string): Promise<readonly Subject[]> {
  // Other streams have names that begin alike.
  const [, feedId, sourceProductId] = FEED_OR_PRODUCT.exec(id) ?? [];
  const streams = [
    ...(sourceProductId === undefined
      ? [claimTopic, voucherTopic].map((topic) => ({ topic, stream: topic.streamOf(id) }))
      : []),
    { topic: productTopic, stream: streamOf('feedinfo', feedId ?? '') },
  ];
  const found = (feedId === undefined ? [] : streams).map(async ({ topic, stream }) =>
    (await eventAt(log, stream, 0)) === undefined ? [] : [{ topic, id }],
  );
  const subjects: Subject[] = (await Promise.all(found)).flat();
  const transactionId = await transactionNamed(log, id);
  if (transactionId !== undefined) subjects.push({ topic: transactionTopic, id: transactionId });
  return subjects;
}

/** Transactions and claims of an order. */
const MOST_OF_ORDER = 20;

/** Those with an order number. */
async function subjectsOfOrder(store: ReadStore, orderNumber: string): Promise<readonly Subject[]> {
  const transactions = await transactionsOfOrder(store, orderNumber, MOST_OF_ORDER);
  const claims = await claimsOfOrder(store, orderNumber, MOST_OF_ORDER);
  return [
    ...transactions.map((id) => ({ topic: transactionTopic, id })),
    ...claims.map((id) => ({ topic: claimTopic, id: String(id) })),
  ];
}

/**
 * Why messages about a transaction, claim, voucher or product were sent, or not, as text: for each of its transitions,
 * what each subscription of its parties made of it, and the states of its messages. `named` is a `transactionId`, a
 * `legacyTransactionId`, a `claimId`, a `voucherId`, a `productId`, or the id of a message, of which there is only the
 * state; what is none of these may be an order number. Of a product or feed without changes it says so, and when
 * something was loaded last. Raises `UsageError`.
 */
export async function* explainNotifications(
  { log, store }: Pick<Engines, 'log' | 'store'>,
  named: string,
  { only, now }: { readonly only?: string | undefined; readonly now: Date },
): AsyncGenerator<string> {
  const stateOf = stateReader(store, new AnyWaiting(log, store), now);
  const byId = await subjectsNamed(log, named);
  const message = byId.length === 0 ? await deliveryOf(store, named) : undefined;
  if (message !== undefined) {
    yield messageLine(message, await stateOf(named));
    return;
  }
  let isFound = false;
  let isUnchanged = false;
  for (const { topic, id } of byId.length === 0 ? await subjectsOfOrder(store, named) : byId) {
    const events = [...(await explainMatches(log, topic, topic.streamOf(id), { only, subject: id }))];
    // Those of a feed are in one stream: what is no change is of no product.
    const explained =
      topic === productTopic ? events.filter(({ occurrence }) => occurrence !== undefined) : events;
    if (explained.length > 0) yield* linesOf(explained, topic, id, only, stateOf);
    isFound ||= explained.length > 0;
    isUnchanged ||= topic === productTopic;
  }
  if (isFound) return;
  if (!isUnchanged)
    throw new NothingThere(
      `${named}: expected the transactionId, the legacyTransactionId or the order number of a transaction, the claimId or ` +
        'the order number of a claim, the id of a voucher, of a product (<feedId>-<sourceProductId>) or feed, or that of a ' +
        'message',
    );
  yield* unchangedLines(store, named);
}

/** Of a product or feed that nothing has happened to. */
async function* unchangedLines(store: ReadStore, id: string): AsyncGenerator<string> {
  const [, feedId = '', sourceProductId] = FEED_OR_PRODUCT.exec(id) ?? [];
  const names = Object.values(productTopic.states.ids).map(({ name }) => name.toLowerCase());
  yield `${sourceProductId === undefined ? 'feed' : 'product'} ${id}`;
  yield `   nothing has happened to it that one is notified of: ${names.join(', ')}`;
  const since = await oldestSubscription(store, 'products');
  yield since === undefined
    ? '   nobody has subscribed to products, and changes are recorded only while somebody has'
    : `   changes are recorded while somebody has subscribed to them: since position ${since}`;
  for await (const some of await lastImports(store, Number(feedId)))
    for (const { time, mode, status, ...counts } of some) {
      const { new: listed, revised, repriced, removed } = counts;
      yield (
        `   the last load of feed ${feedId} was at ${time}: ${mode}, ${status}; ${listed} new, ${revised} revised, ` +
        `${repriced} with another price, ${removed} removed`
      );
      return;
    }
  yield `   nothing was loaded to feed ${feedId} yet`;
}

async function* linesOf(
  explained: readonly ExplainedEvent[],
  topic: SubscriptionTopic,
  id: string,
  only: string | undefined,
  stateOf: (message: string) => Promise<string>,
): AsyncGenerator<string> {
  yield `${topic.subject} ${id}`;
  for (const event of explained) {
    yield headingOf(event, topic);
    if (event.occurrence !== undefined && event.subscriptions.length === 0)
      yield only === undefined
        ? `   ${partiesText(event.occurrence)} have never had a subscription to ${topic.name}`
        : `   there has never been a subscription ${only} to ${topic.name}`;
    for (const { id: subscription, organisationId, seen, explanation } of event.subscriptions) {
      const as =
        seen.stateId === event.occurrence?.stateId ? '' : ` as ${topic.states.ids[seen.stateId]?.name ?? ''}`;
      yield `   subscription ${subscription} of organisation ${organisationId}: ${textOf(explanation, event, topic)}${as}`;
      if (explanation.is !== 'matched') continue;
      for (const { id: receiver, message } of explanation.receivers)
        yield `      receiver ${receiver}: ${message === undefined ? DISABLED : await stateOf(message)}`;
    }
  }
}

function messageLine(message: ListedDelivery, state: string): string {
  const { subscriptionId, receiver, topic, subject, at } = message;
  return `${state}: to receiver ${receiver} of subscription ${subscriptionId}, about ${topic} ${subject} at ${at}`;
}

const DISABLED = 'disabled by its owner at that time, so no message was made';

function headingOf(
  { event: { revision }, occurrence }: ExplainedEvent,
  { states }: SubscriptionTopic,
): string {
  if (occurrence === undefined) return `${revision + 1}  no transition, so nobody is notified`;
  const { stateId, at } = occurrence;
  return `${revision + 1}  ${at}  ${states.ids[stateId]?.name ?? ''} (${stateId})`;
}

function textOf(explanation: Explanation, { occurrence }: ExplainedEvent, topic: SubscriptionTopic): string {
  switch (explanation.is) {
    case 'matched':
      return 'matched';
    case 'excluded':
      return `not matched: ${explanation.by.map((one) => exclusionText(one, topic)).join('; ')}`;
    case 'disabled':
      return 'disabled by its owner at that time, so no messages were made';
    case 'created later':
    case 'deleted before':
      return `${explanation.is}, at ${explanation.at}`;
    case 'of no party':
      return `its organisation is no party of the ${topic.subject}: these are ${partiesText(occurrence)}`;
  }
}

/** Publishers of a program are thousands. */
const MOST_PARTIES = 20;

function partiesText(occurrence: Occurrence | undefined): string {
  const parties = occurrence === undefined ? [] : [...partiesOf(occurrence)];
  const others = parties.length > MOST_PARTIES ? ` and ${parties.length - MOST_PARTIES} others` : '';
  return `organisations ${parties.slice(0, MOST_PARTIES).join(', ')}${others}`;
}

function exclusionText({ clause, allowed, found }: Exclusion, { states }: SubscriptionTopic): string {
  if (clause === 'minFallPercent') return `${clause} ${allowed.join()}, fallen by ${found ?? 0}`;
  return `${nameOf(clause, states.field)} ${allowed.join(', ')} without ${found ?? 'a value'}`;
}

/** The name of a clause in subscriptions; that of states differs. */
function nameOf(clause: Exclusion['clause'], states: string): string {
  if (clause === 'stateIds') return states;
  return clause === 'siteId' ? 'the site of its token' : clause;
}

function stateReader(store: ReadStore, anyWaiting: AnyWaiting, now: Date) {
  return async (message: string): Promise<string> => {
    const found = await deliveryOf(store, message);
    if (found === undefined) return `${message} is not matched yet, or no longer kept`;
    const [current = found] = await anyWaiting.current([found]);
    return `${message} ${deliveryText(current, await anyWaiting.of([current], now))}`;
  };
}

/** An error names the status, if there is one. */
function outcomeOf(last: ListedDelivery['attempts'][number] | undefined): readonly string[] {
  if (last?.error !== undefined) return [last.error];
  return last?.status === undefined ? [] : [`last status ${last.status}`];
}

/** The state of a message, in a line. */
export function deliveryText(listed: ListedDelivery, waiting: WaitingReceivers): string {
  const { state, attempts, attempted, reason, redelivery } = listed;
  const { state: shown, nextAttempt: next } = toDelivery(listed, waiting);
  const details = [
    ...(attempted === 0 ? [] : [counted(attempted, 'attempt')]),
    ...outcomeOf(attempts.at(-1)),
    ...(reason === undefined ? [] : [reason]),
    ...(shown === 'held' ? ['held: its receiver is disabled'] : []),
    ...(next === undefined ? [] : [`${attempted === 0 ? 'first attempt' : 'again'} at ${next}`]),
    ...(redelivery === undefined ? [] : [`to be sent again since ${redelivery}`]),
  ];
  return details.length === 0 ? state : `${state} (${details.join(', ')})`;
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
