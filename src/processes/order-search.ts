import { type OrdersOf, trackedOrders } from '../../projections/tracked-orders';
import { EngineUnavailable } from '../kernel/event-log';
import { type QueryOptions, QueryTooLong } from '../kernel/query';
import { NoGeneration, type ReadStore } from '../kernel/read-store';
import { withEngineTimeout } from '../runtime/unavailable';
import { type TrackedOrder } from '../domain/claims/screening';

/** Transactions by order number. */
export type OrdersFound = ReadonlyMap<string, readonly TrackedOrder[]> | 'unavailable';

/** Finds orders in the read model, or where there is none. */
type Lookup = (orders: OrdersOf, query: QueryOptions) => ReturnType<typeof trackedOrders>;

interface Search {
  readonly orderNumbers: Set<string>;
  readonly found: Promise<OrdersFound>;
}

/** How long a search may take, and with those before it (ms). */
const TIME_LIMIT = 5_000;
const WAIT_LIMIT = 8_000;

/** Order numbers of a shared search. */
const MOST_SHARED = 1_000;

/**
 * Finds transactions of advertisers, in their read model as lists show them (`docs/decisions.md#c5`). While a search for an
 * advertiser runs, those who come share the next one: a search costs far more than what it finds.
 */
export class OrderSearch {
  /** By advertiser: the search that has been started last, which may have ended. */
  private readonly last = new Map<number, Promise<OrdersFound>>();
  /** By advertiser: the search that is started next. */
  private readonly next = new Map<number, Search>();

  constructor(private readonly lookup: Lookup) {}

  static over(store: ReadStore): OrderSearch {
    return new OrderSearch((orders, query) => trackedOrders(store, orders, query));
  }

  /** May find other orders too. Nobody waits for long behind the searches of others: then they are unavailable. */
  async find(advertiserId: number, orderNumbers: ReadonlySet<string>): Promise<OrdersFound> {
    try {
      return await withEngineTimeout('the read store', this.found(advertiserId, orderNumbers), WAIT_LIMIT);
    } catch (error) {
      if (error instanceof EngineUnavailable) return 'unavailable';
      throw error;
    }
  }

  private async found(advertiserId: number, orderNumbers: ReadonlySet<string>): Promise<OrdersFound> {
    const shared = this.next.get(advertiserId);
    if (shared !== undefined && shared.orderNumbers.size + orderNumbers.size <= MOST_SHARED) {
      for (const orderNumber of orderNumbers) shared.orderNumbers.add(orderNumber);
      return await shared.found;
    }
    const before = shared?.found ?? this.last.get(advertiserId) ?? Promise.resolve();
    const start = async (): Promise<OrdersFound> => await this.start(advertiserId, search);
    const search: Search = { orderNumbers: new Set(orderNumbers), found: before.then(start, start) };
    this.next.set(advertiserId, search);
    return await search.found;
  }

  private async start(advertiserId: number, search: Search): Promise<OrdersFound> {
    if (this.next.get(advertiserId) === search) this.next.delete(advertiserId);
    this.last.set(advertiserId, search.found);
    try {
      return await this.search(advertiserId, [...search.orderNumbers]);
    } finally {
      if (this.last.get(advertiserId) === search.found) this.last.delete(advertiserId);
    }
  }

  private async search(advertiserId: number, orderNumbers: readonly string[]): Promise<OrdersFound> {
    try {
      return await this.lookup({ advertiserId, orderNumbers }, { timeLimit: TIME_LIMIT });
    } catch (error) {
      const isOutOfReach = [EngineUnavailable, NoGeneration, QueryTooLong].some(
        (kind) => error instanceof kind,
      );
      if (isOutOfReach) return 'unavailable';
      throw error;
    }
  }
}
