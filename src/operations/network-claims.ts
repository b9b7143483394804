import { listClaims } from '../../projections/claims';
import { claimDecider, type FiledClaim, type Review } from '../domain/claims/claim';
import { claimFaults as fault } from '../domain/claims/faults';
import { awaiting, trackedStatus, findTracked } from '../domain/claims/screening';
import {
  AWAITING_APPROVAL,
  CHANNELS,
  isAtNetwork,
  type ReviewStatusId,
  STATUSES,
  type StatusId,
} from '../domain/claims/statuses';
import { execute, load } from '../kernel/decider';
import { type Position } from '../kernel/event';
import { EngineUnavailable, type EventLog } from '../kernel/event-log';
import { Fault } from '../kernel/fault';
import { type QueryOptions } from '../kernel/query';
import { type ReadStore } from '../kernel/read-store';
import { type Directory } from '../network/directory';
import { type Program } from '../network/programs';
import { OrderSearch } from '../processes/order-search';
import { eachOf } from '../projector/search-in-parts';
import { type Clock, SYSTEM_CLOCK } from '../runtime/clock';
import { type OutputClaim, toOutput } from '../services/claims/output';
import { given } from '../wire/keys/keys';
import { PAGE_CAP } from '../wire/keys/pages';
import { forbiddenCharacter } from '../wire/xml/write';
import { CommandError } from './command-error';

/** Which claims; those in no status are those that are pending at the network. */
export interface NetworkCriteria {
  readonly statusId: readonly number[];
  readonly programId: readonly number[];
  readonly claimId: readonly number[];
}

interface ClaimSources {
  readonly store: ReadStore;
  readonly directory: Directory;
  readonly now: Date;
}

const AT_NETWORK = (Object.keys(STATUSES).map(Number) as StatusId[]).filter(isAtNetwork);

/** Claims of all programs as operators list them, the oldest first, and the number of all (`docs/decisions.md#c14`). */
export async function networkClaims(
  { store, directory, now }: ClaimSources,
  { statusId, programId, claimId }: NetworkCriteria,
  { offset, limit }: { readonly offset: number; readonly limit: number },
  query: QueryOptions = {},
): Promise<{ readonly claims: AsyncIterable<Iterable<OutputClaim>>; readonly total: number }> {
  const among = { statusId: given(statusId) ?? AT_NETWORK, programId: given(programId), id: given(claimId) };
  const criteria = { among, lastChanged: {}, timeStampEvent: {} };
  const page = { by: 'claimId', descending: false, offset, size: Math.min(PAGE_CAP, limit) } as const;
  const found = await listClaims(store, criteria, page, query);
  return { claims: eachOf(found, (listed) => toOutput(listed, directory, now)), total: found.total };
}

/** The same as lines, of text or of JSON, and the number of all. */
export async function claimLines(
  sources: ClaimSources,
  criteria: NetworkCriteria,
  { most, json = false }: { readonly most: number; readonly json?: boolean },
): Promise<{ readonly lines: readonly string[]; readonly total: number }> {
  const lines: string[] = [];
  const { claims, total } = await networkClaims(sources, criteria, { offset: 0, limit: most });
  for await (const some of claims)
    for (const claim of some)
      lines.push(json ? JSON.stringify(claim) : lineOf(claim, sources.directory.program(claim.programId)));
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

/** Releases or rejects a claim in its latest version, and describes the outcome. Raises `CommandError`. */
export async function decide(
  { store, ...parts }: Omit<ReviewParts, 'clock' | 'search'> & { readonly store: ReadStore },
  requested: () => Promise<ReviewRequest>,
): Promise<string> {
  try {
    const request = await requested();
    const { statusId } = await reviewClaim(request, {
      ...parts,
      clock: SYSTEM_CLOCK,
      search: OrderSearch.over(SYSTEM_CLOCK, store),
    });
    return `claim ${request.claimId}: ${statusId} ${STATUSES[statusId].name}`;
  } catch (error) {
    throw error instanceof Fault ? new CommandError(error.message) : error;
  }
}

/** What an operator decides about a claim that is pending at the network (`docs/decisions.md#c14`). */
export interface ReviewRequest {
  readonly claimId: number;
  /** The version that it is based on; by default the latest. */
  readonly version?: number;
  readonly statusId: ReviewStatusId;
  readonly message?: string;
}

/** In characters, as of other messages (`docs/decisions.md#c2`). */
const LONGEST_MESSAGE = 255;

const REJECTIONS = (Object.keys(STATUSES).map(Number) as (keyof typeof STATUSES)[]).filter(
  (id): id is ReviewStatusId => STATUSES[id].state === 'REJECTED',
);

/** A rejection by any status that rejects. Raises UTS_394, UTS_200 and UTS_430. */
export function rejectionOf(
  statusId: number,
  message: string | undefined,
): Pick<ReviewRequest, 'statusId' | 'message'> {
  const id = REJECTIONS.find((one) => one === statusId);
  if (id === undefined)
    throw fault.unknownStatus(`statusId=${statusId}: expected one that rejects: ${REJECTIONS.join(', ')}`);
  if (message === undefined || message === '') {
    if ('needsMessage' in STATUSES[id])
      throw fault.missingParameter(`message is missing: status ${id} (${STATUSES[id].name}) needs one`);
    return { statusId: id };
  }
  if (id === 201 && !CHANNELS.some((channel) => channel === message))
    throw fault.illegalValue(`message=${message.slice(0, 100)}: expected one of ${CHANNELS.join(', ')}`);
  const { length } = Array.from(message);
  if (length > LONGEST_MESSAGE)
    throw fault.illegalValue(`message has ${length} characters: expected at most ${LONGEST_MESSAGE}`);
  if (forbiddenCharacter(message) !== undefined)
    throw fault.illegalValue('message has a character that XML does not allow');
  return { statusId: id, message };
}

interface ReviewParts {
  readonly clock: Clock;
  readonly log: EventLog;
  readonly search: OrderSearch;
  readonly directory: Directory;
  readonly now: Date;
}

/**
 * Releases a claim to its advertiser, or rejects it. A claim whose order is tracked already is not released: it gets
 * the status that screening would have given it. Raises UTS_402 for an unknown one, UTS_405 unless it is pending at the
 * network in this version, and `EngineUnavailable`.
 */
export async function reviewClaim(
  { claimId, version, ...decision }: ReviewRequest,
  parts: ReviewParts,
): Promise<{ readonly position?: Position; readonly statusId: ReviewStatusId }> {
  const { clock, log, now } = parts;
  const known = await load(log, claimDecider, claimId);
  const { state } = known;
  if (state.is !== 'filed') throw fault.notFound(`claimId is ${claimId}: expected the id of a claim`);
  const review = decision.statusId === AWAITING_APPROVAL ? await release(state, parts) : decision;
  const command = { do: 'review', at: now.toISOString(), version: version ?? state.version, review } as const;
  return { ...(await execute(clock, log, claimDecider, claimId, command, known)), statusId: review.statusId };
}

/** Rows of screening that come after 100 and 105 have not been applied to the claim yet (`docs/decisions.md#c5`). */
async function release(
  { publisherId, advertiserId, claim }: FiledClaim,
  { search, directory, now }: ReviewParts,
): Promise<Review> {
  const { programId, siteId, orderNumber } = claim;
  const program = directory.program(programId);
  const owner = advertiserId ?? program?.organisationId;
  if (owner !== undefined) {
    const found = await search.find(owner, new Set([orderNumber]));
    if (found === 'unavailable')
      throw new EngineUnavailable('the transactions, which may have the order, cannot be read');
    const tracked = findTracked({ publisherId, programId, siteId }, found.get(orderNumber) ?? []);
    if (tracked !== undefined) return trackedStatus(tracked);
  }
  return awaiting(program, now);
}
