import { type Terms } from '../../network/programs';
import { endOf, type Period, STATE_OF, type TransactionEvent } from './transaction';
import { type AMOUNTS, factsIn, postedValue, type TransactionFacts } from './transaction-facts';
import { type DeniedReasonId, type StateId, stateIdOf, type StateName, STATES } from './states';
import { forbiddenCharacter } from '../../wire/xml/write';
import { type DateFormat, writeDate } from '../../wire/date';
import { type OutputTransaction } from './transaction-fields';
import { legacyIdOf } from './transaction-id';

/** A document of the read model: the last event, and the attributes that only some states have. */
export interface StoredTransaction {
  readonly messageTypeId: StateId;
  readonly transaction: TransactionFacts;
  /** Epoch ms of the last event. */
  readonly changed: number;
  /** The number of the event that entered the state, from 1 (`docs/decisions.md#n1`). */
  readonly sequenceNumber: number;
  readonly autoApproveDate?: string;
  readonly autoDenyDate?: string;
  readonly pendingStatusDateChanged?: string;
  readonly deniedReasonId?: DeniedReasonId;
  readonly paymentId?: number;
  /** While Tracked: as recorded with the report. */
  readonly terms?: Terms;
  /** It stays Tracked until its advertiser has it validated. */
  readonly isHeld?: true;
  /** Why it is Invalid. */
  readonly reasons?: readonly string[];
  /** When it was approved (epoch ms): also once it is Paid, or Deleted after its approval. */
  readonly approved?: number;
}

/** With the log position of its last event (`numberOf`), as the read model stores it. */
export interface PositionedTransaction extends StoredTransaction {
  readonly position: number;
}

export interface ListedTransaction extends StoredTransaction {
  readonly transactionId: string;
}

/** The document after an event, a new object; `revision` is that of the event in its stream. */
export function storedAfter(
  before: StoredTransaction | undefined,
  { type, data }: TransactionEvent,
  revision: number,
): StoredTransaction {
  if (type === 'TransactionAmended' && before !== undefined)
    return { ...before, transaction: factsIn(data), changed: Date.parse(data.at) };
  const { at, transaction, decimals, ...attributes } = data;
  const approved = APPROVALS.has(type)
    ? Date.parse(at)
    : AFTER_APPROVAL.has(type)
      ? before?.approved
      : undefined;
  return {
    messageTypeId: stateIdOf(STATE_OF[type]),
    transaction: factsIn({ transaction, ...(decimals === undefined ? {} : { decimals }) }),
    changed: Date.parse(at),
    sequenceNumber: revision + 1,
    ...attributes,
    ...(approved === undefined ? {} : { approved }),
  };
}

const APPROVALS: ReadonlySet<TransactionEvent['type']> = new Set([
  'TransactionTrackedApproved',
  'TransactionPendingApproved',
]);

/** They keep the time of an approval, all other events of a state but amendments replace what was before. */
export const AFTER_APPROVAL: ReadonlySet<TransactionEvent['type']> = new Set([
  'TransactionDeleted',
  'TransactionPaid',
]);

/** When the system has to end the pending period, in epoch ms; undefined in other states. */
export function dueOf(stored: StoredTransaction): number | undefined {
  const period = stored.messageTypeId === stateIdOf('Pending') ? storedPeriod(stored) : undefined;
  return period && endOf(period);
}

/** The pending period, once there was one. */
export function storedPeriod({ autoApproveDate, autoDenyDate }: StoredTransaction): Period | undefined {
  if (autoDenyDate !== undefined) return { autoDenyDate };
  return autoApproveDate === undefined ? undefined : { autoApproveDate };
}

/** Attributes that these states do not have (Document 2, Message attributes; `docs/decisions.md#n2`). */
const WITHOUT_VISIT: ReadonlySet<StateName> = new Set(['Pending_Approved', 'Deleted']);
const WITH_PERIOD: ReadonlySet<StateName> = new Set(['Pending', 'Pending_Approved', 'Deleted']);

/** A transaction as it is listed: its attributes in the order of the table, by its state (`docs/decisions.md#t6`). */
export function toOutput(listed: ListedTransaction, dates: DateFormat): OutputTransaction {
  const { messageTypeId, transaction, changed, sequenceNumber, deniedReasonId } = listed;
  const { name } = STATES[messageTypeId];
  const { reportInfo, timeOfVisit } = transaction;
  const hasVisit = !WITHOUT_VISIT.has(name);
  const { autoApproveDate, autoDenyDate, pendingStatusDateChanged } = WITH_PERIOD.has(name) ? listed : NONE;
  const products = reportInfo === undefined ? NONE : productsIn(reportInfo);
  const date = (time: string | number) => writeDate(new Date(time).getTime(), dates);
  const amount = (one: (typeof AMOUNTS)[number]) => postedValue(transaction, one) as number | undefined;
  const output: {
    readonly [Name in keyof Required<OutputTransaction>]: OutputTransaction[Name] | undefined;
  } = {
    adId: transaction.adId,
    advertiserId: transaction.advertiserId,
    autoApproveDate: autoApproveDate && date(autoApproveDate),
    autoDenyDate: autoDenyDate && date(autoDenyDate),
    batchId: transaction.batchId,
    currencyId: transaction.currencyId,
    deniedReasonId: WITH_PERIOD.has(name) ? deniedReasonId : undefined,
    epi: transaction.epi,
    epi2: transaction.epi2,
    eventId: transaction.eventId,
    eventTypeId: transaction.eventTypeId,
    locationId: transaction.locationId,
    mediaCost: amount('mediaCost'),
    messageTypeId,
    orderNumber: transaction.orderNumber,
    orderValue: amount('orderValue'),
    paymentId: name === 'Paid' ? listed.paymentId : undefined,
    pendingStatusDateChanged: pendingStatusDateChanged && date(pendingStatusDateChanged),
    productId: transaction.productId,
    productName: products.productName,
    productNumber: products.productNumber,
    productQuantity: products.productQuantity,
    productValue: products.productValue,
    programCountry: transaction.programCountry,
    programId: transaction.programId,
    publisherCommission: amount('publisherCommission'),
    tdCommission: amount('tdCommission'),
    reportInfo: hasVisit ? reportInfo : undefined,
    sequenceNumber: String(sequenceNumber),
    siteId: transaction.siteId,
    siteName: transaction.siteName,
    timeOfEvent: date(transaction.timeOfEvent),
    timeOfVisit: timeOfVisit && date(timeOfVisit),
    transactionId: name === 'Tracked' ? undefined : listed.transactionId,
    legacyTransactionId: legacyIdOf(transaction),
    visitorId: hasVisit ? transaction.visitorId : undefined,
    stateName: name,
    changed: date(changed),
  };
  return output as OutputTransaction;
}

const NONE: { readonly [Name in keyof ListedTransaction | ProductAttribute]?: undefined } = {};

/** Attributes taken from `reportInfo`, and the parameter of an item with each (`docs/decisions.md#t2`). */
const PARAMETERS = {
  productNumber: 'f1',
  productName: 'f2',
  productValue: 'f3',
  productQuantity: 'f4',
} as const;

type ProductAttribute = keyof typeof PARAMETERS;

const ATTRIBUTES = Object.entries(PARAMETERS) as readonly (readonly [ProductAttribute, Parameter])[];

const ITEM = /^f[1-4]=[^&|=]*(&f[1-4]=[^&|=]*)*$/;

export function isReportInfo(text: string): boolean {
  return text.split('|').every((item) => ITEM.test(item) && isReadable(item));
}

/** A value for each item, separated by `|`; within values `|` and `%` stay encoded. Absent if no item has it. */
function productsIn(reportInfo: string): Partial<Record<ProductAttribute, string>> {
  const items = reportInfo.split('|').map(parametersOf);
  const attributes: Partial<Record<ProductAttribute, string>> = {};
  for (const [name, parameter] of ATTRIBUTES)
    if (items.some((item) => item[parameter] !== undefined))
      attributes[name] = items.map((item) => escaped(item[parameter] ?? '')).join('|');
  return attributes;
}

/** Receivers split at `|`, so that the attributes of an item stay aligned. */
function escaped(value: string): string {
  return value.replaceAll('%', '%25').replaceAll('|', '%7C');
}

type Parameter = (typeof PARAMETERS)[ProductAttribute];

function parametersOf(item: string): Readonly<Partial<Record<Parameter, string>>> {
  const values: Partial<Record<Parameter, string>> = {};
  for (const pair of item.split('&'))
    values[pair.slice(0, 2) as Parameter] = decodeURIComponent(pair.slice(3));
  return values;
}

/** Decodable, without characters that XML does not allow. */
function isReadable(item: string): boolean {
  try {
    return forbiddenCharacter(decodeURIComponent(item)) === undefined;
  } catch {
    return false;
  }
}
