import { type ListedDelivery } from '../notifications/stored-delivery';
import { deliveryOf } from '../../projections/delivery-list';
import { type Engines } from '../engines/open';
import { streamOf } from '../kernel/event';
import { type ReadStore } from '../kernel/read-store';
import {
  type Exclusion,
  type ExplainedEvent,
  type Explanation,
  explainMatches,
} from '../notifications/matching/explain';
import { STATES, type StateId } from '../transactions/states';
import { transactionTopic } from '../transactions/topic';
import { TRANSACTION } from '../transactions/transaction';
import { TRANSACTION_ID, transactionIdOf } from '../transactions/transaction-id';
import { UnknownTransaction } from './show-transaction';

/**
 * Why messages about a transaction were sent, or not, as text: for each of its transitions, what each subscription of its parties made of
 * it, and what has become of its messages. `id` is a `transactionId` or a `legacyTransactionId`, `only` the one subscription to explain.
 * Raises `UnknownTransaction`.
 */
export async function* explainNotifications(
  { log, store }: Pick<Engines, 'log' | 'store'>,
  id: string,
  only?: string,
): AsyncGenerator<string> {
  const transactionId = TRANSACTION_ID.test(id) ? id : transactionIdOf(id);
  const explained = await explainMatches(log, transactionTopic, streamOf(TRANSACTION, transactionId), only);
  if (explained.length === 0)
    throw new UnknownTransaction(
      `${id}: expected the transactionId or the legacyTransactionId of a transaction`,
    );
  yield `transaction ${transactionId}`;
  for (const event of explained) {
    yield headingOf(event);
    if (event.occurrence !== undefined && event.subscriptions.length === 0)
      yield only === undefined
        ? `   organisations ${event.occurrence.parties.join(', ')} have never had a subscription`
        : `   there has never been a subscription ${only}`;
    for (const { id: subscription, organisationId, explanation } of event.subscriptions) {
      yield `   subscription ${subscription} of organisation ${organisationId}: ${textOf(explanation, event)}`;
      if (explanation.is !== 'matched') continue;
      for (const { id: receiver, message } of explanation.receivers)
        yield `      receiver ${receiver}: ${message === undefined ? DISABLED : await stateOf(store, message)}`;
    }
  }
}

const DISABLED = 'disabled by its owner at that time, so no message was made';

function headingOf({ event: { revision }, occurrence }: ExplainedEvent): string {
  if (occurrence === undefined) return `${revision + 1}  no transition, so nobody is told`;
  const { stateId, at } = occurrence;
  return `${revision + 1}  ${at}  ${STATES[stateId as StateId].name} (${stateId})`;
}

function textOf(explanation: Explanation, { occurrence }: ExplainedEvent): string {
  switch (explanation.is) {
    case 'matched':
      return 'matched';
    case 'excluded':
      return `not matched: ${explanation.by.map(exclusionText).join('; ')}`;
    case 'disabled':
      return 'disabled by its owner at that time, so no messages were made';
    case 'created later':
    case 'deleted before':
      return `${explanation.is}, at ${explanation.at}`;
    case 'of no party':
      return `its organisation is no party of the transaction: these are ${(occurrence?.parties ?? []).join(', ')}`;
  }
}

/** The names of the clauses in a subscription to transactions. */
const CLAUSES: Readonly<Record<Exclusion['clause'], string>> = {
  stateIds: 'messageTypeIds',
  siteId: 'the site of its token',
  programIds: 'programIds',
  siteIds: 'siteIds',
  eventIds: 'eventIds',
  eventTypeIds: 'eventTypeIds',
};

function exclusionText({ clause, allowed, found }: Exclusion): string {
  return `${CLAUSES[clause]} ${allowed.join(', ')} without ${found ?? 'a value'}`;
}

async function stateOf(store: ReadStore, message: string): Promise<string> {
  const found = await deliveryOf(store, message);
  if (found === undefined) return `${message} is not matched yet, or no longer kept`;
  return `${message} ${deliveryText(found)}`;
}

/** An error names the status, if there is one. */
function outcomeOf(last: ListedDelivery['attempts'][number] | undefined): readonly string[] {
  if (last?.error !== undefined) return [last.error];
  return last?.status === undefined ? [] : [`last status ${last.status}`];
}

/** What has become of a message, in a line. */
export function deliveryText({ state, attempts, next, reason, redelivery }: ListedDelivery): string {
  const last = attempts.at(-1);
  const count = last?.attempt ?? 0;
  const details = [
    ...(count === 0 ? [] : [`${count} ${count === 1 ? 'attempt' : 'attempts'}`]),
    ...outcomeOf(last),
    ...(reason === undefined ? [] : [reason]),
    ...(next === undefined || state !== 'retrying' ? [] : [`again at ${next}`]),
    ...(redelivery === undefined ? [] : [`to be sent again since ${redelivery}`]),
  ];
  return details.length === 0 ? state : `${state} (${details.join(', ')})`;
}
