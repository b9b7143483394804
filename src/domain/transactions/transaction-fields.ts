import { type AnswerOf, type Fields, listOf, record } from '../../wire/record/record';
import { atMost, boolean, day, idOf, integer, score, text, time, wordOf } from '../../wire/record/kinds';
import { currency, money } from '../../wire/record/minor-units';
import { errorList } from '../../wire/api/errors';
import { DENIED_REASONS, EVENT_TYPES, STATES } from './states';

/** Transactions, or requests for transitions, in one post (`docs/decisions.md#t2`, `#t5`). */
export const MOST = 10_000;

const shortText = text({ maxBytes: 255 });

const EVENT_TYPE = { kind: idOf(EVENT_TYPES), description: 'Type of the event' } as const;

const AMOUNTS = {
  orderValue: { kind: money(), description: 'Value of the order', example: 129.9 },
  publisherCommission: { kind: money(), description: 'Commission of the publisher' },
  tdCommission: { kind: money(), description: 'Commission of the platform' },
  mediaCost: { kind: money(), description: 'Alternative commission for technology clients' },
} as const satisfies Fields;

const REPORT_INFO = {
  kind: text({ maxBytes: 65_535 }),
  description: 'Items of the order: f1=number&f2=name&f3=value&f4=quantity, separated by |',
  example: 'f1=lamp-7&f2=Wall%20lamp&f3=129.90&f4=1',
} as const;

/** Document 2, Message attributes, as a report has them (`docs/decisions.md#t2`). */
export const postedTransaction = record(
  {
    programId: { kind: integer(), required: true, description: 'Program', example: 101 },
    eventId: { kind: integer(), required: true, description: 'Event of the program', example: 1011 },
    siteId: { kind: integer(), required: true, description: 'Site of the publisher', example: 1101 },
    orderNumber: {
      kind: atMost(240, text({ orInteger: true, isId: true })),
      required: true,
      description: 'Unique order number of the advertiser',
      example: 'A-1001',
    },
    orderValue: { ...AMOUNTS.orderValue, description: 'Value of the order; required of a sale' },
    currencyId: { kind: currency(), description: 'ISO 4217 code; by default the currency of the program' },
    timeOfEvent: { kind: time(), description: 'Time of the conversion; by default the time of the report' },
    timeOfVisit: { kind: time(), description: 'Time of the click or impression' },
    eventTypeId: { ...EVENT_TYPE, description: 'Type of the event; by default post-click' },
    publisherCommission: { ...AMOUNTS.publisherCommission, description: 'By default, that of the event' },
    tdCommission: AMOUNTS.tdCommission,
    mediaCost: AMOUNTS.mediaCost,
    adId: { kind: integer(), description: 'Ad or banner' },
    locationId: { kind: integer(), description: 'Campaign ad location' },
    batchId: { kind: integer(), description: 'Batch file that contained it' },
    epi: { kind: shortText, description: 'Extra publisher information' },
    epi2: { kind: shortText, description: 'Further publisher information' },
    productId: { kind: text({ maxBytes: 255, orInteger: true, isId: true }), description: 'Product feed' },
    reportInfo: REPORT_INFO,
    visitorId: {
      kind: text({ maxBytes: 255, orInteger: true, isId: true }),
      description: 'Visitor id set at impression or click',
    },
    validate: { kind: boolean(), description: 'false: stays Tracked until its validation is requested' },
  },
  { name: 'PostedTransaction' },
);

export const postedTransactions = listOf(postedTransaction, { each: 'transaction', most: MOST });

const TRANSACTION_ID = {
  kind: text({ maxBytes: 32, isId: true }),
  description: 'Id of the transaction',
} as const;

const LEGACY_ID = {
  kind: text({ maxBytes: 1100, isId: true }),
  description:
    'Order number, event id and advertiser id, joined by underscores; shared by transactions of several programs',
} as const;

const ACTIONS = ['approve', 'deny', 'delete', 'amend', 'validate', 'invalidate', 'pay'] as const;

/** `docs/decisions.md#t5`. */
export const postedTransition = record(
  {
    transactionId: TRANSACTION_ID,
    legacyTransactionId: {
      ...LEGACY_ID,
      description: 'In place of transactionId, unless it names several',
      example: 'A-1001_1011_1',
    },
    action: {
      kind: wordOf(...ACTIONS),
      required: true,
      description: 'The requested transition',
      example: 'approve',
    },
    deniedReasonId: {
      kind: idOf(DENIED_REASONS),
      description: 'Reason; by default 21 for approve, 22 for deny and delete',
    },
    paymentId: { kind: integer(), description: 'Required of pay' },
    ...AMOUNTS,
    orderValue: { kind: money(), description: 'Amended value, for amend and approve' },
    reportInfo: { ...REPORT_INFO, description: 'Amended items of the order' },
  },
  { name: 'PostedTransition' },
);

export const postedTransitions = listOf(postedTransition, { each: 'transition', most: MOST });

const MESSAGE_TYPE = { kind: idOf(STATES), description: 'State of the transaction' } as const;

/** What became of one item (`docs/decisions.md#t2`): the transaction, or why it was refused. */
export const transactionResult = record(
  {
    transactionId: { ...TRANSACTION_ID, optional: true },
    legacyTransactionId: { ...LEGACY_ID, optional: true },
    messageTypeId: { ...MESSAGE_TYPE, optional: true },
    outcome: {
      kind: wordOf('created', 'known', 'moved', 'unchanged'),
      optional: true,
      description: 'A report: created, or known before; a transition or amendment: moved, or unchanged',
    },
    errors: { ...errorList.fields.errors, optional: true },
  },
  { name: 'TransactionResult' },
);

export const transactionResults = listOf(transactionResult, { each: 'result', most: MOST });

export type TransactionResult = AnswerOf<typeof transactionResult>;

const optional = { optional: true } as const;

/** Document 2, Message attributes, in its order, and three more (`docs/decisions.md#t6`, `#n2`). */
const LISTED = {
  adId: { kind: integer(), ...optional, description: 'Ad or banner' },
  advertiserId: { kind: integer(), description: 'Advertiser organisation' },
  autoApproveDate: { kind: time(), ...optional, description: 'When the system approves' },
  autoDenyDate: { kind: time(), ...optional, description: 'When the system denies' },
  batchId: { kind: integer(), ...optional, description: 'Batch file' },
  currencyId: { kind: text(), description: 'ISO 4217 code' },
  deniedReasonId: { kind: idOf(DENIED_REASONS), ...optional, description: 'Reason of the ruling' },
  epi: { kind: text(), ...optional, description: 'Extra publisher information' },
  epi2: { kind: text(), ...optional, description: 'Further publisher information' },
  eventId: { kind: integer(), description: 'Event of the program' },
  eventTypeId: EVENT_TYPE,
  locationId: { kind: integer(), ...optional, description: 'Campaign ad location' },
  mediaCost: { ...AMOUNTS.mediaCost, ...optional },
  messageTypeId: MESSAGE_TYPE,
  orderNumber: { kind: text(), description: 'Unique order number of the advertiser' },
  orderValue: { kind: money(), description: 'Value of the order' },
  paymentId: { kind: integer(), ...optional, description: 'Payment, once Paid' },
  pendingStatusDateChanged: { kind: time(), ...optional, description: 'Approval or denial' },
  productId: { kind: text(), ...optional, description: 'Product feed' },
  productName: { kind: text(), ...optional, description: 'Names of the items, separated by |' },
  productNumber: { kind: text(), ...optional, description: 'Numbers of the items, separated by |' },
  productQuantity: { kind: text(), ...optional, description: 'Quantities of the items, separated by |' },
  productValue: { kind: text(), ...optional, description: 'Values of the items, separated by |' },
  programCountry: { kind: text(), description: 'ISO 3166-1 code' },
  programId: { kind: integer(), description: 'Program' },
  publisherCommission: AMOUNTS.publisherCommission,
  tdCommission: AMOUNTS.tdCommission,
  reportInfo: { kind: text(), ...optional, description: 'Items of the order' },
  sequenceNumber: { kind: text(), description: 'Order of the transitions of one transaction' },
  siteId: { kind: integer(), description: 'Site of the publisher' },
  siteName: { kind: text(), description: 'Name of the site' },
  timeOfEvent: { kind: time(), description: 'Time of the conversion' },
  timeOfVisit: { kind: time(), ...optional, description: 'Time of the click or impression' },
  transactionId: { ...TRANSACTION_ID, ...optional, description: 'Id of the transaction; not while Tracked' },
  legacyTransactionId: LEGACY_ID,
  visitorId: { kind: text(), ...optional, description: 'Visitor id' },
  stateName: { kind: text(), description: 'Name of the state' },
  changed: { kind: time(), description: 'Last transition or amendment' },
} as const satisfies Fields;

export const listedTransaction = record(LISTED, { name: 'Transaction' });

export const listedTransactions = listOf(listedTransaction, { each: 'transaction' });

export type OutputTransaction = AnswerOf<typeof listedTransaction>;

/** The total of one currency and what is grouped by (`docs/decisions.md#t9`). */
const transactionTotal = record(
  {
    period: { kind: day(), ...optional, description: 'First day (UTC) of the day, week or month' },
    periodOf: {
      kind: wordOf('timeOfEvent', 'changed', 'approved'),
      ...optional,
      description: 'The time that the period is of',
    },
    programId: { ...LISTED.programId, ...optional },
    siteId: { ...LISTED.siteId, ...optional },
    eventId: { ...LISTED.eventId, ...optional },
    currencyId: LISTED.currencyId,
    messageTypeId: { ...MESSAGE_TYPE, ...optional },
    stateName: { ...LISTED.stateName, ...optional },
    count: { kind: integer(), description: 'Transactions' },
    orderValue: { kind: money(), description: 'Sum of their order values' },
    publisherCommission: { kind: money(), description: 'Sum of their commissions of publishers' },
    tdCommission: { kind: money(), description: 'Sum of their commissions of the platform' },
    approved: {
      kind: integer(),
      ...optional,
      description: 'How many are approved or paid; this and the next two unless grouped by state',
    },
    refused: { kind: integer(), ...optional, description: 'How many are invalid or deleted' },
    approvalRate: {
      kind: score(),
      ...optional,
      description: 'approved of approved and refused, with four decimals; absent while all are pending',
    },
    secondsToApproval: {
      kind: integer(),
      ...optional,
      description:
        'Mean time from timeOfEvent to the approval of those that are approved or paid, in seconds',
    },
  },
  { name: 'TransactionTotal' },
);

export const transactionTotals = listOf(transactionTotal, { each: 'total' });

export type OutputTotal = AnswerOf<typeof transactionTotal>;
