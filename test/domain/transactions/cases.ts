import {
  type Surroundings,
  type TransactionCommand,
  transactionDecider,
  type TransactionEvent,
  type TransactionState,
} from '../../../src/domain/transactions/transaction';
import { type TransactionFacts } from '../../../src/domain/transactions/transaction-facts';
import { type StateName } from '../../../src/domain/transactions/states';

export const AT = '2026-03-01T12:00:00.000Z';

export const FACTS: TransactionFacts = {
  advertiserId: 1,
  programId: 101,
  programCountry: 'DE',
  siteId: 1101,
  siteName: 'preisblick.example',
  publisherId: 11,
  eventId: 301,
  eventTypeId: 5,
  orderNumber: 'A-1',
  orderValue: 10_000,
  currencyId: 'EUR',
  publisherCommission: 600,
  tdCommission: 100,
  timeOfEvent: '2026-03-01T11:00:00.000Z',
  timeOfVisit: '2026-03-01T10:00:00.000Z',
};

/** An active program with a pending period of ten days. */
export const FINE: Surroundings = {
  program: 'active',
  invoicesPaid: false,
  isConnected: true,
  pendingDays: 10,
  autoDeny: false,
};

export function after(...events: readonly TransactionEvent[]): TransactionState {
  return events.reduce((state, event) => transactionDecider.evolve(state, event), transactionDecider.initial);
}

export function decide(command: TransactionCommand, state: TransactionState): readonly TransactionEvent[] {
  return transactionDecider.decide(command, state);
}

type Report = Extract<TransactionCommand, { readonly do: 'report' }>;

export function report(surroundings: Partial<Surroundings> = {}, changes: Partial<Report> = {}): Report {
  const transaction = changes.transaction ?? FACTS;
  return {
    do: 'report',
    at: AT,
    transaction,
    posted: Object.keys(transaction) as (keyof TransactionFacts)[],
    surroundings: { ...FINE, ...surroundings },
    terms: { commission: { percent: 7.5 } },
    ...changes,
  };
}

const validate = (surroundings: Partial<Surroundings>): TransactionCommand => ({
  do: 'validate',
  at: AT,
  surroundings: { ...FINE, ...surroundings },
});

/** Commands that lead to each state, from the report on. */
export const WAYS: Readonly<Record<StateName, readonly TransactionCommand[]>> = {
  Tracked: [report({}, { isHeld: true })],
  Invalid: [report({ isConnected: false })],
  Paused: [report({ program: 'paused' })],
  Pending: [report()],
  Tracked_Approved: [report({ pendingDays: 0 })],
  Pending_Approved: [report(), { do: 'approve', at: AT, reason: 21 }],
  Paused_Deleted: [report({ program: 'paused' }), validate({ program: 'closed' })],
  Deleted: [report(), { do: 'deny', at: AT, reason: 22 }],
  Paid: [report({ pendingDays: 0 }), { do: 'pay', at: AT, paymentId: 7 }],
};

export function stateAfter(commands: readonly TransactionCommand[]): TransactionState {
  return commands.reduce(
    (state, command) =>
      decide(command, state).reduce((next, event) => transactionDecider.evolve(next, event), state),
    transactionDecider.initial,
  );
}
