import { STATUSES } from '../../domain/claims/statuses';
import { claimTopic } from '../../domain/claims/topic';
import { type TopicName } from '../../domain/subscriptions/subscription';
import { type SubscriptionKind } from './kind';
import { transactionTopic } from '../../domain/transactions/topic';
import { EVENT_TYPES, STATES } from '../../domain/transactions/states';

/** Subscriptions to transactions (Document 2, Subscription): put together here, since services do not import each other. */
export const transactionSubscriptions: SubscriptionKind = {
  topic: 'transactions',
  source: transactionTopic,
  path: '/1.0/conversions/subscriptions',
  name: 'Subscription',
  prefix: '',
  subject: 'transaction',
  subjectField: 'transactionId',
  states: { field: 'messageTypeIds', ids: STATES, notForAdvertisers: [9] },
  eventTypes: EVENT_TYPES,
  attributes: transactionTopic.attributes,
  example: {
    states: [4, 6, 8],
    receiverBody: '{"order": "${orderNumber}", "state": ${messageTypeId}, "value": ${orderValue}}',
  },
};

/** Subscriptions to claims (`docs/decisions.md#c13`). */
export const claimSubscriptions: SubscriptionKind = {
  topic: 'claims',
  source: claimTopic,
  path: '/1.0/claims/subscriptions',
  name: 'ClaimSubscription',
  prefix: 'Claim',
  subject: 'claim',
  subjectField: 'claimId',
  states: { field: 'statusIds', ids: STATUSES, notForAdvertisers: [] },
  attributes: claimTopic.attributes,
  example: {
    states: [2, 3, 201],
    receiverBody: '{"claim": ${claimId}, "order": "${orderNumber}", "status": "${statusName}"}',
  },
};

export const SUBSCRIPTION_KINDS: Readonly<Record<TopicName, SubscriptionKind>> = {
  transactions: transactionSubscriptions,
  claims: claimSubscriptions,
};
