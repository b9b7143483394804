import { type OperationText, type Shape } from '../wire/description';
import {
  postedTransaction,
  postedTransactions,
  postedTransition,
  postedTransitions,
  transactionResult,
  transactionResults,
} from './fields';

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

/** `docs/decisions.md#t2`, `#t5`, `#t6`. */
export const transactionOperations = {
  reportTransaction: {
    id: 'reportTransaction',
    summary: 'Report a transaction',
    description:
      'A sale or lead of a program. It is validated at once; the answer has its id and state. 201 for a new ' +
      'transaction, 200 for one that was reported before: repeating a report does nothing.',
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
    summary: 'Report several transactions',
    description: 'Each is recorded or refused on its own: the answer has a result for each, in order.',
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
    summary: 'Approve, deny, delete, amend or pay a transaction',
    description: 'A request that has already been carried out does nothing.',
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
    summary: 'Request transitions of several transactions',
    description: 'Each is carried out or refused on its own: the answer has a result for each, in order.',
    example: {},
    body: {
      name: 'PostedTransitions',
      kind: postedTransitions,
      xml: { file: 'PostedTransitions_v1_0.xsd', root: 'transitions' },
    },
    answer: RESULTS,
  },
} as const satisfies Readonly<Record<string, OperationText>>;
