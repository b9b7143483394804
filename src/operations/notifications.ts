import { type ListedDelivery, type ReceiverTotals } from '../domain/deliveries/stored-delivery';
import { type DeliveryCriteria, deliveryOf, listDeliveries } from '../../projections/deliveries';
import { listReceivers, type ReceiverCriteria } from '../../projections/receivers';
import { type Engines } from '../engines/open';
import { execute } from '../kernel/decider';
import { type EventLog } from '../kernel/event-log';
import { type Cursor } from '../kernel/query';
import { whyUnsendable } from '../domain/deliveries/delivery-events';
import { loadSubscription } from '../domain/subscriptions/loaded-subscription';
import { Rendering } from '../delivery/matching/rendering';
import { receiversOf } from '../domain/subscriptions/receiver-id';
import { subscriptionDecider } from '../domain/subscriptions/subscription';
import { TOPICS } from '../domain/topics';
import { messageIn } from '../services/subscriptions/deliveries.queries';
import {
  AnyWaiting,
  heldReceivers,
  type WaitingReceivers,
} from '../services/subscriptions/deliveries.output';
import { counted, deliveryText } from './explain-notifications';
import { transactionIdsOf } from './transaction-named';

/** No message has this id, or it cannot be sent again. */
class UnknownMessage extends Error {
  override readonly name = 'UnknownMessage';
}

const PAGE = 1000;
const RECEIVERS = 100;

/** A line for each receiver that anything was sent to, those that were used last first. */
export async function* receiverLines(
  { log, store }: Pick<Engines, 'log' | 'store'>,
  criteria: ReceiverCriteria,
  now: Date,
): AsyncGenerator<string> {
  const anyWaiting = new AnyWaiting(log, store);
  for (let after: Cursor | null | undefined = null; after !== undefined;) {
    const { receivers, next }: Awaited<ReturnType<typeof listReceivers>> = await listReceivers(
      store,
      criteria,
      {
        size: RECEIVERS,
        after,
      },
    );
    const waiting = await anyWaiting.of(receivers, now);
    for (const one of receivers) yield receiverLine(one, waiting);
    after = next;
  }
}

function receiverLine(totals: ReceiverTotals, { isHeld, restingUntil }: WaitingReceivers): string {
  const { receiver, organisationId, subscriptionId, attempts, failed, delivered, dead, failingSince } =
    totals;
  const last = totals.lastFailure;
  const trouble =
    failingSince === undefined
      ? []
      : [`failing since ${failingSince}: ${last?.error ?? last?.status ?? 'unknown'}`];
  const restsUntil = restingUntil.get(receiver);
  return [
    receiver,
    ...[`organisation ${organisationId}`, `subscription ${subscriptionId}`],
    `${counted(attempts, 'attempt')}, ${failed} failed, ${delivered} delivered, ${dead} dead`,
    ...trouble,
    ...(restsUntil === undefined ? [] : [`resting until ${new Date(restsUntil).toISOString()}`]),
    ...(isHeld(receiver) ? ['disabled'] : []),
  ].join('\t');
}

interface Listing {
  readonly most: number;
  readonly now: Date;
  /** Receives the number of all messages found, those that are not listed included. */
  readonly count: (total: number) => void;
}

/** What messages are about, by `transactionId`, `legacyTransactionId` and `claimId`; undefined without any. */
export async function subjectsOf(
  log: EventLog,
  transactions: readonly string[] = [],
  claims: readonly string[] = [],
): Promise<readonly string[] | undefined> {
  const named = await Promise.all(transactions.map((id) => transactionIdsOf(log, id)));
  const subjects = [...named.flat(), ...claims];
  return transactions.length + claims.length === 0 ? undefined : subjects;
}

/** A line for each message, newest first, `most` at most. */
export async function* deliveryLines(
  { log, store }: Pick<Engines, 'log' | 'store'>,
  criteria: DeliveryCriteria,
  { most, now, count }: Listing,
): AsyncGenerator<string> {
  const anyWaiting = new AnyWaiting(log, store);
  let left = most;
  for (let after: Cursor | null | undefined = null; after !== undefined && left > 0;) {
    const size = Math.min(PAGE, left);
    const { groups, next, total }: Awaited<ReturnType<typeof listDeliveries>> = await listDeliveries(
      store,
      criteria,
      {
        size,
        after,
      },
    );
    count(total);
    for await (const batch of groups) {
      const listed = await anyWaiting.current(batch.flat());
      const waiting = await anyWaiting.of(listed, now);
      for (const one of listed) yield deliveryLine(one, waiting);
    }
    left -= size;
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
 * Has a message sent again, as its owner may. Returns when it is attempted next (an ISO 8601 instant), as the API answers it;
 * undefined if it is held. Raises `UnknownMessage`.
 */
export async function redeliver(
  { log, store, deliveries }: Pick<Engines, 'log' | 'store' | 'deliveries'>,
  messageId: string,
  now: Date,
): Promise<{ readonly nextAttempt: string | undefined }> {
  const listed = await deliveryOf(store, messageId);
  if (listed === undefined)
    throw new UnknownMessage(`${messageId}: expected the id of a message that is still kept`);
  const { subscriptionId, receiver, matched } = listed;
  const kept = await messageIn(await deliveries(), messageId, matched);
  if (kept === undefined)
    throw new UnknownMessage(`${messageId}: what was sent is no longer kept, so it cannot be sent again`);
  const { state: current, position } = await loadSubscription(log, subscriptionId);
  const rendering = new Rendering(log, [TOPICS[kept.topic]]);
  const message = current.is === 'active' ? await rendering.toSend(kept, current, position) : kept;
  if (message.request === undefined)
    throw new UnknownMessage(`${messageId} cannot be sent: ${whyUnsendable(message)}`);
  const redelivery = { receiver, message: messageId, revision: matched };
  const at = now.toISOString();
  const command = { do: 'redeliver', at, ...redelivery } as const;
  const { state, events } = await execute(log, subscriptionDecider, subscriptionId, command);
  if (events.length === 0 || state.is !== 'active')
    throw new UnknownMessage(`${messageId}: its subscription ${subscriptionId} is deleted`);
  if (!receiversOf(subscriptionId, state.content).has(receiver))
    throw new UnknownMessage(`${messageId}: its subscription no longer has the receiver ${receiver}`);
  return { nextAttempt: heldReceivers(subscriptionId, state).has(receiver) ? undefined : at };
}
