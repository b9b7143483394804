import { type Directory } from '../../network/directory';
import { type Caller } from '../../network/organisations';
import { type Program } from '../../network/programs';
import { amountsIn } from '../../wire/record/minor-units';
import { type Fault } from '../../kernel/fault';
import {
  isPosted,
  isUnset,
  nameOf,
  type Place,
  type Posted,
  type Refusals,
  wrong,
} from '../../wire/api/posted';
import { type ClaimContent } from '../../domain/claims/claim';
import { AMOUNTS } from '../../domain/claims/claim-amounts';
import { type PostedList } from './claim-body';
import { claimFaults as fault } from '../../domain/claims/faults';
import { checkEach, problemsIn } from './list-check';
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
export function checkClaims(posted: PostedList, context: ClaimContext): readonly CheckedClaim[] {
  const check = claimChecker(context, (sent) => isUnset(sent['expectedCommission']));
  return checkEach(posted, postedClaim, check).map((claim) => checked(claim, context));
}

/** A claim, and the currency of its amounts, that of its program; absent if there is none. */
export interface CheckedClaim {
  readonly claim: ClaimContent;
  readonly currencyId?: string;
}

/** The claim that a checked post stands for. */
function checked(
  { affiliateSiteId, timeStampEvent, ...others }: PostedClaim,
  { directory }: ClaimContext,
): CheckedClaim {
  const currencyId = directory.program(others.programId)?.currency;
  const amounts = amountsIn(others, AMOUNTS, currencyId ?? '', notRefused);
  const claim = { siteId: affiliateSiteId, transactionDate: timeStampEvent, ...others, ...amounts };
  return { claim, ...(currencyId === undefined ? {} : { currencyId }) };
}

function notRefused(): never {
  throw new Error('checked above');
}

/**
 * Rules between fields and access, of claims and of their updates by publishers. `lacksCommission`: whether one has no expected
 * commission.
 */
function claimChecker({ directory, caller }: ClaimContext, lacksCommission: (posted: Posted) => boolean) {
  return (found: Partial<PostedClaim>, place: Place, refusals: Refusals, posted: Posted): void => {
    const { affiliateSiteId, programId, eventId, expectedCommission } = found;
    if (affiliateSiteId !== undefined && !isOwnSite(affiliateSiteId, directory, caller))
      refusals.add(
        fault.foreignSite,
        wrong(() => `${nameOf(place)}.affiliateSiteId`, affiliateSiteId, ownSites(directory, caller)),
      );
    const program = programId === undefined ? undefined : directory.program(programId);
    amountsIn(found, AMOUNTS, program?.currency ?? '', (name, decimal, expected) =>
      refusals.wrong(() => `${nameOf(place)}.${name}`, decimal, expected),
    );
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
    if (event?.inquiry === true && lacksCommission(posted))
      refusals.missing(() => `${nameOf(place)}.expectedCommission`, whyNeeded(event, program));
    if (event !== undefined && !event.inquiry && expectedCommission !== undefined)
      refusals.add(
        fault.illegalValue,
        wrong(
          () => `${nameOf(place)}.expectedCommission`,
          expectedCommission,
          `none, because event ${event.id} is not the inquiry event of program ${program.id}`,
        ),
      );
  };
}

function whyNeeded(event: Program['events'][number], program: Program): string {
  return `: event ${event.id} is the inquiry event of program ${program.id}`;
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
export interface CheckedRevision extends CheckedClaim {
  readonly claimId: number;
  /** The version that it is based on. */
  readonly version: number;
  /** Fields that it has empty. */
  readonly cleared: readonly string[];
  /** The fault if the claim has no expected commission that stays: it needs one. */
  readonly needsCommission?: Fault;
}

/** Checks updates posted by a publisher in the same way (Document 3, Claim update posted by a publisher). */
export function checkRevisions(posted: PostedList, context: ClaimContext): readonly CheckedRevision[] {
  const isCleared = (sent: Posted, name: string): boolean => sent[name] !== undefined && isUnset(sent[name]);
  const check = claimChecker(context, (sent) => isCleared(sent, 'expectedCommission'));
  const found = checkEach(posted, postedRevision, check);
  return found.map(({ claimId, versionNo, ...claim }, at) => {
    const item = posted.items[at];
    const sent = isPosted(item) ? item : {};
    return {
      claimId,
      version: versionNo,
      cleared: Object.keys(sent).filter((name) => isCleared(sent, name)),
      ...checked(claim, context),
      ...neededCommission(claim, posted.format, context),
    };
  });
}

function neededCommission(
  { programId, eventId, expectedCommission }: PostedClaim,
  format: PostedList['format'],
  { directory }: ClaimContext,
): Pick<CheckedRevision, 'needsCommission'> {
  const program = directory.program(programId);
  const event = program?.events.find(({ id }) => id === eventId);
  if (program === undefined || event?.inquiry !== true || expectedCommission !== undefined) return {};
  const { missing = fault.missingParameter } = problemsIn(format);
  return { needsCommission: missing(`expectedCommission must be set${whyNeeded(event, program)}`) };
}
