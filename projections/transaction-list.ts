import { numberOf, type Position } from '../src/kernel/event';
import { allOf, filtersOn } from '../src/kernel/filters';
import { type Cursor, type Filter, type Found, type QueryOptions } from '../src/kernel/query';
import { type ReadStore, type Target, targetOf } from '../src/kernel/read-store';
import { searchInParts } from '../src/projector/search-in-parts';
import { liveGeneration } from '../src/projector/generations';
import {
  type ListedTransaction,
  type StoredTransaction,
} from '../src/domain/transactions/stored-transaction';
import { transactions, type TransactionField } from './transactions';

/** Which transactions: checked keys, limited to what the caller may see. Bounds are inclusive, times in epoch ms. */
export interface TransactionCriteria {
  /** The values that each field may have. */
  readonly among: Readonly<Partial<Record<TransactionField, readonly (string | number)[]>>>;
  readonly timeOfEvent: Bounds;
  readonly changed: Bounds;
  /** Only those whose last event is after this log position, and at `until` or before. */
  readonly after?: Position;
  readonly until?: Position;
}

interface Bounds {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

/** A page of them, in order. */
export interface TransactionPage {
  readonly orderBy: 'timeOfEvent' | 'changed' | 'position';
  readonly descending: boolean;
  readonly offset: number;
  readonly size: number;
  readonly after?: Cursor | null | undefined;
}

const TARGET = { collection: transactions.collection.name };

/**
 * The live generation, and the log position up to which searches in it include everything. Searches keep using it if another one
 * becomes live meanwhile, since that one may be behind. Over Elasticsearch this costs three requests.
 */
export async function transactionsNow(
  store: ReadStore,
): Promise<{ readonly target: Target; readonly position: Position }> {
  const live = await liveGeneration(store, transactions.collection);
  const target = live === undefined ? TARGET : targetOf(live);
  const position = await store.checkpoint(target);
  await store.refresh(target);
  return { target, position };
}

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

/** The total of the transactions of one currency in one state; amounts are integers (`wire/minor-units.ts`). */
export interface StateTotal {
  readonly currencyId: string;
  readonly messageTypeId: number;
  readonly count: number;
  readonly orderValue: number;
  readonly publisherCommission: number;
  readonly tdCommission: number;
}

/** Totals by currency and state. */
export async function totalTransactions(
  store: ReadStore,
  criteria: TransactionCriteria,
  query: QueryOptions = {},
): Promise<readonly StateTotal[]> {
  const wanted = {
    filter: filterOf(criteria),
    by: ['currencyId', 'messageTypeId'],
    sums: ['orderValue', 'publisherCommission', 'tdCommission'],
  } as const satisfies { by: readonly TransactionField[]; sums: readonly TransactionField[]; filter: Filter };
  const totals = await store.totals(TARGET, wanted, query);
  return totals.map(({ values: [currencyId = '', state], count, sums }) => ({
    currencyId,
    messageTypeId: Number(state),
    count,
    orderValue: sums[0] ?? 0,
    publisherCommission: sums[1] ?? 0,
    tdCommission: sums[2] ?? 0,
  }));
}

/** Those of these ids that exist. */
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
    between('position', {
      min: criteria.after === undefined ? undefined : numberOf(criteria.after) + 1,
      max: criteria.until === undefined ? undefined : numberOf(criteria.until),
    }),
  );
}
