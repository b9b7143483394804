import { type Directory } from '../network/directory';
import { inParallel } from '../runtime/in-parallel';
import { type ClaimOrigin, type Screening } from '../domain/claims/claim';
import { type OrderSearch, type OrdersFound } from './order-search';
import { type Claimed, originOf, screen } from '../domain/claims/screening';

/** Advertisers searched for at a time. */
const AT_ONCE = 8;

/**
 * Screens claims against the directory and the read model of transactions, as lists show them (`docs/decisions.md#c5`). The
 * origin of each is by the same state of the directory: a claim that awaits approval has an advertiser.
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
