import { type OperationText, type Shape } from '../../wire/api/description';
import { TEXT } from '../../wire/keys/keys';
import { IGNORED_FIELDS } from '../../wire/keys/name-list';
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
} from '../../domain/transactions/fields';

export const RESULT = {
  name: 'TransactionResult',
  kind: transactionResult,
  xml: { file: 'TransactionResult_v1_0.xsd', root: 'result' },
} as const satisfies Shape;

export const RESULTS = {
  name: 'TransactionResults',
  kind: transactionResults,
  xml: { file: 'TransactionResults_v1_0.xsd', root: 'results' },
} as const satisfies Shape;

export const TRANSACTIONS = {
  name: 'Transactions',
  kind: listedTransactions,
  hasAllColumns: true,
  xml: { file: 'Transactions_v1_0.xsd', root: 'transactions' },
} as const satisfies Shape;

export const ONE = {
  name: 'Transaction',
  kind: listedTransaction,
  xml: { file: 'Transaction_v1_0.xsd', root: 'transaction' },
} as const satisfies Shape;

export const TOTALS = {
  name: 'TransactionTotals',
  kind: transactionTotals,
  xml: { file: 'TransactionTotals_v1_0.xsd', root: 'totals' },
} as const satisfies Shape;

const ID = {
  id: {
    type: TEXT,
    description: 'transactionId or legacyTransactionId; 409 (CON_550) if the latter names several',
    example: '0123456789abcdef0123456789abcdef',
  },
} as const;

/** `docs/decisions.md#t2`, `#t5`, `#t6`. */
export const transactionOperations = {
  listTransactions: {
    id: 'listTransactions',
    summary: 'List and export transactions',
    description:
      'Advertisers see the transactions of their programs, publishers those of their sites. CSV has a column for ' +
      'each field. A cursor pages through any number; since follows what changes, and misses nothing.',
    example: { pageSize: 3, pretty: true },
    answer: TRANSACTIONS,
    sends: { ...PAGE_HEADERS, 'X-Next-Since': 'Of a list with since: its next value' },
  },
  totalTransactions: {
    id: 'totalTransactions',
    summary: 'Sum up transactions by currency and state',
    description: 'Of the transactions that the list would return with the same keys.',
    example: { pretty: true },
    answer: TOTALS,
  },
  getTransaction: {
    id: 'getTransaction',
    mayConflict: true,
    summary: 'Get a transaction',
    example: {},
    path: ID,
    answer: ONE,
  },
  getTransactionHistory: {
    id: 'getTransactionHistory',
    mayConflict: true,
    summary: 'Get the history of a transaction',
    description:
      'The transaction after each of its transitions and amendments, oldest first: all of them, or with pageSize a page.',
    example: {},
    path: ID,
    answer: TRANSACTIONS,
    sends: {
      'X-Total-Count': PAGE_HEADERS['X-Total-Count'],
      'X-Page-Size': PAGE_HEADERS['X-Page-Size'],
    },
  },
  reportTransaction: {
    id: 'reportTransaction',
    sends: IGNORED_FIELDS,
    summary: 'Report a transaction',
    description:
      'A sale or lead of a program. It is validated at once; the answer has its id and state. 201 for a new ' +
      'transaction, 200 for one that was reported before: repeating a report does nothing. At most 256 KiB.',
    example: {},
    body: {
      name: 'PostedTransaction',
      kind: postedTransaction,
      xml: { file: 'PostedTransaction_v1_0.xsd', root: 'transaction' },
    },
    answer: RESULT,
    also: { 201: 'The transaction is new' },
  },
  reportTransactions: {
    id: 'reportTransactions',
    sends: IGNORED_FIELDS,
    summary: 'Report several transactions',
    description:
      'Each is recorded or refused on its own: the answer has a result for each, in order. At most 10,000 of them, ' +
      '32 MiB in all and 256 KiB each.',
    example: {},
    body: {
      name: 'PostedTransactions',
      kind: postedTransactions,
      xml: { file: 'PostedTransactions_v1_0.xsd', root: 'transactions' },
    },
    answer: RESULTS,
  },
  moveTransaction: {
    id: 'moveTransaction',
    sends: IGNORED_FIELDS,
    summary: 'Approve, deny, delete, amend or pay a transaction',
    description: 'A request that has already been carried out does nothing. At most 256 KiB.',
    example: {},
    body: {
      name: 'PostedTransition',
      kind: postedTransition,
      xml: { file: 'PostedTransition_v1_0.xsd', root: 'transition' },
    },
    answer: RESULT,
  },
  moveTransactions: {
    id: 'moveTransactions',
    sends: IGNORED_FIELDS,
    summary: 'Request transitions of several transactions',
    description:
      'Each is carried out or refused on its own: the answer has a result for each, in order. At most 10,000 of them, ' +
      '32 MiB in all and 256 KiB each.',
    example: {},
    body: {
      name: 'PostedTransitions',
      kind: postedTransitions,
      xml: { file: 'PostedTransitions_v1_0.xsd', root: 'transitions' },
    },
    answer: RESULTS,
  },
} as const satisfies Readonly<Record<string, OperationText>>;
