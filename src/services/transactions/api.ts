import { operationsById, shape } from '../../wire/api/description';
import {
  TEXT,
  CSV_KEY,
  CURRENCY,
  DATE,
  INTEGERS,
  type Keys,
  type KeyTable,
  type KeyType,
  oneOf,
  TEXTS,
  until,
} from '../../wire/keys/keys';
import { IGNORED_FIELDS, ITEM_HELP } from '../../wire/keys/name-list';
import { PAGE_HEADERS, CURSOR_KEY, PAGE_KEY, sizeKey } from '../../wire/keys/pages';
import {
  listedTransaction,
  listedTransactions,
  postedTransaction,
  postedTransactions,
  postedTransition,
  postedTransitions,
  transactionResult,
  transactionResults,
  transactionTotals,
} from '../../domain/transactions/transaction-fields';
import { parsePosition, type Position, START } from '../../kernel/event';

const RESULTS = shape('TransactionResults', transactionResults, 'results');
const RESULT = shape('TransactionResult', transactionResult, 'result');
const TRANSACTIONS = {
  ...shape('Transactions', listedTransactions, 'transactions'),
  hasAllColumns: true,
} as const;

const ID = {
  id: {
    type: TEXT,
    description: 'transactionId or legacyTransactionId; 409 (CON_550) if the latter names several',
    example: '0123456789abcdef0123456789abcdef',
  },
} as const;

/** `docs/decisions.md#t2`, `#t5`, `#t6`. */
export const transactionApi = operationsById({
  listTransactions: {
    summary: 'List and export transactions',
    description:
      'Advertisers see the transactions of their programs, publishers those of their sites. CSV has a column for ' +
      'each field. A cursor pages through any number; since follows what changes, and misses nothing.',
    example: { pageSize: 3, pretty: true },
    answer: TRANSACTIONS,
    sends: { ...PAGE_HEADERS, 'X-Next-Since': 'Of a list with since: its next value' },
  },
  totalTransactions: {
    summary: 'Sum up transactions, by period, program, site, event and state',
    description:
      'Of the transactions that the list would return with the same keys: by currency and groupBy. Days are in UTC, weeks ' +
      'begin on Monday. At most 10,000 combinations of what is grouped by, currency and state. CSV has a column for each ' +
      'field.',
    example: { groupBy: ['month', 'programId'], pretty: true },
    answer: { ...shape('TransactionTotals', transactionTotals, 'totals'), hasAllColumns: true },
  },
  getTransaction: {
    mayConflict: true,
    summary: 'Get a transaction',
    path: ID,
    answer: shape('Transaction', listedTransaction, 'transaction'),
  },
  getTransactionHistory: {
    mayConflict: true,
    summary: 'Get the history of a transaction',
    description:
      'The transaction after each of its transitions and amendments, oldest first: all of them, or with ' +
      'pageSize a page.',
    path: ID,
    answer: TRANSACTIONS,
    sends: { 'X-Total-Count': PAGE_HEADERS['X-Total-Count'], 'X-Page-Size': PAGE_HEADERS['X-Page-Size'] },
  },
  reportTransaction: {
    sends: IGNORED_FIELDS,
    summary: 'Report a transaction',
    description:
      'A sale or lead of a program. It is validated at once; the answer has its id and state. 201 for a new ' +
      'transaction, 200 for one that was reported before: repeating a report does nothing. At most 256 KiB.',
    body: shape('PostedTransaction', postedTransaction, 'transaction'),
    answer: RESULT,
    also: { 201: 'The transaction is new' },
  },
  reportTransactions: {
    sends: { ...IGNORED_FIELDS, ...ITEM_HELP },
    summary: 'Report several transactions',
    description:
      'Each is recorded or refused on its own: the answer has a result for each, in order. At most 10,000 of them, ' +
      '32 MiB in all and 256 KiB each.',
    body: shape('PostedTransactions', postedTransactions, 'transactions'),
    answer: RESULTS,
  },
  moveTransaction: {
    sends: IGNORED_FIELDS,
    summary: 'Approve, deny, delete, amend or pay a transaction',
    description: 'A request that has already been carried out does nothing. At most 256 KiB.',
    body: shape('PostedTransition', postedTransition, 'transition'),
    answer: RESULT,
  },
  moveTransactions: {
    sends: { ...IGNORED_FIELDS, ...ITEM_HELP },
    summary: 'Request transitions of several transactions',
    description:
      'Each is carried out or refused on its own: the answer has a result for each, in order. At most 10,000 of ' +
      'them, 32 MiB in all and 256 KiB each.',
    body: shape('PostedTransitions', postedTransitions, 'transitions'),
    answer: RESULTS,
  },
});

/** Values that transactions may have. */
export const amongKeys = {
  transactionId: { ...TEXTS, description: 'Ids of transactions' },
  legacyTransactionId: { ...TEXTS, description: 'Legacy ids of transactions' },
  programId: { ...INTEGERS, description: 'Programs' },
  siteId: { ...INTEGERS, description: 'Sites' },
  eventId: { ...INTEGERS, description: 'Events' },
  eventTypeId: { ...INTEGERS, description: 'Types of events: 4, 5, 9 or 10' },
  messageTypeId: { ...INTEGERS, description: 'States, 1 to 9' },
  orderNumber: { ...TEXTS, description: 'Order numbers' },
  epi: { ...TEXTS, description: 'Extra publisher information' },
  currencyId: { type: CURRENCY, multiple: true, description: 'Currencies' },
} as const satisfies KeyTable;

/** Which transactions (`docs/decisions.md#t6`). */
const filterKeys = {
  ...amongKeys,
  minTimeOfEvent: { type: DATE, description: 'Converted at this time or later' },
  maxTimeOfEvent: {
    type: until(DATE),
    description: 'Converted at this time or earlier; a date includes its day',
  },
  minChanged: { type: DATE, description: 'Last transition or amendment at this time or later' },
  maxChanged: {
    type: until(DATE),
    description: 'Last transition or amendment at this time or earlier; a date includes its day',
  },
  minApproved: { type: DATE, description: 'Approved at this time or later' },
  maxApproved: {
    type: until(DATE),
    description: 'Approved at this time or earlier; a date includes its day',
  },
} as const satisfies KeyTable;

/** Format of dates in an answer: as in messages, unless milliseconds are requested. */
export const dateKeys = {
  dateOutputFormat: { type: oneOf('iso8601', 'epoch'), description: 'Format of dates; ISO 8601 by default' },
} as const satisfies KeyTable;

/** Of a history: all of it unless `pageSize` is sent. */
export const historyKeys = {
  pageSize: sizeKey('States on a page', 'by default all are returned'),
  page: { ...PAGE_KEY, description: `${PAGE_KEY.description}; together with pageSize` },
  ...dateKeys,
} as const satisfies KeyTable;

export const PERIODS = ['day', 'week', 'month'] as const;
export const GROUP_IDS = ['programId', 'siteId', 'eventId'] as const;

/** `docs/decisions.md#t9`. */
export const totalsKeys = {
  ...filterKeys,
  groupBy: {
    type: oneOf(...PERIODS, ...GROUP_IDS, 'state'),
    multiple: true,
    description:
      'What totals are of, beside the currency, at most one of day, week and month; by default state',
  },
  periodOf: {
    type: oneOf('timeOfEvent', 'changed', 'approved'),
    description: 'The time that day, week or month is of, in UTC; by default timeOfEvent',
  },
  format: CSV_KEY,
} as const satisfies KeyTable;

const NEXT_SINCE = /^p(\d+)$/;

/** A log position, of which clients know only that it is no date. */
const SINCE: KeyType<Position> = {
  expected: '*, or the X-Next-Since of an answer to since; minChanged takes a date',
  problem: 'unusable',
  read: (text) => (text.trim() === '*' ? START : parsePosition(NEXT_SINCE.exec(text.trim())?.[1] ?? '')),
};

export function nextSince(position: Position): Readonly<Record<string, string>> {
  return { 'X-Next-Since': `p${position}` };
}

export const listKeys = {
  ...filterKeys,
  orderBy: { type: oneOf('timeOfEvent', 'changed'), description: 'Order; by default timeOfEvent' },
  sortOrder: { type: oneOf('desc', 'asc'), description: 'Newest first, by default, or oldest first' },
  pageSize: sizeKey('Transactions on a page'),
  page: PAGE_KEY,
  since: {
    type: SINCE,
    description:
      'Only what has changed since: *, then the X-Next-Since of the last answer; in the order of changes',
  },
  cursor: CURSOR_KEY,
  ...dateKeys,
  format: CSV_KEY,
} as const satisfies KeyTable;

export type FilterKeys = Keys<typeof filterKeys>;
export type TotalsKeys = Keys<typeof totalsKeys>;
export type TransactionListKeys = Keys<typeof listKeys>;
export type HistoryKeys = Keys<typeof historyKeys>;
