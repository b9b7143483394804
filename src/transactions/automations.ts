import { transactions } from '../../projections/transactions';
import { pausedOutside, periodsEndedBy } from '../../projections/transactions-due';
import { type Automation } from '../automation/automation';
import { execute } from '../kernel/decider';
import { type StoredTransaction } from './stored-transaction';
import { surroundingsOf } from './surroundings';
import { transactionDecider } from './transaction';

/** The automatic transitions (`docs/decisions.md#t4`). */
export const transactionAutomations: readonly Automation[] = [
  {
    name: 'ends of pending periods',
    projection: transactions,
    orderBy: 'due',
    due: (now) => [periodsEndedBy(now)],
    act: ({ id }, { log, at }) => execute(log, transactionDecider, id, { do: 'endPeriod', at }),
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
      const { transaction } = JSON.parse(body) as StoredTransaction;
      const surroundings = surroundingsOf(directory, transaction);
      return execute(log, transactionDecider, id, { do: 'validate', at, surroundings });
    },
  },
];
