import { Injectable } from '@nestjs/common';
import { type ClaimCriteria, type ClaimPage, listClaims } from '../../../projections/claim-list';
import { type Directory } from '../../network/directory';
import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { Clock } from '../../http/clock';
import { EventLog } from '../../kernel/event-log';
import { type QueryOptions } from '../../kernel/query';
import { ReadStore } from '../../kernel/read-store';
import { eachOf } from '../../projector/search-in-parts';
import { atLeast, sizeOf } from '../../wire/keys/pages';
import { type OutputClaim, type OutputVersion } from './answered-fields';
import { claimDecider } from '../../domain/claims/claim';
import { type ClaimsCaller } from '../../domain/claims/claim-check';
import { type ClaimAtVersion, claimHistory } from './claim-versions';
import { claimFaults as fault } from '../../domain/claims/faults';
import { type ClaimOrder, type ClaimListKeys } from './list-keys';
import { programName, siteName, toOutput } from './output';
import { type StoredClaim } from '../../domain/claims/stored-claim';
import { ownClaim } from './update-check';

/** A page of claims, in batches that are read on demand. */
export interface ListedClaims {
  readonly claims: AsyncIterable<Iterable<OutputClaim>>;
  readonly total: number;
}

/** Versions in an answer (`docs/decisions.md#c13`). */
const MOST_VERSIONS = 1000;

/** What callers may read of claims: publishers their own, advertisers those of their programs (`docs/decisions.md#c8`). */
@Injectable()
export class ClaimQueries {
  constructor(
    private readonly store: ReadStore,
    private readonly log: EventLog,
    private readonly follower: FollowedDirectory,
    private readonly clock: Clock,
  ) {}

  async list(keys: ClaimListKeys, caller: Caller, query: QueryOptions = {}): Promise<ListedClaims> {
    const { directory } = this.follower;
    const now = this.clock.now();
    const page = pageOf(keys, directory);
    const found = await listClaims(this.store, criteriaOf(keys, caller), page, query);
    return { claims: eachOf(found, (listed) => toOutput(listed, directory, now)), total: found.total };
  }

  /**
   * The claim after each change, oldest first, at most the last 1,000 (`docs/decisions.md#c13`), while the caller was a party to
   * it. Raises UTS_402 or UTS_404 unless it is one now. The stream is read once to count the versions, and again while they are
   * sent.
   */
  async versions(
    claimId: number,
    caller: Caller,
    { signal }: QueryOptions = {},
  ): Promise<AsyncIterable<Iterable<OutputVersion>>> {
    const { directory } = this.follower;
    const { state, to, count } = await this.versionsOf(claimId, caller, signal);
    ownClaim(claimId, state, caller);
    let left = count;
    const toVersion = ({ at, by, stored }: ClaimAtVersion): OutputVersion => ({
      time: at,
      by,
      ...toOutput({ claimId, ...stored }, directory, new Date(at)),
    });
    const history = claimHistory(this.log, claimId, { to, signal });
    return (async function* () {
      for await (const batch of history)
        yield (function* () {
          for (const { version } of batch) {
            if (version === undefined || !isParty(version.stored, caller)) continue;
            if (left <= MOST_VERSIONS) yield toVersion(version);
            left -= 1;
          }
        })();
    })();
  }

  /** How many versions the caller may see, and the end of the stream that they were counted in. */
  private async versionsOf(claimId: number, caller: Caller, signal: AbortSignal | undefined) {
    let state = claimDecider.initial;
    let to = 0;
    let count = 0;
    for await (const batch of claimHistory(this.log, claimId, { signal }))
      for (const one of batch) {
        state = one.state;
        to = one.revision + 1;
        if (one.version !== undefined && isParty(one.version.stored, caller)) count += 1;
      }
    return { state, to, count };
  }
}

function isParty(
  { origin, claim }: StoredClaim,
  { kind, organisationId, siteId = claim.siteId }: ClaimsCaller,
): boolean {
  const owner = kind === 'publisher' ? origin.publisherId : origin.advertiserId;
  return owner === organisationId && siteId === claim.siteId;
}

/** The keys, limited to what the caller may see. */
function criteriaOf(keys: ClaimListKeys, { kind, organisationId, siteId }: ClaimsCaller): ClaimCriteria {
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

function pageOf(keys: ClaimListKeys, directory: Directory): ClaimPage {
  const { tdconnect = false, sortBy = 'claimId', sortOrder = 'desc' } = keys;
  const offset = atLeast(0, 'offset', keys.offset ?? 0, fault.illegalValue);
  return {
    by: orderOf(sortBy, directory),
    descending: sortOrder === 'desc',
    offset: tdconnect ? offset : Math.max(0, offset - 1),
    size: sizeOf('limit', keys.limit, fault.illegalValue),
  };
}

function orderOf(sortBy: ClaimOrder, directory: Directory): ClaimPage['by'] {
  if (sortBy === 'programName') return { field: 'programId', nameOf: (id) => programName(directory, id) };
  if (sortBy === 'siteName') return { field: 'siteId', nameOf: (id) => siteName(directory, id) };
  return sortBy;
}
