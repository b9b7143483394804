import { Injectable } from '@nestjs/common';
import { type ClaimCriteria, type ClaimPage, listClaims } from '../../projections/claim-list';
import { type Directory } from '../directory/directory';
import { FollowedDirectory } from '../directory/follower';
import { type Caller } from '../directory/organisations';
import { Clock } from '../http/clock';
import { toDomainEvent } from '../kernel/decider';
import { streamOf } from '../kernel/event';
import { EventLog } from '../kernel/event-log';
import { type QueryOptions } from '../kernel/query';
import { ReadStore } from '../kernel/read-store';
import { eachOf } from '../kernel/search-in-parts';
import { pageSizeHeader } from '../wire/page-size';
import { type OutputClaim, type OutputVersion } from './answered-fields';
import { CLAIM, claimDecider, type ClaimEvent, type ClaimState } from './claim';
import { type ClaimsCaller } from './claim-check';
import { claimFaults as fault } from './faults';
import { type ClaimOrder, type ListKeys } from './list-keys';
import { programName, siteName, toOutput } from './output';
import { storedAfter, type StoredClaim } from './stored-claim';
import { ownClaim } from './update-check';

/** A page of claims, in batches that are read on demand. */
export interface ListedClaims {
  readonly claims: AsyncIterable<Iterable<OutputClaim>>;
  readonly total: number;
}

/** Claims in an answer: at most, and by default (`docs/decisions.md#c8`). */
const MOST = 1000;

/** What callers may read of claims: publishers their own, advertisers those of their programs (`docs/decisions.md#c8`). */
@Injectable()
export class ClaimQueries {
  constructor(
    private readonly store: ReadStore,
    private readonly log: EventLog,
    private readonly follower: FollowedDirectory,
    private readonly clock: Clock,
  ) {}

  async list(keys: ListKeys, caller: Caller, query: QueryOptions = {}): Promise<ListedClaims> {
    const { directory } = this.follower;
    const now = this.clock.now();
    const page = pageOf(keys, directory);
    const found = await listClaims(this.store, criteriaOf(keys, caller), page, query);
    return { claims: eachOf(found, (listed) => toOutput(listed, directory, now)), total: found.total };
  }

  /**
   * The claim after each change, oldest first, at most the last 1,000 (`docs/decisions.md#c13`), while the caller was a party to it.
   * Raises UTS_402 or UTS_404 unless it is one now.
   */
  async versions(claimId: number, caller: Caller): Promise<readonly OutputVersion[]> {
    const { directory } = this.follower;
    const versions: OutputVersion[] = [];
    let state: ClaimState = claimDecider.initial;
    let stored: StoredClaim | undefined;
    let by: OutputVersion['by'] = 'publisher';
    for await (const batch of this.log.readStream(streamOf(CLAIM, claimId), { batchSize: BATCH })) {
      for (const recorded of batch) {
        const event = toDomainEvent(recorded) as ClaimEvent;
        state = claimDecider.evolve(state, event);
        stored = storedAfter(stored, event);
        if (stored === undefined || INVISIBLE.has(event.type)) continue;
        by = changedBy(event, by);
        // Their screening follows at once, and is part of the change.
        if (event.type === 'ClaimFiled' || event.type === 'ClaimRevised') continue;
        const { at } = event.data;
        if (isParty(stored, caller))
          versions.push({ time: at, by, ...toOutput({ claimId, ...stored }, directory, new Date(at)) });
        by = 'system';
      }
      versions.splice(0, versions.length - MOST);
    }
    ownClaim(claimId, state, caller);
    return versions;
  }
}

/** Their parties do not see these. */
const INVISIBLE: ReadonlySet<ClaimEvent['type']> = new Set(['ClaimTracked', 'ClaimKeyReclaimed']);

/** Events read at once: each may have the longest texts. */
const BATCH = 50;

/** Who has caused an event. A screening belongs to the change before it, unless that was screened already. */
function changedBy(event: ClaimEvent, last: OutputVersion['by']): OutputVersion['by'] {
  if (event.type === 'ClaimScreened') return event.data.by ?? last;
  return event.type === 'ClaimRuled' ? event.data.by : 'publisher';
}

function isParty(
  { origin, claim }: StoredClaim,
  { kind, organisationId, siteId = claim.siteId }: ClaimsCaller,
): boolean {
  const owner = kind === 'publisher' ? origin.publisherId : origin.advertiserId;
  return owner === organisationId && siteId === claim.siteId;
}

/** The size of pages as a header, if `limit` exceeds the cap. */
export function cappedLimit({ limit = 0 }: Pick<ListKeys, 'limit'>): Readonly<Record<string, string>> {
  return pageSizeHeader(limit, MOST);
}

/** The keys, limited to what the caller may see. */
function criteriaOf(keys: ListKeys, { kind, organisationId, siteId }: ClaimsCaller): ClaimCriteria {
  const own =
    kind === 'advertiser'
      ? { advertiserId: [organisationId] }
      : { publisherId: [organisationId], ...(siteId === undefined ? {} : { siteId: [siteId] }) };
  const lists = { id: keys.claimId, programId: keys.programId, statusId: keys.statusId };
  const given = Object.entries(lists).filter(([, values]) => values.length > 0);
  return {
    among: { ...(Object.fromEntries(given) as Partial<typeof lists>), ...own },
    lastChanged: { min: keys.minUpdateDate, max: keys.maxUpdateDate },
    timeStampEvent: { min: keys.minTransactionDate, max: keys.maxTransactionDate },
  };
}

function pageOf(keys: ListKeys, directory: Directory): ClaimPage {
  const { tdconnect = false, sortBy = 'claimId', sortOrder = 'desc' } = keys;
  const offset = atLeast(0, 'offset', keys.offset ?? 0);
  return {
    by: orderOf(sortBy, directory),
    descending: sortOrder === 'desc',
    offset: tdconnect ? offset : Math.max(0, offset - 1),
    size: Math.min(MOST, atLeast(1, 'limit', keys.limit ?? MOST)),
  };
}

function orderOf(sortBy: ClaimOrder, directory: Directory): ClaimPage['by'] {
  if (sortBy === 'programName') return { field: 'programId', nameOf: (id) => programName(directory, id) };
  if (sortBy === 'siteName') return { field: 'siteId', nameOf: (id) => siteName(directory, id) };
  return sortBy;
}

function atLeast(least: number, key: string, value: number): number {
  if (value >= least) return value;
  throw fault.illegalValue(`${key}=${value}: expected an integer of at least ${least}`);
}
