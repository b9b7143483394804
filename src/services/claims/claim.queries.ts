import { Injectable } from '@nestjs/common';
import { advertiserOf, changesSince, publisherOf } from '../../../projections/changes';
import {
  type ClaimCriteria,
  type ClaimPage,
  claims,
  claimsThat,
  listClaims,
} from '../../../projections/claims';
import { CLAIM, claimDecider, type ClaimEvent, type ClaimState } from '../../domain/claims/claim';
import { claimFaults as fault } from '../../domain/claims/faults';
import { storedAfter, type StoredClaim } from '../../domain/claims/stored-claim';
import { type FoundList } from '../../http/answer';
import { Clock } from '../../runtime/clock';
import { eventsOnDemand, MOST_VERSIONS, toFolded } from '../../kernel/decider';
import { streamOf } from '../../kernel/event';
import { EventLog } from '../../kernel/event-log';
import { type QueryOptions } from '../../kernel/query';
import { ReadStore } from '../../kernel/read-store';
import { type Directory } from '../../network/directory';
import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { eachOf } from '../../projector/search-in-parts';
import {
  BOOLEAN,
  CSV_KEY,
  DAY,
  given,
  INTEGER,
  INTEGERS,
  type Keys,
  type KeyTable,
  type KeyType,
  oneOf,
  until,
} from '../../wire/keys/keys';
import { atLeast, factsOf, SINCE_KEY, sinceHeaders, sizeKey, sizeOf } from '../../wire/keys/pages';
import { type ClaimsCaller, ownClaim } from './claim-check';
import { type OutputClaim, type ClaimVersion, programName, siteName, toOutput } from './output';

/** Document 3, List keys: those of all paths. */
const filterKeys = {
  statusId: { ...INTEGERS, description: 'Statuses' },
  minUpdateDate: { type: DAY, description: 'Last changed on this day or later' },
  maxUpdateDate: { type: until(DAY), description: 'Last changed on this day or earlier' },
  programId: { ...INTEGERS, description: 'Programs' },
  claimId: { ...INTEGERS, description: 'Ids of claims' },
} as const satisfies KeyTable;

const pageKeys = {
  limit: sizeKey('Number of claims'),
  sortOrder: { type: oneOf('desc', 'asc'), description: 'Direction of the order; desc by default' },
} as const satisfies KeyTable;

const LEGACY_ORDERS = ['claimId', 'programName', 'siteName', 'statusChanged'] as const;
const ORDERS = [...LEGACY_ORDERS, 'timeStamp', 'timeStampEvent', 'orderNumber'] as const;
type ClaimOrder = (typeof ORDERS)[number];

/**
 * Document 3, List keys (for `token` and `pretty` see `src/http`; `format` `docs/decisions.md#c13`, `since` `#x135`).
 */
export const listKeys = {
  ...filterKeys,
  minTransactionDate: { type: DAY, description: 'Transaction on this day or later' },
  maxTransactionDate: { type: until(DAY), description: 'Transaction on this day or earlier' },
  tdconnect: { type: BOOLEAN, description: 'Whether rows are counted from 0 rather than from 1' },
  offset: {
    type: INTEGER,
    description: 'Claims to skip with tdconnect=true; without it the first row, from 1',
  },
  sortBy: { type: orderAmong(ORDERS), description: 'Order; by default claimId' },
  since: SINCE_KEY,
  ...pageKeys,
  format: { ...CSV_KEY, beyondJson: true },
} as const satisfies KeyTable;

/** Document 3, Legacy advertiser paths. */
export const legacyListKeys = {
  ...filterKeys,
  offset: { type: INTEGER, description: 'The first row, from 1' },
  sortBy: { type: orderAmong(LEGACY_ORDERS), description: 'Order; by default claimId' },
  ...pageKeys,
} as const satisfies KeyTable;

/** Those of a legacy list too. */
type ClaimListKeys = Partial<Keys<typeof listKeys>> & Keys<typeof filterKeys>;

/** One of these, in any case and with spaces; `status change` is `statusChanged` (`docs/decisions.md#c8`). */
function orderAmong<const Order extends ClaimOrder>(orders: readonly Order[]): KeyType<Order> {
  const plain = oneOf(...orders);
  return {
    ...plain,
    read: (text) => {
      const word = text.replaceAll(/\s/g, '');
      return plain.read(/^statuschange$/i.test(word) ? 'statusChanged' : word);
    },
  };
}

/** Claims as callers see them: publishers their own, advertisers those of their programs (`docs/decisions.md#c8`). */
@Injectable()
export class ClaimQueries {
  constructor(
    private readonly store: ReadStore,
    private readonly log: EventLog,
    private readonly follower: FollowedDirectory,
    private readonly clock: Clock,
  ) {}

  async list(keys: ClaimListKeys, caller: Caller, query: QueryOptions = {}): Promise<FoundList<OutputClaim>> {
    const { directory } = this.follower;
    const now = this.clock.now();
    const page = pageOf(keys, directory);
    const { found, ...rest } =
      keys.since === undefined
        ? await this.page(keys, caller, page, query)
        : await this.changed({ ...keys, since: keys.since }, caller, page.size, query);
    const items = eachOf(found, (listed) => toOutput(listed, directory, now));
    return { items, requested: keys.limit, ...rest };
  }

  private async page(keys: ClaimListKeys, caller: Caller, page: ClaimPage, query: QueryOptions) {
    const found = await listClaims(this.store, criteriaOf(keys, caller), page, query);
    return { found, total: found.total };
  }

  /** What a copy lacks, and in headers what it must remove (`docs/decisions.md#x135`). */
  private async changed(
    keys: ClaimListKeys & { readonly since: NonNullable<ClaimListKeys['since']> },
    caller: Caller,
    size: number,
    query: QueryOptions,
  ) {
    for (const name of ['offset', 'sortBy', 'sortOrder', 'tdconnect'] as const)
      if (keys[name] !== undefined) throw fault.illegalValue(`${name}: cannot be combined with since`);
    const { store, log } = this;
    const { kind, organisationId, siteId } = caller;
    const criteria = criteriaOf(keys, caller);
    const facts = factsOf([criteria]);
    const followed = {
      collection: claims.collection,
      category: CLAIM,
      followers: [kind === 'advertiser' ? advertiserOf(organisationId) : publisherOf(organisationId, siteId)],
      isTimed: false,
      visibleAt: () => claimsThat(criteria),
    };
    const since = keys.since.facts === facts ? keys.since.following : undefined;
    const wanted = { since, size, now: this.clock.now().getTime() };
    const { ids, target, ...rest } = await changesSince({ store, log }, followed, wanted, query);
    const page = { by: 'claimId', descending: true, offset: 0, size } as const;
    const listed = { ...criteria, among: { ...criteria.among, id: ids } };
    const found = await listClaims(store, listed, page, query, target);
    return { found, headers: sinceHeaders(rest, facts), applied: rest.applied };
  }

  /**
   * The claim after each change, oldest first, at most the last 1,000 (`docs/decisions.md#c13`), while the caller was a
   * party to it. Raises UTS_402 or UTS_404 unless it is one now. The stream is read once to count the versions, and
   * again while they are sent.
   */
  async versions(
    claimId: number,
    caller: Caller,
    { signal }: QueryOptions = {},
  ): Promise<AsyncIterable<Iterable<ClaimVersion>>> {
    const { directory } = this.follower;
    const { state, to, count } = await this.versionsOf(claimId, caller, signal);
    ownClaim(claimId, state, caller);
    let left = count;
    const toVersion = ({ at, by, stored }: ClaimAtVersion): ClaimVersion => ({
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

function criteriaOf(keys: ClaimListKeys, { kind, organisationId, siteId }: ClaimsCaller): ClaimCriteria {
  const own =
    kind === 'advertiser'
      ? { advertiserId: [organisationId] }
      : { publisherId: [organisationId], siteId: siteId === undefined ? undefined : [siteId] };
  const { claimId, programId, statusId } = keys;
  return {
    among: { id: given(claimId), programId: given(programId), statusId: given(statusId), ...own },
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

/** A claim after an event of its stream. */
interface ClaimAt {
  readonly revision: number;
  readonly state: ClaimState;
  /** Absent if the event is no version of its own. */
  readonly version?: ClaimAtVersion;
}

interface ClaimAtVersion {
  readonly at: string;
  readonly by: ClaimVersion['by'];
  readonly stored: StoredClaim;
}

/** A claim after each event up to before a revision, in batches that are read on demand. */
async function* claimHistory(
  log: EventLog,
  claimId: number,
  options: { readonly to?: number; readonly signal?: AbortSignal | undefined },
): AsyncGenerator<readonly ClaimAt[]> {
  let state: ClaimState = claimDecider.initial;
  let stored: StoredClaim | undefined;
  let by: ClaimVersion['by'] = 'publisher';
  const after = (event: ClaimEvent): ClaimAtVersion | undefined => {
    stored = storedAfter(stored, event);
    if (stored === undefined || INVISIBLE.has(event.type)) return undefined;
    const cause = (by = changedBy(event, by));
    // Their screening follows at once, and is part of the change.
    if (event.type === 'ClaimFiled' || event.type === 'ClaimRevised') return undefined;
    by = 'system';
    return { at: event.data.at, by: cause, stored };
  };
  for await (const batch of eventsOnDemand(log, streamOf(CLAIM, claimId), options))
    yield batch.map((recorded) => {
      const event = toFolded<ClaimEvent>(recorded);
      state = claimDecider.evolve(state, event);
      const version = after(event);
      return { revision: recorded.revision, state, ...(version === undefined ? {} : { version }) };
    });
}

/** Their parties do not see these. */
const INVISIBLE: ReadonlySet<ClaimEvent['type']> = new Set(['ClaimTracked', 'ClaimKeyReclaimed']);

/** Who has caused an event. A screening belongs to the change before it, unless that was screened already. */
function changedBy(event: ClaimEvent, last: ClaimVersion['by']): ClaimVersion['by'] {
  if (event.type === 'ClaimScreened') return event.data.by ?? last;
  return event.type === 'ClaimRuled' ? event.data.by : 'publisher';
}
