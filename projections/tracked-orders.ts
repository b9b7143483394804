import { type TrackedOrder } from '../src/domain/claims/screening';
import { allOf, type Cursor, filtersOn, type QueryOptions } from '../src/kernel/query';
import { type ReadStore } from '../src/kernel/read-store';
import { STANDINGS } from '../src/domain/transactions/states';
import { type StoredTransaction } from '../src/domain/transactions/stored-transaction';
import { type TransactionField, transactions } from './transactions';

export interface OrdersOf {
  readonly advertiserId: number;
  readonly orderNumbers: readonly string[];
}

const TARGET = { collection: transactions.collection.name };
const PAGE = 1000;
const { among } = filtersOn<TransactionField>();

/** The transactions of an advertiser with these order numbers, of any event, by order number. */
export async function trackedOrders(
  store: ReadStore,
  { advertiserId, orderNumbers }: OrdersOf,
  query: QueryOptions = {},
): Promise<ReadonlyMap<string, readonly TrackedOrder[]>> {
  const filter = allOf(among('orderNumber', orderNumbers), among('advertiserId', [String(advertiserId)]));
  const orders = new Map<string, TrackedOrder[]>();
  let after: Cursor | null | undefined = null;
  while (after !== undefined) {
    const page = { filter, order: [], offset: 0, size: PAGE, after };
    const { found, next } = await store.search(TARGET, page, query);
    for (const { id, body } of found) {
      const stored = JSON.parse(body) as StoredTransaction;
      const { orderNumber } = stored.transaction;
      orders.set(orderNumber, [...(orders.get(orderNumber) ?? []), toTrackedOrder(id, stored)]);
    }
    after = next;
  }
  return orders;
}

export function toTrackedOrder(
  transactionId: string,
  { transaction, messageTypeId }: StoredTransaction,
): TrackedOrder {
  const { programId, siteId, publisherId } = transaction;
  const publisher = publisherId === undefined ? {} : { publisherId };
  return { transactionId, programId, siteId, ...publisher, standing: STANDINGS[messageTypeId] };
}
