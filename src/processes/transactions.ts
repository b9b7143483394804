import { pausedOutside, periodsEndedBy, transactions } from '../../projections/transactions';
import { type Automation } from './automation';
import { execute, type StateAt } from '../kernel/decider';
import { STATES } from '../domain/transactions/states';
import { periodOf, type StoredTransaction } from '../domain/transactions/stored-transaction';
import { surroundingsOf } from '../domain/transactions/surroundings';
import { transactionDecider, type TransactionState } from '../domain/transactions/transaction';

/** The automatic transitions (`docs/decisions.md#t4`). */
export const transactionAutomations: readonly Automation[] = [
  {
    name: 'ends of pending periods',
    projection: transactions,
    orderBy: 'due',
    due: (now) => [periodsEndedBy(now)],
    act: ({ id, body }, { log, at }) => {
      const cached = stateOf(JSON.parse(body) as StoredTransaction);
      return execute(log, transactionDecider, id, { do: 'endPeriod', at }, cached);
    },
  },
  {
    name: 'transactions of programs that are no longer paused',
    projection: transactions,
    orderBy: 'pausedProgramId',
    due: (_, { programs }) => {
      const paused = [...programs.all()].filter(({ status }) => status === 'paused');
      return pausedOutside(paused.map(({ id }) => id));
    },
    act: ({ id, body }, { log, directory, at }) => {
      const stored = JSON.parse(body) as StoredTransaction;
      const surroundings = surroundingsOf(directory, stored.transaction);
      return execute(log, transactionDecider, id, { do: 'validate', at, surroundings }, stateOf(stored));
    },
  },
];

/**
 * The state of a Paused or Pending transaction that was not amended. Of any other the stream is ahead of this revision: the
 * append conflicts, and `execute` loads the stream.
 */
function stateOf(stored: StoredTransaction): StateAt<TransactionState> {
  const { messageTypeId, transaction, sequenceNumber } = stored;
  const changed = new Date(stored.changed).toISOString();
  const { name } = STATES[messageTypeId];
  const period = periodOf(stored);
  const state = {
    name,
    reported: transaction,
    transaction,
    changed,
    ...(period === undefined ? {} : { period }),
  };
  return { state, revision: sequenceNumber - 1 };
}
