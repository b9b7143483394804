import { operationsById, shape } from '../../wire/api/description';
import { TEXT } from '../../wire/keys/keys';
import { IGNORED_FIELDS, ITEM_HELP } from '../../wire/keys/name-list';
import { PAGE_HEADERS } from '../../wire/keys/pages';
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
