import { CLAIM, type ClaimEvent } from '../src/domain/claims/claim';
import { storedAfter, type StoredClaim, workOn } from '../src/domain/claims/stored-claim';
import { type ParsedEvent } from '../src/kernel/decider';
import { type FieldType, type FieldValue } from '../src/kernel/read-store';
import { type Projection } from '../src/projector/projection';

const FIELDS = {
  id: 'keyword',
  /** The id, for sorting. */
  claimId: 'number',
  publisherId: 'keyword',
  /** Absent without a program. */
  advertiserId: 'keyword',
  programId: 'column',
  siteId: 'column',
  statusId: 'keyword',
  orderNumber: 'text',
  /** The day of creation; this and the next three in epoch ms. */
  timeStamp: 'number',
  /** The day of the transaction. */
  timeStampEvent: 'number',
  /** A day too. */
  statusChanged: 'number',
  lastChanged: 'number',
  /** What the system has to do: see `ClaimWork`. */
  autoApproveAt: 'number',
  unscreened: 'number',
  untracked: 'number',
} as const satisfies Readonly<Record<string, FieldType>>;

export type ClaimField = keyof typeof FIELDS;

/** The claims that are not withdrawn (`docs/decisions.md#c8`), and what the system has to do with them. */
export const claims: Projection<StoredClaim, ClaimEvent> = {
  collection: {
    name: 'claims',
    version: 3,
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

const DAY = 24 * 60 * 60 * 1000;

/** The first instant of its day (UTC), as lists show it: claims of one day are sorted by their ids (`docs/decisions.md#c8`). */
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
    timeStamp: dayOf(created),
    timeStampEvent: Date.parse(claim.transactionDate),
    statusChanged: dayOf(status.since),
    lastChanged,
    ...workOn(stored),
  };
}
