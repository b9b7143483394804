import { type Directory } from '../../network/directory';
import { type Fault } from '../../kernel/fault';
import { type ClaimContent, type FiledClaim } from '../../domain/claims/claim';
import { type CheckedRevision } from './posted-claims';

/** What an update may omit (Document 3, Claim update posted by a publisher). */
const OPTIONAL = [
  'epi',
  'epi2',
  'trackingUrl',
  'productName',
  'proofOfClaims',
  'expectedCommission',
  'advertiserInformation',
] as const satisfies readonly (keyof ClaimContent)[];

/**
 * The claim after an update by its publisher: what the update omits stays, what it has empty is cleared (`docs/decisions.md#c9`).
 * An expected commission does not stay for an event that must not have one, or in another currency.
 */
export function revisedClaim(
  { claim, cleared, currencyId }: CheckedRevision,
  before: FiledClaim,
  directory: Directory,
): ClaimContent {
  const event = directory.program(claim.programId)?.events.find(({ id }) => id === claim.eventId);
  const mayExpect = event?.inquiry !== false && before.currencyId === currencyId;
  const kept = OPTIONAL.filter(
    (name) =>
      before.claim[name] !== undefined &&
      !cleared.includes(name) &&
      (name !== 'expectedCommission' || mayExpect),
  );
  return { ...Object.fromEntries(kept.map((name) => [name, before.claim[name]])), ...claim };
}

/** What is wrong with the claim after an update: it has no expected commission, though its event needs one. */
export function revisionFaults(
  { needsCommission }: CheckedRevision,
  revised: ClaimContent,
): readonly Fault[] {
  return needsCommission === undefined || revised.expectedCommission !== undefined ? [] : [needsCommission];
}
