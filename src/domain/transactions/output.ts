import { type DateFormat, writeDate } from '../../wire/date';
import { listedTransaction, type OutputTransaction } from './fields';
import { productsIn } from './report-info';
import { STATES, type StateName } from './states';
import { type ListedTransaction } from './stored-transaction';
import { AMOUNTS, postedValue, type TransactionFacts } from './transaction-facts';
import { legacyIdOf } from './transaction-id';

/** Attributes that these states do not have (Document 2, Message attributes; `docs/decisions.md#n2`). */
const WITHOUT_VISIT: ReadonlySet<StateName> = new Set(['Pending_Approved', 'Deleted']);
const WITH_PERIOD: ReadonlySet<StateName> = new Set(['Pending', 'Pending_Approved', 'Deleted']);

/** A transaction as it is listed: its attributes, by its state (`docs/decisions.md#t6`). */
export function toOutput(listed: ListedTransaction, dates: DateFormat): OutputTransaction {
  const { transactionId, messageTypeId, transaction, changed, sequenceNumber, paymentId } = listed;
  const { name } = STATES[messageTypeId];
  const { reportInfo, visitorId, timeOfEvent, timeOfVisit, ...facts } = transaction;
  const date = (time: string | number) => writeDate(new Date(time).getTime(), dates);
  const isVisitShown = !WITHOUT_VISIT.has(name);
  return inTableOrder({
    ...facts,
    ...amountsOf(transaction),
    ...(WITH_PERIOD.has(name) ? periodOf(listed, date) : {}),
    ...(paymentId === undefined || name !== 'Paid' ? {} : { paymentId }),
    ...(reportInfo === undefined ? {} : productsIn(reportInfo)),
    ...(reportInfo === undefined || !isVisitShown ? {} : { reportInfo }),
    ...(visitorId === undefined || !isVisitShown ? {} : { visitorId }),
    ...(timeOfVisit === undefined ? {} : { timeOfVisit: date(timeOfVisit) }),
    ...(name === 'Tracked' ? {} : { transactionId }),
    legacyTransactionId: legacyIdOf(transaction),
    timeOfEvent: date(timeOfEvent),
    sequenceNumber: String(sequenceNumber),
    messageTypeId,
    stateName: name,
    changed: date(changed),
  });
}

type AmountFields = Pick<OutputTransaction, (typeof AMOUNTS)[number]>;

function amountsOf(facts: TransactionFacts): AmountFields {
  const present = AMOUNTS.filter((name) => facts[name] !== undefined);
  return Object.fromEntries(
    present.map((name) => [name, postedValue(facts, name)]),
  ) as unknown as AmountFields;
}

const NAMES = Object.keys(listedTransaction.fields) as readonly (keyof OutputTransaction)[];

function inTableOrder(output: OutputTransaction): OutputTransaction {
  const present = NAMES.filter((name) => name in output);
  return Object.fromEntries(present.map((name) => [name, output[name]])) as unknown as OutputTransaction;
}

type PeriodFields = Pick<
  OutputTransaction,
  'autoApproveDate' | 'autoDenyDate' | 'pendingStatusDateChanged' | 'deniedReasonId'
>;

function periodOf(listed: ListedTransaction, date: (time: string) => string | number): PeriodFields {
  const { autoApproveDate, autoDenyDate, pendingStatusDateChanged, deniedReasonId } = listed;
  return {
    ...(autoApproveDate === undefined ? {} : { autoApproveDate: date(autoApproveDate) }),
    ...(autoDenyDate === undefined ? {} : { autoDenyDate: date(autoDenyDate) }),
    ...(pendingStatusDateChanged === undefined
      ? {}
      : { pendingStatusDateChanged: date(pendingStatusDateChanged) }),
    ...(deniedReasonId === undefined ? {} : { deniedReasonId }),
  };
}
