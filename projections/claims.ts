import { CLAIM, CLAIM_BATCH, type ClaimBatchEvent, type ClaimEvent } from '../src/domain/claims/claim';
import { type ListedClaim, storedAfter, type StoredClaim, workOn } from '../src/domain/claims/stored-claim';
import { type ParsedEvent } from '../src/kernel/decider';
import {
  allOf,
  type Bounds,
  type Filter,
  filtersOn,
  type Found,
  oneAnswer,
  type Order,
  type QueryOptions,
  type Search,
} from '../src/kernel/query';
import {
  type FieldType,
  type FieldValue,
  type ReadStore,
  requireVersion,
  type Target,
} from '../src/kernel/read-store';
import { type Projection } from '../src/projector/projection';
import { eachOf, type PageInParts, searchInParts } from '../src/projector/search-in-parts';
import { DAY } from '../src/wire/date';

const FIELDS = {
  id: 'keyword',
  claimId: 'number',
  publisherId: 'keyword',
  /** Absent without a program. */
  advertiserId: 'keyword',
  programId: 'column',
  siteId: 'column',
  statusId: 'keyword',
  /** To sort by; `order` is the same text, to search by. */
  orderNumber: 'text',
  order: 'keyword',
  /** The day of creation; this and the next three in epoch ms. */
  timeStamp: 'number',
  timeStampEvent: 'number',
  /** A day too. */
  statusChanged: 'number',
  lastChanged: 'number',
  /** What the system has to do: see `ClaimWork`. */
  autoApproveAt: 'number',
  unscreened: 'number',
  untracked: 'number',
} as const satisfies Readonly<Record<string, FieldType>>;

type ClaimField = keyof typeof FIELDS;

/** The claims that are not withdrawn (`docs/decisions.md#c8`), and what the system has to do with them. */
export const claims: Projection<StoredClaim, ClaimEvent> = {
  collection: {
    name: 'claims',
    version: 4,
    fields: FIELDS,
    sorts: ['claimId', 'timeStamp', 'statusChanged', 'autoApproveAt', 'unscreened', 'untracked'],
  },
  // Also the streams `claim-batch-…`: the types of their events are not among these.
  streams: [`${CLAIM}-`],
  handles: ['ClaimFiled', 'ClaimScreened', 'ClaimRevised', 'ClaimRuled', 'ClaimTracked', 'ClaimWithdrawn'],
  replaces: ['ClaimFiled', 'ClaimWithdrawn'],
  idOf: ({ stream }: ParsedEvent<ClaimEvent>) => stream.slice(CLAIM.length + 1),
  fold: storedAfter,
  describe: (document, id) => ({ document, fields: fieldsOf(document, Number(id)) }),
};

/** The first instant of its day (UTC): claims of one day are sorted by their ids (`docs/decisions.md#c8`). */
function dayOf(time: number): number {
  return Math.floor(time / DAY) * DAY;
}

function fieldsOf(stored: StoredClaim, claimId: number): Readonly<Partial<Record<ClaimField, FieldValue>>> {
  const { origin, claim, status, created, lastChanged } = stored;
  const { publisherId, advertiserId } = origin;
  return {
    id: String(claimId),
    claimId,
    publisherId: String(publisherId),
    ...(advertiserId === undefined ? {} : { advertiserId: String(advertiserId) }),
    programId: String(claim.programId),
    siteId: String(claim.siteId),
    statusId: String(status.id),
    orderNumber: claim.orderNumber,
    order: claim.orderNumber,
    timeStamp: dayOf(created),
    timeStampEvent: Date.parse(claim.transactionDate),
    statusChanged: dayOf(status.since),
    lastChanged,
    ...workOn(stored),
  };
}

/** Which claims: checked keys, limited to what the caller may see. Bounds are inclusive, times in epoch ms. */
export interface ClaimCriteria {
  readonly among: Readonly<Partial<Record<ClaimField, readonly (number | string)[] | undefined>>>;
  readonly lastChanged: Bounds;
  readonly timeStampEvent: Bounds;
}

/** A page of them; ties by id, in the same direction. */
export interface ClaimPage {
  readonly by: 'claimId' | 'timeStamp' | 'timeStampEvent' | 'orderNumber' | 'statusChanged' | NamedField;
  readonly descending: boolean;
  readonly offset: number;
  readonly size: number;
}

/** A field with ids of what has a name: the order is that of the names, which are in no document. */
interface NamedField {
  readonly field: 'programId' | 'siteId';
  readonly nameOf: (id: number) => string;
}

const TARGET = { collection: claims.collection.name };

/** Claims in batches that are read on demand, and the number of all. */
export async function listClaims(
  store: ReadStore,
  criteria: ClaimCriteria,
  { by, descending, offset, size }: ClaimPage,
  options: QueryOptions = {},
  target: Target = TARGET,
): Promise<PageInParts<ListedClaim>> {
  const query = oneAnswer(options);
  const filter = claimsThat(criteria);
  const last = { field: 'claimId' satisfies ClaimField, descending };
  if (typeof by === 'object')
    return await listByName(store, by, { filter, order: [last], offset, size }, query);
  const order: readonly Order[] = by === 'claimId' ? [last] : [{ field: by, descending }, last];
  return await searchInParts({ store, target, read }, { filter, order, offset, size }, query);
}

/** Ids of claims with an order number, in ascending order, at most `most`. Raises `NoGeneration`. */
export async function claimsOfOrder(
  store: ReadStore,
  orderNumber: string,
  most: number,
): Promise<readonly number[]> {
  await requireVersion(store, claims.collection);
  const criteria = { among: { order: [orderNumber] }, lastChanged: {}, timeStampEvent: {} };
  const page = { by: 'claimId', descending: false, offset: 0, size: most } as const;
  const ids: number[] = [];
  for await (const batch of eachOf(await listClaims(store, criteria, page), ({ claimId }) => claimId))
    ids.push(...batch);
  return ids;
}

function read({ id, body }: Found): ListedClaim {
  return { claimId: Number(id), ...(JSON.parse(body) as StoredClaim) };
}

const { among, between } = filtersOn<ClaimField>();

export function claimsThat(criteria: ClaimCriteria): Filter {
  const fields = Object.keys(criteria.among) as ClaimField[];
  return allOf(
    ...fields.map((field) => among(field, criteria.among[field]?.map(String))),
    between('lastChanged', criteria.lastChanged),
    between('timeStampEvent', criteria.timeStampEvent),
  );
}

/** The ids that have one name, and the number of their claims. */
interface NameGroup {
  readonly name: string;
  readonly ids: string[];
  count: number;
}

/** Claims of successive groups: the first one may begin at an offset, and the last one be cut. */
interface NamedStretch {
  readonly groups: readonly NameGroup[];
  readonly offset: number;
  readonly size: number;
  /** It has the rest of its last group: also claims that are filed after they were counted. */
  readonly isToTheEnd: boolean;
}

/** Counts the claims by id, orders the ids by name, and reads the groups on the page: small ones together. */
async function listByName(
  store: ReadStore,
  { field, nameOf }: NamedField,
  { filter, order, offset, size }: Search,
  query: QueryOptions,
): Promise<PageInParts<ListedClaim>> {
  const counts = await store.totals(TARGET, { filter, by: [field], sums: [] }, query);
  const byName = new Map<string, NameGroup>();
  for (const { values, count } of counts) {
    const [id = ''] = values;
    const name = nameOf(Number(id));
    const group = byName.get(name) ?? { name, ids: [], count: 0 };
    group.ids.push(id);
    group.count += count;
    byName.set(name, group);
  }
  const isDescending = order.some(({ descending }) => descending === true);
  const inOrder = [...byName.values()].sort((a, b) => Buffer.from(a.name).compare(Buffer.from(b.name)));
  const stretches = stretchesOf(isDescending ? inOrder.reverse() : inOrder, offset, size);
  async function* parts(): AsyncGenerator<readonly (readonly ListedClaim[])[]> {
    let left = size;
    for (const { groups: named, isToTheEnd, ...page } of stretches) {
      const ids = named.flatMap((group) => group.ids);
      // New claims would push the last ones, which have not changed, off the end of what was counted.
      const wanted = { order, offset: page.offset, size: isToTheEnd ? left : Math.min(left, page.size) };
      const { groups } = await searchInParts(
        { store, target: TARGET, read },
        { filter: allOf(filter, among(field, ids)), ...wanted },
        query,
      );
      for await (const batch of named.length === 1
        ? groups
        : [inOrderOf(named, field, await allIn(groups))]) {
        yield batch;
        left -= batch.length;
      }
      if (left <= 0) return;
    }
  }
  return { total: countOf(inOrder), groups: { [Symbol.asyncIterator]: parts } };
}

/** Claims of several groups that are read and sorted at once. */
const TOGETHER = 100;

function stretchesOf(groups: readonly NameGroup[], offset: number, size: number): readonly NamedStretch[] {
  const stretches: NamedStretch[] = [];
  let skip = offset;
  let left = size;
  for (const group of groups) {
    const { count } = group;
    const taken = Math.min(left, count - skip);
    if (taken > 0) {
      const last = stretches.at(-1);
      const isWhole = skip === 0 && taken === count;
      if (
        isWhole &&
        last?.offset === 0 &&
        countOf(last.groups) === last.size &&
        last.size + count <= TOGETHER
      )
        stretches.splice(-1, 1, { ...last, groups: [...last.groups, group], size: last.size + count });
      else stretches.push({ groups: [group], offset: skip, size: taken, isToTheEnd: skip + taken === count });
      left -= taken;
    }
    skip = Math.max(0, skip - count);
    if (left === 0) break;
  }
  return stretches;
}

function countOf(groups: readonly NameGroup[]): number {
  return groups.reduce((sum, { count }) => sum + count, 0);
}

async function allIn(groups: PageInParts<ListedClaim>['groups']): Promise<readonly ListedClaim[]> {
  const all: ListedClaim[] = [];
  for await (const batch of groups) all.push(...batch.flat());
  return all;
}

/** The claims in the order of their groups; those of one group stay in their order. */
function inOrderOf(
  groups: readonly NameGroup[],
  field: NamedField['field'],
  found: readonly ListedClaim[],
): readonly (readonly ListedClaim[])[] {
  const placeOf = new Map(groups.flatMap(({ ids }, at) => ids.map((id) => [id, at] as const)));
  const place = ({ claim }: ListedClaim) => placeOf.get(String(claim[field])) ?? 0;
  return found.toSorted((a, b) => place(a) - place(b)).map((one) => [one]);
}

const ofBatches = filtersOn<ClaimBatchField>();

export function approvalsDueBy(now: number): Filter {
  return allOf(between('autoApproveAt', { max: now }));
}

export function unscreened(): Filter {
  return allOf(between('unscreened', { min: 0 }));
}

export function untracked(): Filter {
  return allOf(between('untracked', { min: 0 }));
}

/** How long the request that has accepted a batch may take to file it (ms). */
const TIME_TO_FILE = 5_000;

/** Batches that another request should have filed by `now` (epoch ms). */
export function batchesUnfinishedBy(now: number): Filter {
  return allOf(ofBatches.between('accepted', { max: now - TIME_TO_FILE }));
}

const BATCH_FIELDS = {
  /** Epoch ms. */
  accepted: 'number',
} as const satisfies Readonly<Record<string, FieldType>>;

type ClaimBatchField = keyof typeof BATCH_FIELDS;

type BatchChange = Extract<ClaimBatchEvent, { readonly type: 'ClaimBatchAccepted' | 'ClaimBatchFinished' }>;

/** The posts of several claims that are accepted and not filed yet (`docs/decisions.md#c3`). */
export const claimBatches: Projection<{ readonly accepted: number }, BatchChange> = {
  collection: { name: 'claim-batches', version: 1, fields: BATCH_FIELDS, sorts: ['accepted'] },
  streams: [`${CLAIM_BATCH}-`],
  handles: ['ClaimBatchAccepted', 'ClaimBatchFinished'],
  replaces: ['ClaimBatchAccepted', 'ClaimBatchFinished'],
  idOf: ({ stream }: ParsedEvent<BatchChange>) => stream.slice(CLAIM_BATCH.length + 1),
  fold: (_, { type, data }) =>
    type === 'ClaimBatchAccepted' ? { accepted: Date.parse(data.at) } : undefined,
  describe: (document) => ({ document, fields: { accepted: document.accepted } }),
};
