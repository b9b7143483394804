import { trackedOrders } from '../../projections/tracked-orders';
import { type Directory } from '../directory/directory';
import { EngineUnavailable } from '../kernel/event-log';
import { QueryTooLong } from '../kernel/query';
import { NoGeneration, type ReadStore } from '../kernel/read-store';
import { type Screening } from './claim';
import { type Claimed, screen, type TrackedOrder } from './screening';

/** How long the search for transactions may take (ms). */
const TIME_LIMIT = 5_000;

/** Screens claims against the directory and the read model of transactions, as lists show them (`docs/decisions.md#c5`). */
export async function screenAll<Claim extends Claimed>(
  claims: readonly Claim[],
  { store, directory, now }: { readonly store: ReadStore; readonly directory: Directory; readonly now: Date },
): Promise<readonly (Claim & { readonly screening: Screening })[]> {
  const found = new Map<number, OrdersFound>();
  for (const [advertiserId, orderNumbers] of ordersByAdvertiser(claims, directory))
    found.set(advertiserId, await ordersFound(store, advertiserId, [...orderNumbers]));
  return claims.map((claimed) => {
    const { programId, orderNumber } = claimed.claim;
    const orders = found.get(directory.program(programId)?.organisationId ?? NaN);
    const own = orders === 'unavailable' ? orders : (orders?.get(orderNumber) ?? []);
    return { ...claimed, screening: screen(claimed, { directory, orders: own, now }) };
  });
}

type OrdersFound = ReadonlyMap<string, readonly TrackedOrder[]> | 'unavailable';

function ordersByAdvertiser(
  claims: readonly Claimed[],
  directory: Directory,
): ReadonlyMap<number, ReadonlySet<string>> {
  const orders = new Map<number, Set<string>>();
  for (const { claim } of claims) {
    const advertiserId = directory.program(claim.programId)?.organisationId;
    if (advertiserId === undefined) continue;
    orders.set(advertiserId, (orders.get(advertiserId) ?? new Set<string>()).add(claim.orderNumber));
  }
  return orders;
}

async function ordersFound(
  store: ReadStore,
  advertiserId: number,
  orderNumbers: readonly string[],
): Promise<OrdersFound> {
  try {
    return await trackedOrders(store, { advertiserId, orderNumbers }, { timeLimit: TIME_LIMIT });
  } catch (error) {
    const isOutOfReach = [EngineUnavailable, NoGeneration, QueryTooLong].some(
      (kind) => error instanceof kind,
    );
    if (isOutOfReach) return 'unavailable';
    throw error;
  }
}
