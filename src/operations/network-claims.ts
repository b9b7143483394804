import { listClaims } from '../../projections/claims';
import { type OutputClaim, toOutput } from '../services/claims/output';
import { reviewClaim, type ReviewRequest } from '../services/claims/review';
import { isAtNetwork, type StatusId, STATUSES } from '../domain/claims/statuses';
import { type Directory } from '../network/directory';
import { type Program } from '../network/programs';
import { type EventLog } from '../kernel/event-log';
import { Fault } from '../kernel/fault';
import { type QueryOptions } from '../kernel/query';
import { type ReadStore } from '../kernel/read-store';
import { OrderSearch } from '../processes/order-search';
import { eachOf } from '../projector/search-in-parts';
import { PAGE_CAP } from '../wire/keys/pages';

/** Which claims; those in no status are those that are pending at the network. */
export interface NetworkCriteria {
  readonly statusId: readonly number[];
  readonly programId: readonly number[];
  readonly claimId: readonly number[];
}

interface NetworkReviewParts {
  readonly store: ReadStore;
  readonly directory: Directory;
  readonly now: Date;
}

const AT_NETWORK = (Object.keys(STATUSES).map(Number) as StatusId[]).filter(isAtNetwork);

/** Claims of all programs as operators list them, the oldest first, and the number of all (`docs/decisions.md#c14`). */
export async function networkClaims(
  { store, directory, now }: NetworkReviewParts,
  { statusId, programId, claimId }: NetworkCriteria,
  { offset, limit }: { readonly offset: number; readonly limit: number },
  query: QueryOptions = {},
): Promise<{ readonly claims: AsyncIterable<Iterable<OutputClaim>>; readonly total: number }> {
  const lists = { statusId: statusId.length === 0 ? AT_NETWORK : statusId, programId, id: claimId };
  const given = Object.entries(lists).filter(([, values]) => values.length > 0);
  const criteria = {
    among: Object.fromEntries(given) as Partial<typeof lists>,
    lastChanged: {},
    timeStampEvent: {},
  };
  const page = { by: 'claimId', descending: false, offset, size: Math.min(PAGE_CAP, limit) } as const;
  const found = await listClaims(store, criteria, page, query);
  return { claims: eachOf(found, (listed) => toOutput(listed, directory, now)), total: found.total };
}

/** The same as lines, and the number of all. */
export async function claimLines(
  surface: NetworkReviewParts,
  criteria: NetworkCriteria,
  most: number,
): Promise<{ readonly lines: readonly string[]; readonly total: number }> {
  const lines: string[] = [];
  const { claims, total } = await networkClaims(surface, criteria, { offset: 0, limit: most });
  for await (const some of claims)
    for (const claim of some) lines.push(lineOf(claim, surface.directory.program(claim.programId)));
  return { lines, total };
}

/** Amounts are in the currency of the program. */
function lineOf(claim: OutputClaim, program: Program | undefined): string {
  const { claimId, statusId, statusName, programId, affiliateSiteId, eventId, orderNumber } = claim;
  const expected =
    claim.expectedCommission === undefined ? [] : [`expected commission ${claim.expectedCommission}`];
  return [
    claimId,
    `${statusId} ${statusName}`,
    `since ${claim.statusChanged}`,
    `program ${programId}`,
    `site ${affiliateSiteId}`,
    `event ${eventId}`,
    `order ${JSON.stringify(orderNumber)} of ${claim.timeStampEvent}`,
    `order value ${claim.orderValue}${program === undefined ? '' : ` ${program.currency}`}`,
    ...expected,
  ].join('\t');
}

/** A claim cannot be released or rejected. */
class RefusedReview extends Error {
  override readonly name = 'RefusedReview';
}

/** Releases or rejects a claim in its latest version, and describes the outcome. Raises `RefusedReview`. */
export async function decide(
  { log, store, directory, now }: NetworkReviewParts & { readonly log: EventLog },
  requested: () => ReviewRequest,
): Promise<string> {
  try {
    const request = requested();
    const search = OrderSearch.over(store);
    const { statusId } = await reviewClaim(request, { log, search, directory, now });
    return `claim ${request.claimId}: ${statusId} ${STATUSES[statusId].name}`;
  } catch (error) {
    throw error instanceof Fault ? new RefusedReview(error.message) : error;
  }
}
