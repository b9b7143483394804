import { type OrderTransaction } from '../src/domain/claims/screening';
import { STANDINGS, stateIdOf } from '../src/domain/transactions/states';
import {
  AFTER_APPROVAL,
  dueOf,
  type ListedTransaction,
  type PositionedTransaction,
  storedAfter,
  type StoredTransaction,
} from '../src/domain/transactions/stored-transaction';
import { STATE_OF, TRANSACTION, type TransactionEvent } from '../src/domain/transactions/transaction';
import { legacyIdOf } from '../src/domain/transactions/transaction-id';
import { type ParsedEvent } from '../src/kernel/decider';
import { numberOf, type Position } from '../src/kernel/event';
import {
  allOf,
  type Bounds,
  type Cursor,
  type Filter,
  filtersOn,
  type Found,
  oneAnswer,
  type QueryOptions,
  type TotalsPeriod,
  type TotalsSearch,
} from '../src/kernel/query';
import { type FieldType, type FieldValue, type ReadStore, type Target } from '../src/kernel/read-store';
import { type Projection } from '../src/projector/projection';
import { eachOf, searchInParts } from '../src/projector/search-in-parts';

const FIELDS = {
  transactionId: 'keyword',
  legacyTransactionId: 'keyword',
  advertiserId: 'keyword',
  programId: 'column',
  /** Who owned the site when it was reported. */
  publisherId: 'keyword',
  siteId: 'column',
  eventId: 'column',
  eventTypeId: 'keyword',
  messageTypeId: 'column',
  orderNumber: 'keyword',
  epi: 'keyword',
  currencyId: 'column',
  /** Integers (`wire/record/minor-units.ts`). */
  orderValue: 'number',
  publisherCommission: 'number',
  tdCommission: 'number',
  /** Epoch ms. */
  timeOfEvent: 'number',
  changed: 'number',
  approved: 'number',
  /** From `timeOfEvent` to the approval (ms). */
  approvalTime: 'number',
  /** Of the last event: lists are followed by it. */
  position: 'number',
  /** When the system ends the pending period (`dueOf`). */
  due: 'number',
  /** The program of a Paused transaction: the system validates it when the program is no longer paused. */
  pausedProgramId: 'number',
} as const satisfies Readonly<Record<string, FieldType>>;

type TransactionField = keyof typeof FIELDS;

const TYPES = Object.keys(STATE_OF) as TransactionEvent['type'][];

/** All transactions (`docs/decisions.md#t6`), and what the system has to do with them (`docs/decisions.md#t4`). */
export const transactions: Projection<PositionedTransaction, TransactionEvent> = {
  collection: {
    name: 'transactions',
    version: 5,
    fields: FIELDS,
    sorts: ['timeOfEvent', 'changed', 'position', 'due', 'pausedProgramId'],
  },
  streams: [`${TRANSACTION}-`],
  handles: TYPES,
  replaces: TYPES.filter((type) => type !== 'TransactionAmended' && !AFTER_APPROVAL.has(type)),
  idOf: ({ stream }: ParsedEvent<TransactionEvent>) => stream.slice(TRANSACTION.length + 1),
  // Adds to the new document: a copy of it takes as long as making it.
  fold: (before, event) =>
    Object.assign(storedAfter(before, event, event.revision), { position: numberOf(event.position) }),
  describe: (document, id) => ({ document, fields: fieldsOf(document, id) }),
};

const PAUSED = stateIdOf('Paused');

function fieldsOf(stored: PositionedTransaction, id: string): Readonly<Record<string, FieldValue>> {
  const { transaction, messageTypeId, changed, approved, position } = stored;
  const due = dueOf(stored);
  const timeOfEvent = Date.parse(transaction.timeOfEvent);
  return {
    transactionId: id,
    legacyTransactionId: legacyIdOf(transaction),
    advertiserId: String(transaction.advertiserId),
    programId: String(transaction.programId),
    ...(transaction.publisherId === undefined ? {} : { publisherId: String(transaction.publisherId) }),
    siteId: String(transaction.siteId),
    eventId: String(transaction.eventId),
    eventTypeId: String(transaction.eventTypeId),
    messageTypeId: String(messageTypeId),
    orderNumber: transaction.orderNumber,
    epi: transaction.epi ?? [],
    currencyId: transaction.currencyId,
    orderValue: transaction.orderValue,
    publisherCommission: transaction.publisherCommission,
    tdCommission: transaction.tdCommission,
    timeOfEvent,
    changed,
    ...(approved === undefined ? {} : { approved, approvalTime: Math.max(0, approved - timeOfEvent) }),
    position,
    ...(due === undefined ? {} : { due }),
    ...(messageTypeId === PAUSED ? { pausedProgramId: transaction.programId } : {}),
  };
}

/** Which transactions: checked keys, limited to what the caller may see. Bounds are inclusive, times in epoch ms. */
export interface TransactionCriteria {
  readonly among: Readonly<Partial<Record<TransactionField, readonly (string | number)[]>>>;
  readonly timeOfEvent: Bounds;
  readonly changed: Bounds;
  readonly approved: Bounds;
  /** Only those whose last event is after this log position, and at `until` or before. */
  readonly after?: Position;
  readonly until?: Position;
}

export interface TransactionPage {
  readonly orderBy: 'timeOfEvent' | 'changed' | 'position';
  readonly descending: boolean;
  readonly offset: number;
  readonly size: number;
  readonly after?: Cursor | null | undefined;
}

const TARGET = { collection: transactions.collection.name };

/** Transactions in batches that are read on demand, the number of all, and the cursor of the next page. */
export async function listTransactions(
  store: ReadStore,
  criteria: TransactionCriteria,
  { orderBy, descending, offset, size, after }: TransactionPage,
  target: Target = TARGET,
  query: QueryOptions = {},
) {
  const order = [{ field: orderBy satisfies TransactionField, descending }];
  const paged = after === undefined ? { offset } : { offset: 0, after };
  const wanted = { filter: filterOf(criteria), order, size, ...paged };
  return await searchInParts({ store, target, read: toTransaction }, wanted, query);
}

/** Ids of transactions with an order number, the oldest first, at most `most`. */
export async function transactionsOfOrder(
  store: ReadStore,
  orderNumber: string,
  most: number,
): Promise<readonly string[]> {
  const criteria = { among: { orderNumber: [orderNumber] }, timeOfEvent: {}, changed: {}, approved: {} };
  const page = { orderBy: 'timeOfEvent', descending: false, offset: 0, size: most } as const;
  const ids: string[] = [];
  for await (const batch of eachOf(await listTransactions(store, criteria, page), (one) => one.transactionId))
    ids.push(...batch);
  return ids;
}

/** What totals are by, beside currency and state. */
export interface TotalsGroups {
  readonly by: readonly ('programId' | 'siteId' | 'eventId')[];
  readonly period?:
    { readonly of: 'timeOfEvent' | 'changed' | 'approved'; readonly every: TotalsPeriod } | undefined;
}

/** Of one combination; amounts are integers (`wire/record/minor-units.ts`). */
export interface TransactionTotals {
  /** The first day of the period. */
  readonly period?: string;
  readonly ids: { readonly [Name in TotalsGroups['by'][number]]?: number };
  readonly currencyId: string;
  readonly messageTypeId: number;
  readonly count: number;
  readonly orderValue: number;
  readonly publisherCommission: number;
  readonly tdCommission: number;
  /** Sum of the times from `timeOfEvent` to approval (ms), of those that were approved. */
  readonly approvalTime: number;
}

/** Combinations in an answer. */
export const MOST_TOTALS = 10_000;

/** Totals by currency, state, and what is asked for; undefined if there are more than `MOST_TOTALS`. */
export async function totalTransactions(
  store: ReadStore,
  criteria: TransactionCriteria,
  { by, period }: TotalsGroups,
  query: QueryOptions = {},
): Promise<readonly TransactionTotals[] | undefined> {
  const wanted = {
    filter: filterOf(criteria),
    by: [
      'currencyId',
      'messageTypeId',
      ...by,
      ...(period === undefined ? [] : [{ field: period.of, every: period.every }]),
    ],
    sums: ['orderValue', 'publisherCommission', 'tdCommission', 'approvalTime'],
    most: MOST_TOTALS,
  } as const satisfies { sums: readonly TransactionField[] } & TotalsSearch;
  const totals = await store.totals(TARGET, wanted, query);
  if (totals.length > MOST_TOTALS) return undefined;
  return totals.map(({ values: [currencyId = '', state, ...values], count, sums }) => ({
    ...(period === undefined ? {} : { period: values[by.length] ?? '' }),
    ids: Object.fromEntries(by.map((name, at) => [name, Number(values[at])])),
    currencyId,
    messageTypeId: Number(state),
    count,
    orderValue: sums[0] ?? 0,
    publisherCommission: sums[1] ?? 0,
    tdCommission: sums[2] ?? 0,
    approvalTime: sums[3] ?? 0,
  }));
}

export async function transactionsById(
  store: ReadStore,
  ids: readonly string[],
): Promise<readonly ListedTransaction[]> {
  return (await store.get(TARGET, ids)).map(toTransaction);
}

function toTransaction({ id, body }: Found): ListedTransaction {
  return { transactionId: id, ...(JSON.parse(body) as StoredTransaction) };
}

const { among, between } = filtersOn<TransactionField>();

function filterOf(criteria: TransactionCriteria): Filter {
  const lists = Object.entries(criteria.among) as [TransactionField, readonly (string | number)[]][];
  return allOf(
    ...lists.map(([field, values]) => among(field, values.map(String))),
    between('timeOfEvent', criteria.timeOfEvent),
    between('changed', criteria.changed),
    between('approved', criteria.approved),
    between('position', {
      min: criteria.after === undefined ? undefined : numberOf(criteria.after) + 1,
      max: criteria.until === undefined ? undefined : numberOf(criteria.until),
    }),
  );
}

/** Pending transactions whose period has ended at `now` (epoch ms). */
export function periodsEndedBy(now: number): Filter {
  return allOf(between('due', { max: now }));
}

/**
 * Paused transactions of all programs but these, in ranges of program ids that an index answers: so it does not matter
 * how many transactions of these programs are Paused, how many other programs there are, or whether they have been
 * removed.
 */
export function pausedOutside(programIds: readonly number[]): readonly Filter[] {
  const ids = programIds.toSorted((a, b) => a - b);
  return [...ids, Infinity].flatMap((id, at) => {
    const [min, max] = [(ids[at - 1] ?? -1) + 1, id - 1];
    if (min > max) return [];
    return allOf(between('pausedProgramId', { min, ...(max === Infinity ? {} : { max }) }));
  });
}

export interface OrdersOf {
  readonly advertiserId: number;
  readonly orderNumbers: readonly string[];
}

const ORDERS_AT_ONCE = 1000;

/** The transactions of an advertiser with these order numbers, of any event, by order number. */
export async function transactionsOfOrders(
  store: ReadStore,
  { advertiserId, orderNumbers }: OrdersOf,
  query: QueryOptions = {},
): Promise<ReadonlyMap<string, readonly OrderTransaction[]>> {
  const filter = allOf(among('orderNumber', orderNumbers), among('advertiserId', [String(advertiserId)]));
  const orders = new Map<string, OrderTransaction[]>();
  const options = oneAnswer(query);
  let after: Cursor | null | undefined = null;
  while (after !== undefined) {
    const page = { filter, order: [], offset: 0, size: ORDERS_AT_ONCE, after };
    const { found, next } = await store.search(TARGET, page, options);
    for (const { id, body } of found) {
      const stored = JSON.parse(body) as StoredTransaction;
      const { orderNumber } = stored.transaction;
      orders.set(orderNumber, [...(orders.get(orderNumber) ?? []), toOrderTransaction(id, stored)]);
    }
    after = next;
  }
  return orders;
}

export function toOrderTransaction(
  transactionId: string,
  { transaction, messageTypeId }: StoredTransaction,
): OrderTransaction {
  const { programId, siteId, publisherId } = transaction;
  const publisher = publisherId === undefined ? {} : { publisherId };
  return { transactionId, programId, siteId, ...publisher, standing: STANDINGS[messageTypeId] };
}
