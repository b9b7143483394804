import { STATUSES } from '../../domain/claims/statuses';
import { CLAIM_ATTRIBUTES } from '../../domain/claims/topic';
import { type ListedClaim } from '../../domain/claims/stored-claim';
import { type Directory } from '../../network/directory';
import { boolean, day, instant, integer, text, wordOf } from '../../wire/record/kinds';
import { decimalOf, textOf } from '../../wire/record/minor-units';
import { type AnswerOf, type Fields, listOf, pick, record } from '../../wire/record/record';
import { DAY } from '../../wire/date';

const optional = { optional: true } as const;

const STATUS = pick(CLAIM_ATTRIBUTES, ['statusId', 'statusName', 'statusState', 'statusMessage']);

const CREATED = { kind: day(), description: 'Creation' } as const;

const { claimId: CLAIM_ID, versionNo: VERSION_NO, ...ATTRIBUTES } = CLAIM_ATTRIBUTES;

/** Document 3, Claim as listed, but for its first two fields and `versionNo`. */
const CLAIM = {
  ...STATUS,
  statusChanged: { ...ATTRIBUTES.statusChanged, ...optional },
  ...pick(ATTRIBUTES, ['publisherId', 'affiliateSiteId']),
  siteName: { kind: text(), description: 'Name of the site' },
  programId: ATTRIBUTES.programId,
  programName: { kind: text(), description: 'Name of the program' },
  ...pick(ATTRIBUTES, ['timeStampEvent', 'eventId', 'orderNumber', 'orderValue', 'adjustedOrderValue']),
  ...pick(ATTRIBUTES, ['epi', 'epi2', 'trackingUrl', 'productName']),
  expectedCommission: { ...ATTRIBUTES.expectedCommission, kind: text() },
  adjustedExpectedCommission: { ...ATTRIBUTES.adjustedExpectedCommission, kind: text() },
  ...pick(ATTRIBUTES, ['proofOfClaims', 'advertiserInformation']),
  daysToAutoApprove: { kind: integer(), ...optional, description: 'Days until the system approves' },
} as const satisfies Fields;

const EVENT_NAME = { kind: text(), ...optional, description: 'Name of the event' } as const;

const LISTED = {
  claimId: CLAIM_ID,
  timeStamp: CREATED,
  ...CLAIM,
  versionNo: VERSION_NO,
  eventName: EVENT_NAME,
} as const satisfies Fields;

const listedClaim = record(LISTED, { name: 'Claim' });

export const listedClaims = listOf(listedClaim, { each: 'claim' });

export type OutputClaim = AnswerOf<typeof listedClaim>;

/** The same on legacy paths. */
const legacyClaim = record(
  { claimId: CLAIM_ID, timestamp: CREATED, ...CLAIM, eventName: EVENT_NAME },
  { name: 'LegacyClaim' },
);

export const legacyClaims = listOf(legacyClaim, { each: 'claim' });

export type OutputLegacyClaim = AnswerOf<typeof legacyClaim>;

/** Document 3, Status. */
const claimStatus = record(
  {
    ...pick(STATUS, ['statusId', 'statusName', 'statusState']),
    requireStatusMessage: { kind: boolean(), description: 'Whether it needs a message' },
  },
  { name: 'ClaimStatus' },
);

export const claimStatuses = listOf(claimStatus, { each: 'claimStatus' });

export type OutputStatus = AnswerOf<typeof claimStatus>;

/** What a posted claim would become (`docs/decisions.md#c13`). */
const checkedClaim = record(STATUS, { name: 'CheckedClaim' });

export const checkedClaims = listOf(checkedClaim, { each: 'check' });

export type OutputCheck = AnswerOf<typeof checkedClaim>;

/** The claim after a change (`docs/decisions.md#c13`). */
const claimVersion = record(
  {
    time: { kind: instant(), description: 'When it was changed' },
    by: { kind: wordOf('publisher', 'advertiser', 'system', 'operator'), description: 'Who changed it' },
    ...LISTED,
  },
  { name: 'ClaimVersion' },
);

export const claimVersions = listOf(claimVersion, { each: 'version' });

export type ClaimVersion = AnswerOf<typeof claimVersion>;

/** As listed (Document 3, Claim as listed). `now`: for the days until it is approved. */
export function toOutput(listed: ListedClaim, directory: Directory, now: Date): OutputClaim {
  const { claimId, origin, version, claim, status, created, adjusted = {} } = listed;
  const { currencyId: currency = '' } = origin;
  const { siteId, programId, eventId, transactionDate, orderNumber } = claim;
  const { epi, epi2, trackingUrl, productName, expectedCommission, proofOfClaims, advertiserInformation } =
    claim;
  const { name: statusName, state: statusState } = STATUSES[status.id];
  // As text with the decimals of the currency (`docs/decisions.md#c2`).
  const textIn = (amount?: number) => (amount === undefined ? undefined : textOf(amount, currency));
  const eventName = directory.program(programId)?.events.find(({ id }) => id === eventId)?.name;
  const output: OrUndefined<Required<OutputClaim>> = {
    claimId,
    timeStamp: dayOf(created),
    statusId: status.id,
    statusName,
    statusState,
    statusMessage: status.message,
    statusChanged: dayOf(status.since),
    publisherId: origin.publisherId,
    affiliateSiteId: siteId,
    siteName: siteName(directory, siteId),
    programId,
    programName: programName(directory, programId),
    timeStampEvent: transactionDate,
    eventId,
    orderNumber,
    orderValue: decimalOf(claim.orderValue, currency),
    adjustedOrderValue: adjusted.orderValue && decimalOf(adjusted.orderValue, currency),
    epi,
    epi2,
    trackingUrl,
    productName,
    expectedCommission: textIn(expectedCommission),
    adjustedExpectedCommission: textIn(adjusted.expectedCommission),
    proofOfClaims,
    advertiserInformation,
    daysToAutoApprove: daysUntil(status.autoApproveAt, now),
    versionNo: version,
    eventName,
  };
  return output as OutputClaim;
}

/** As legacy lists have it (`docs/decisions.md#c8`). */
export function toLegacyOutput(output: OutputClaim): OutputLegacyClaim {
  const { timeStamp: timestamp } = output;
  const others = Object.entries(output).filter(([name]) => name !== 'timeStamp' && name !== 'versionNo');
  const { claimId, ...rest } = Object.fromEntries(others) as unknown as Omit<OutputLegacyClaim, 'timestamp'>;
  return { claimId, timestamp, ...rest };
}

/** The name of a site; of one that was removed its id. */
export function siteName({ programs }: Directory, id: number): string {
  return programs.site(id)?.name ?? String(id);
}

/** The name of a program; of one that does not exist, or was removed, its id. */
export function programName({ programs }: Directory, id: number): string {
  return programs.get(id)?.name ?? String(id);
}

/** `YYYY-MM-DD`, UTC. */
function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** Rounded up (`docs/decisions.md#c11`). */
function daysUntil(time: number | undefined, now: Date): number | undefined {
  return time === undefined ? undefined : Math.max(0, Math.ceil((time - now.getTime()) / DAY));
}

type OrUndefined<Output> = { readonly [Name in keyof Output]: Output[Name] | undefined };
