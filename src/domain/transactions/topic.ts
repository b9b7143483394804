import { type ParsedEvent } from '../../kernel/decider';
import { streamOf } from '../../kernel/event';
import { defined, without } from '../../kernel/values';
import { type Attributes, messageOf, type Occurrence, type SubscriptionTopic } from '../subscriptions/topic';
import { listedTransaction } from './transaction-fields';
import { EVENT_TYPES, STATES, type StateId, stateIdOf } from './states';
import { type ListedTransaction, storedAfter, toOutput } from './stored-transaction';
import { STATE_OF, TRANSACTION, type TransactionEvent } from './transaction';
import { type TransactionFacts } from './transaction-facts';
import { legacyIdOf, transactionIdOf } from './transaction-id';
import { DAY } from '../../wire/date';

/** In lists, but no attributes of messages. */
const NOT_IN_MESSAGES = ['stateName', 'changed'] as const;

const ATTRIBUTES = without(listedTransaction.fields, ...NOT_IN_MESSAGES);

/** An amendment is no transition, so nobody is notified of it. */
const TRANSITIONS = Object.keys(STATE_OF).filter((type) => type !== 'TransactionAmended');

/** Notifications of transactions, and subscriptions to them (Document 2, Events, Subscription). */
export const transactionTopic: SubscriptionTopic = {
  name: 'transactions',
  streams: [`${TRANSACTION}-`],
  streamOf: (subject) => streamOf(TRANSACTION, subject),
  handles: TRANSITIONS,
  attributes: Object.keys(ATTRIBUTES),
  occurrence: (event) => {
    const { stream, revision } = event;
    const stored = storedAfter(undefined, event as TransactionEvent & ParsedEvent, revision);
    return transitionOccurrence(
      { ...stored, transactionId: stream.slice(TRANSACTION.length + 1) },
      revision + 1,
    );
  },
  example: (stateId, now) => transitionOccurrence(exampleOf(stateId as StateId, now), 1),
  service: {
    system: 'CONVERSIONS',
    module: 'conversions',
    title: 'Conversions',
    description:
      'Transactions: reporting, approving, denying, listing, totals. Subscriptions to messages about them.',
    errorSchema: 'ConversionErrors_v1_0.xsd',
  },
  path: '/1.0/conversions/subscriptions',
  typeName: 'Subscription',
  prefix: '',
  subject: 'transaction',
  subjectField: 'transactionId',
  subjectId: '19a5e7f4157a0dbc05efb284fd93a0ca',
  states: { field: 'messageTypeIds', ids: STATES, notForAdvertisers: [9] },
  filter: {
    programIds: { description: 'Programs' },
    siteIds: { description: 'Sites' },
    eventIds: { description: 'Events of programs' },
    eventTypeIds: { description: 'Types of events', of: EVENT_TYPES },
  },
  message: messageOf('TransactionMessage', ATTRIBUTES),
  sample: {
    states: [4, 6, 8],
    receiverBody: '{"order": "${orderNumber}", "state": ${messageTypeId}, "value": ${orderValue}}',
  },
};

function transitionOccurrence(listed: ListedTransaction, sequence: number): Occurrence {
  const { transactionId, messageTypeId, transaction, changed } = listed;
  const { advertiserId, publisherId, programId, siteId, eventId, eventTypeId, currencyId } = transaction;
  let attributes: Attributes | undefined;
  return {
    subject: transactionId,
    sequence,
    stateId: messageTypeId,
    at: new Date(changed).toISOString(),
    parties: publisherId === undefined ? [advertiserId] : [advertiserId, publisherId],
    programId,
    siteId,
    eventId,
    eventTypeId,
    currencyId,
    // Most occurrences interest nobody.
    get attributes() {
      return (attributes ??= attributesOf(listed));
    },
    amounts: ['orderValue', 'publisherCommission', 'tdCommission', 'mediaCost'],
  };
}

function attributesOf(listed: ListedTransaction): Attributes {
  return defined(without(toOutput(listed, 'iso8601'), ...NOT_IN_MESSAGES));
}

/** A transaction with a value for each attribute that its state has. */
function exampleOf(messageTypeId: StateId, now: Date): ListedTransaction {
  const at = (days: number): string => new Date(now.getTime() + days * DAY).toISOString();
  const transaction: TransactionFacts = {
    advertiserId: 1,
    programId: 101,
    programCountry: 'SE',
    siteId: 1101,
    siteName: 'Example site',
    publisherId: 2,
    eventId: 1011,
    eventTypeId: 5,
    orderNumber: 'TEST-1',
    orderValue: 12_990,
    currencyId: 'EUR',
    publisherCommission: 1299,
    tdCommission: 390,
    timeOfEvent: at(0),
    timeOfVisit: at(-1),
    mediaCost: 100,
    adId: 1,
    locationId: 1,
    batchId: 1,
    epi: 'epi',
    epi2: 'epi2',
    productId: '1',
    reportInfo: 'f1=lamp-7&f2=Wall%20lamp&f3=129.90&f4=1',
    visitorId: 'visitor-1',
  };
  const ruling = {
    pendingStatusDateChanged: at(0),
    deniedReasonId: messageTypeId === stateIdOf('Deleted') ? 22 : 21,
  };
  return {
    transactionId: transactionIdOf(legacyIdOf(transaction), transaction.programId),
    messageTypeId,
    transaction,
    changed: now.getTime(),
    sequenceNumber: 1,
    autoApproveDate: at(30),
    ...(STATES[messageTypeId].name === 'Pending'
      ? {}
      : (ruling as Pick<ListedTransaction, 'deniedReasonId'>)),
    paymentId: 1,
  };
}
