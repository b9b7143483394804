import { forbiddenCharacter } from '../../wire/xml/write';
import { type DateFormat, writeDate } from '../../wire/date';
import { listedTransaction, type OutputTransaction } from './fields';
import { type StateName, STATES } from './states';
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

/**
 * The attributes taken from `reportInfo`, by the parameters of an item (Document 2, Message attributes;
 * `docs/decisions.md#t2`).
 */
const PARAMETERS = {
  productNumber: 'f1',
  productName: 'f2',
  productValue: 'f3',
  productQuantity: 'f4',
} as const;

type ProductAttribute = keyof typeof PARAMETERS;

const ITEM = /^f[1-4]=[^&|=]*(&f[1-4]=[^&|=]*)*$/;

export function isReportInfo(text: string): boolean {
  return text.split('|').every((item) => ITEM.test(item) && isReadable(item));
}

/**
 * One value for each item, separated by `|`; `|` and `%` within a value stay percent-encoded. An attribute that no item
 * has is absent.
 */
function productsIn(reportInfo: string): Partial<Record<ProductAttribute, string>> {
  const items = reportInfo.split('|').map(parametersOf);
  const attributes = Object.entries(PARAMETERS)
    .filter(([, parameter]) => items.some((item) => item.has(parameter)))
    .map(([name, parameter]) => [name, items.map((item) => escaped(item.get(parameter) ?? '')).join('|')]);
  return Object.fromEntries(attributes) as Partial<Record<ProductAttribute, string>>;
}

/** Receivers split at `|`, so that the attributes of an item stay aligned. */
function escaped(value: string): string {
  return value.replaceAll('%', '%25').replaceAll('|', '%7C');
}

function parametersOf(item: string): ReadonlyMap<string, string> {
  const pairs = item.split('&').map((pair) => [pair.slice(0, 2), decodeURIComponent(pair.slice(3))] as const);
  return new Map(pairs);
}

/** Decodable, without characters that XML does not allow. */
function isReadable(item: string): boolean {
  try {
    return forbiddenCharacter(decodeURIComponent(item)) === undefined;
  } catch {
    return false;
  }
}
