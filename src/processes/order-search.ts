import { type OrdersOf, transactionsOfOrders } from '../../projections/transactions';
import { type ClaimOrigin, type Screening } from '../domain/claims/claim';
import { type Claimed, originOf, screen, type OrderTransaction } from '../domain/claims/screening';
import { EngineUnavailable } from '../kernel/event-log';
import { type QueryOptions, QueryTooLong } from '../kernel/query';
import { NoGeneration, type ReadStore } from '../kernel/read-store';
import { type Directory } from '../network/directory';
import { type Clock } from '../runtime/clock';
import { inParallel } from '../runtime/concurrency';
import { withEngineTimeout } from '../runtime/unavailable';

type OrdersFound = ReadonlyMap<string, readonly OrderTransaction[]> | 'unavailable';

/** Finds orders in the read model, or where there is none. */
type Lookup = (orders: OrdersOf, query: QueryOptions) => ReturnType<typeof transactionsOfOrders>;

interface SharedSearch {
  readonly orderNumbers: Set<string>;
  readonly found: Promise<OrdersFound>;
}

/** How long a search may take, and with those before it (ms). */
const TIME_LIMIT = 5_000;
const WAIT_LIMIT = 8_000;

/** Order numbers of a shared search. */
const MOST_SHARED = 1_000;

/**
 * Finds transactions of advertisers, in their read model as lists show them (`docs/decisions.md#c5`). While a search
 * for an advertiser runs, those who come share the next one: a search costs far more than what it finds.
 */
export class OrderSearch {
  /** By advertiser: the search that has been started last, which may have ended. */
  private readonly last = new Map<number, Promise<OrdersFound>>();
  /** By advertiser: the search that is started next. */
  private readonly next = new Map<number, SharedSearch>();

  constructor(
    private readonly clock: Clock,
    private readonly lookup: Lookup,
  ) {}

  static over(clock: Clock, store: ReadStore): OrderSearch {
    return new OrderSearch(clock, (orders, query) => transactionsOfOrders(store, orders, query));
  }

  /** May find other orders too. Nobody waits for long behind the searches of others: then they are unavailable. */
  async find(advertiserId: number, orderNumbers: ReadonlySet<string>): Promise<OrdersFound> {
    try {
      const found = this.found(advertiserId, orderNumbers);
      return await withEngineTimeout(this.clock, 'the read store', found, WAIT_LIMIT);
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
    const search: SharedSearch = { orderNumbers: new Set(orderNumbers), found: before.then(start, start) };
    this.next.set(advertiserId, search);
    return await search.found;
  }

  private async start(advertiserId: number, search: SharedSearch): Promise<OrdersFound> {
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

/** Advertisers searched for at a time. */
const AT_ONCE = 8;

/**
 * Screens claims against the directory and the read model of transactions, as lists show them (`docs/decisions.md#c5`).
 * The origin of each is by the same state of the directory: a claim that awaits approval has an advertiser.
 */
export async function screenAll<Claim extends Claimed>(
  claims: readonly Claim[],
  {
    search,
    directory,
    now,
  }: { readonly search: OrderSearch; readonly directory: Directory; readonly now: Date },
): Promise<readonly (Claim & { readonly screening: Screening; readonly origin: ClaimOrigin })[]> {
  const found = new Map<number, OrdersFound>();
  await inParallel(ordersByAdvertiser(claims, directory), AT_ONCE, async ([advertiserId, orderNumbers]) => {
    found.set(advertiserId, await search.find(advertiserId, orderNumbers));
  });
  return claims.map((claimed) => {
    const { publisherId, claim } = claimed;
    const { programId, orderNumber } = claim;
    const orders = found.get(directory.program(programId)?.organisationId ?? NaN);
    const own = orders === 'unavailable' ? orders : (orders?.get(orderNumber) ?? []);
    const screening = screen(claimed, { directory, orders: own, now });
    return { ...claimed, screening, origin: originOf(claim, publisherId, directory) };
  });
}

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
