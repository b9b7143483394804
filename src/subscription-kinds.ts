import { type SubscriptionKind } from './subscriptions/kind';
import { listedTransaction } from './transactions/fields';
import { EVENT_TYPES, STATES } from './transactions/states';

/** In lists, but no attributes of messages. */
const NOT_IN_MESSAGES: readonly string[] = ['stateName', 'changed'];

/** Subscriptions to transactions (Document 2, Subscription): put together here, since services do not import each other. */
export const transactionSubscriptions: SubscriptionKind = {
  topic: 'transactions',
  path: '/1.0/conversions/subscriptions',
  name: 'Subscription',
  subject: 'transaction',
  states: { field: 'messageTypeIds', ids: STATES, notForAdvertisers: [9] },
  eventTypes: EVENT_TYPES,
  attributes: Object.keys(listedTransaction.fields).filter((name) => !NOT_IN_MESSAGES.includes(name)),
  example: {
    states: [4, 6, 8],
    receiverBody: '{"order": "${orderNumber}", "state": ${messageTypeId}, "value": ${orderValue}}',
  },
};
