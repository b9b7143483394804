import { type Directory } from '../../network/directory';
import { decimalOf, textOf } from '../../wire/record/minor-units';
import { type OutputClaim, type OutputLegacyClaim } from './answered-fields';
import { type ListedClaim } from '../../domain/claims/stored-claim';
import { STATUSES } from '../../domain/claims/statuses';

const DAY = 24 * 60 * 60 * 1000;

/**
 * A claim as it is listed (Document 3, Claim as listed); fields without a value are undefined. `now`: for the days until it is
 * approved.
 */
export function toOutput(listed: ListedClaim, directory: Directory, now: Date): OutputClaim {
  const { claimId, origin, version, claim, status, created, adjusted = {} } = listed;
  const { currencyId: currency = '' } = origin;
  const { siteId, programId, eventId, transactionDate, orderNumber } = claim;
  const { epi, epi2, trackingUrl, productName, expectedCommission, proofOfClaims, advertiserInformation } =
    claim;
  const { name: statusName, state: statusState } = STATUSES[status.id];
  const eventName = directory.program(programId)?.events.find(({ id }) => id === eventId)?.name;
  const output: Optional<Required<OutputClaim>> = {
    claimId,
    timeStamp: day(created),
    statusId: status.id,
    statusName,
    statusState,
    statusMessage: status.message,
    statusChanged: day(status.since),
    publisherId: origin.publisherId,
    affiliateSiteId: siteId,
    siteName: siteName(directory, siteId),
    programId,
    programName: programName(directory, programId),
    timeStampEvent: transactionDate,
    eventId,
    orderNumber,
    orderValue: decimalOf(claim.orderValue, currency),
    adjustedOrderValue:
      adjusted.orderValue === undefined ? undefined : decimalOf(adjusted.orderValue, currency),
    epi,
    epi2,
    trackingUrl,
    productName,
    expectedCommission: textIn(currency, expectedCommission),
    adjustedExpectedCommission: textIn(currency, adjusted.expectedCommission),
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
function day(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** As text with the decimals of the currency (`docs/decisions.md#c2`). */
function textIn(currency: string, amount: number | undefined): string | undefined {
  return amount === undefined ? undefined : textOf(amount, currency);
}

/** Rounded up (`docs/decisions.md#c11`). */
function daysUntil(time: number | undefined, now: Date): number | undefined {
  return time === undefined ? undefined : Math.max(0, Math.ceil((time - now.getTime()) / DAY));
}

type Optional<Output> = { readonly [Name in keyof Output]: Output[Name] | undefined };
