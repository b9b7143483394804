import { type Directory } from '../directory/directory';
import { type Caller } from '../directory/organisations';
import { nameOf, type Place, type Refusals, wrong } from '../wire/posted';
import { type ClaimContent } from './claim';
import { type PostedList } from './claim-body';
import { claimFaults as fault } from './faults';
import { checkEach } from './list-check';
import { type PostedClaim, postedClaim, postedRevision } from './posted-fields';

/** What posted claims are checked against. */
export interface ClaimContext {
  readonly directory: Directory;
  readonly caller: Pick<Caller, 'organisationId' | 'siteId'>;
}

/**
 * Checks posted claims: fields, access to sites and programs. Raises everything that is wrong as `Faults`; their status is that
 * of the first.
 */
export function checkClaims(posted: PostedList, context: ClaimContext): readonly ClaimContent[] {
  return checkEach(posted, postedClaim, claimChecker(context)).map(contentOf);
}

/** The claim that a checked post stands for. */
function contentOf({ affiliateSiteId, timeStampEvent, ...others }: PostedClaim): ClaimContent {
  return { siteId: affiliateSiteId, transactionDate: timeStampEvent, ...others };
}

/** Rules between fields and access, of claims and of their updates by publishers. */
function claimChecker({ directory, caller }: ClaimContext) {
  return (found: Partial<PostedClaim>, place: Place, refusals: Refusals): void => {
    const { affiliateSiteId, programId, eventId, expectedCommission } = found;
    if (affiliateSiteId !== undefined && !isOwnSite(affiliateSiteId, directory, caller))
      refusals.add(
        fault.foreignSite,
        wrong(() => `${nameOf(place)}.affiliateSiteId`, affiliateSiteId, ownSites(directory, caller)),
      );
    const program = programId === undefined ? undefined : directory.program(programId);
    if (program === undefined) return;
    if (!isConnected(program.id, directory, caller))
      refusals.add(
        fault.notConnected,
        wrong(
          () => `${nameOf(place)}.programId`,
          programId,
          'a program that one of your sites is connected to',
        ),
      );
    const event = program.events.find(({ id }) => id === eventId);
    // `docs/decisions.md#c6`
    if (event !== undefined && !event.inquiry && expectedCommission !== undefined)
      refusals.add(
        fault.illegalValue,
        wrong(
          () => `${nameOf(place)}.expectedCommission`,
          expectedCommission / 100,
          `none, because event ${event.id} is not the inquiry event of program ${program.id}`,
        ),
      );
  };
}

/** A site that was removed is still its publisher's: its claims are rejected by screening. */
function isOwnSite(
  id: number,
  { programs }: Directory,
  { organisationId, siteId }: ClaimContext['caller'],
): boolean {
  const site = programs.site(id);
  const isOwn =
    site === undefined
      ? programs.sitesEverOf(organisationId).has(id)
      : site.organisationId === organisationId;
  return isOwn && (siteId === undefined || siteId === id);
}

function ownSites({ programs }: Directory, { organisationId, siteId }: ClaimContext['caller']): string {
  if (siteId !== undefined) return `${siteId}, the site of the token`;
  const ids = programs.sitesOf(organisationId).slice(0, 20);
  return ids.length === 0
    ? 'a site of yours, but you have none'
    : `a site of yours, such as ${ids.join(', ')}`;
}

function isConnected(
  programId: number,
  { programs }: Directory,
  { organisationId }: ClaimContext['caller'],
): boolean {
  return programs.sitesOf(organisationId).some((id) => programs.connectionsOf(id).has(programId));
}

/** A claim as its publisher updates it. */
export interface CheckedRevision {
  readonly claimId: number;
  /** The version that it is based on. */
  readonly version: number;
  readonly claim: ClaimContent;
}

/** Checks updates posted by a publisher in the same way (Document 3, Claim update posted by a publisher). */
export function checkRevisions(posted: PostedList, context: ClaimContext): readonly CheckedRevision[] {
  return checkEach(posted, postedRevision, claimChecker(context)).map(({ claimId, versionNo, ...claim }) => ({
    claimId,
    version: versionNo,
    claim: contentOf(claim),
  }));
}
