import {
  AMOUNTS,
  type ClaimCommand,
  type ClaimContent,
  claimDecider,
  type ClaimState,
  type FiledClaim,
  type Ruling,
} from '../../domain/claims/claim';
import { claimFaults as fault } from '../../domain/claims/faults';
import {
  APPROVED,
  CHANNELS,
  LAST_LEGACY_STATUS,
  type RulingStatusId,
  STATUSES,
} from '../../domain/claims/statuses';
import { type StateAt } from '../../kernel/decider';
import { type Fault, faultsIn, type MakeFault } from '../../kernel/fault';
import { type Directory } from '../../network/directory';
import { type Caller } from '../../network/organisations';
import { type Program } from '../../network/programs';
import { isPosted, isUnset, type Posted, type Refusals, wrong } from '../../wire/api/posted';
import { amountsIn } from '../../wire/record/minor-units';
import { type FoundIn, recordReader } from '../../wire/record/read';
import { type PostedOf } from '../../wire/record/record';
import {
  checkEach,
  type CheckItem,
  type PostedClaim,
  postedClaim,
  postedLegacyRuling,
  type PostedList,
  postedRevision,
  postedRuling,
  problemsIn,
} from './claims-body';

// Compiled once: that takes longer than reading a claim.
const readClaim = recordReader(postedClaim);
const readRevision = recordReader(postedRevision);
const readRuling = recordReader(postedRuling);
const readLegacyRuling = recordReader(postedLegacyRuling);

export type ClaimsCaller = Pick<Caller, 'organisationId' | 'kind' | 'siteId'>;

/** Raises UTS_395 for an advertiser, UTS_304 for an operator (`docs/decisions.md#c1`). */
export function requirePublisher({ kind }: ClaimsCaller): void {
  if (kind === 'advertiser') throw fault.publishersOnly();
  if (kind === 'operator') throw fault.tokenType();
}

/** What posted claims are checked against. */
export interface ClaimCheckParts {
  readonly directory: Directory;
  readonly caller: Pick<Caller, 'organisationId' | 'siteId'>;
}

/** Checks posted claims. Raises everything that is wrong as `Faults`; their status is that of the first. */
export function checkClaims(posted: PostedList, context: ClaimCheckParts): readonly CheckedClaim[] {
  const check = claimChecker(context, (sent) => isUnset(sent['expectedCommission']));
  return checkEach(posted, readClaim, check).map((claim) => checkedClaim(claim, context));
}

/** A claim, and the currency of its amounts, that of its program; absent if there is none. */
export interface CheckedClaim {
  readonly claim: ClaimContent;
  readonly currencyId?: string;
}

function checkedClaim(
  { affiliateSiteId, timeStampEvent, ...others }: PostedClaim,
  { directory }: ClaimCheckParts,
): CheckedClaim {
  const currencyId = directory.program(others.programId)?.currency;
  const amounts = amountsIn(others, AMOUNTS, currencyId ?? '', () => {
    throw new Error('checked above');
  });
  const claim = { siteId: affiliateSiteId, transactionDate: timeStampEvent, ...others, ...amounts };
  return { claim, ...(currencyId === undefined ? {} : { currencyId }) };
}

/** Rules between fields and access. `lacksCommission`: whether one is posted without an expected commission. */
function claimChecker({ directory, caller }: ClaimCheckParts, lacksCommission: (posted: Posted) => boolean) {
  return (found: Partial<PostedClaim>, place: string, refusals: Refusals, posted: Posted): void => {
    const { affiliateSiteId: site, programId = NaN, eventId, expectedCommission } = found;
    const refuse = (make: MakeFault, name: keyof PostedClaim, expected: string): void =>
      refusals.add(make, wrong(`${place}.${name}`, found[name], expected));
    if (site !== undefined && !isOwnSite(site, directory, caller))
      refuse(fault.foreignSite, 'affiliateSiteId', ownSites(directory, caller));
    const { programs } = directory;
    const program = programs.get(programId);
    amountsIn(found, AMOUNTS, program?.currency ?? '', (name, decimal, expected) =>
      refusals.wrong(`${place}.${name}`, decimal, expected),
    );
    if (program === undefined) return;
    const sites = programs.sitesOf(caller.organisationId);
    if (!sites.some((id) => programs.connectionsOf(id).has(program.id)))
      refuse(fault.notConnected, 'programId', 'a program that one of your sites is connected to');
    const event = program.events.find(({ id }) => id === eventId);
    if (event === undefined) return;
    // `docs/decisions.md#c6`
    if (event.inquiry && lacksCommission(posted))
      refusals.missing(`${place}.expectedCommission`, whyNeeded(event, program));
    if (!event.inquiry && expectedCommission !== undefined) {
      const why = `event ${event.id} is not the inquiry event of program ${program.id}`;
      refuse(fault.illegalValue, 'expectedCommission', `none, because ${why}`);
    }
  };
}

function whyNeeded(event: Program['events'][number], program: Program): string {
  return `: event ${event.id} is the inquiry event of program ${program.id}`;
}

/** A site that was removed is still its publisher's: its claims are rejected by screening. */
function isOwnSite(
  id: number,
  { programs }: Directory,
  { organisationId, siteId }: ClaimCheckParts['caller'],
): boolean {
  const site = programs.site(id);
  const isOwn =
    site === undefined
      ? programs.sitesEverOf(organisationId).has(id)
      : site.organisationId === organisationId;
  return isOwn && (siteId === undefined || siteId === id);
}

function ownSites({ programs }: Directory, { organisationId, siteId }: ClaimCheckParts['caller']): string {
  if (siteId !== undefined) return `${siteId}, the site of the token`;
  const ids = programs.sitesOf(organisationId).slice(0, 20);
  return ids.length === 0
    ? 'a site of yours, but you have none'
    : `a site of yours, such as ${ids.join(', ')}`;
}

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
export function checkRevisions(posted: PostedList, context: ClaimCheckParts): readonly CheckedRevision[] {
  const isCleared = (sent: Posted, name: string): boolean => sent[name] !== undefined && isUnset(sent[name]);
  const check = claimChecker(context, (sent) => isCleared(sent, 'expectedCommission'));
  const found = checkEach(posted, readRevision, check);
  return found.map(({ claimId, versionNo, ...claim }, at) => {
    const item = posted.items[at];
    const sent = isPosted(item) ? item : {};
    return {
      claimId,
      version: versionNo,
      cleared: Object.keys(sent).filter((name) => isCleared(sent, name)),
      ...checkedClaim(claim, context),
      ...neededCommission(claim, posted.format, context),
    };
  });
}

function neededCommission(
  { programId, eventId, expectedCommission }: PostedClaim,
  format: PostedList['format'],
  { directory }: ClaimCheckParts,
): Pick<CheckedRevision, 'needsCommission'> {
  const program = directory.program(programId);
  const event = program?.events.find(({ id }) => id === eventId);
  if (program === undefined || event?.inquiry !== true || expectedCommission !== undefined) return {};
  const { missing = fault.missingParameter } = problemsIn(format);
  return { needsCommission: missing(`expectedCommission must be set${whyNeeded(event, program)}`) };
}

export interface CheckedRuling {
  readonly claimId: number;
  readonly version: number;
  /** Its amounts are decimal numbers: their currency is that of the claim. */
  readonly ruling: Ruling;
}

/** A ruling with its amounts in the currency of the claim, or why they are none. */
export function rulingIn(
  currency: string,
  ruling: Ruling,
): { readonly ruling: Ruling; readonly faults: readonly Fault[] } {
  const faults: Fault[] = [];
  const amounts = amountsIn(ruling, AMOUNTS, currency, (name, decimal, expected) =>
    faults.push(fault.illegalValue(wrong(name, decimal, expected))),
  );
  return { ruling: { ...ruling, ...amounts }, faults };
}

/** Checks updates by an advertiser; those on legacy paths are of version 0, with fewer statuses. Raises all faults. */
export function checkRulings(posted: PostedList, isLegacy = false): readonly CheckedRuling[] {
  if (isLegacy) return checkEach(posted, readLegacyRuling, rulesFor(LAST_LEGACY_STATUS)).map(checkedRuling);
  return checkEach<typeof postedRuling>(posted, readRuling, rulesFor(Infinity)).map(checkedRuling);
}

type FoundRuling = FoundIn<typeof postedLegacyRuling>;

/** Rules between the fields (`docs/decisions.md#c9`), with statuses up to the last one. */
function rulesFor(last: number): CheckItem<typeof postedLegacyRuling> {
  return (found, place, refusals, posted) => {
    const { statusIdClaim: id } = found;
    if (id === undefined) return;
    if (!isRuling(id) || id > last) {
      const make = Object.hasOwn(STATUSES, id) ? fault.statusNotAllowed : fault.unknownStatus;
      refusals.add(make, wrong(`${place}.statusIdClaim`, id, `3 or one of 201 to ${Math.min(last, 213)}`));
      return;
    }
    checkMessage(found, posted, id, place, refusals);
    if (id === APPROVED) return;
    for (const name of AMOUNTS) {
      const { [name]: amount } = found;
      if (amount !== undefined)
        refusals.wrong(`${place}.${name}`, amount, `none, unless statusIdClaim is ${APPROVED}`);
    }
  };
}

function isRuling(id: number): id is RulingStatusId {
  return Object.hasOwn(STATUSES, id) && (id === APPROVED || id > 200);
}

function checkMessage(
  { statusMessageClaim: message }: FoundRuling,
  posted: Posted,
  id: RulingStatusId,
  place: string,
  refusals: Refusals,
): void {
  const status = STATUSES[id];
  if (!('needsMessage' in status)) return;
  const expected = `one of ${CHANNELS.join(', ')}`;
  const field = `${place}.statusMessageClaim`;
  const where = ` where statusIdClaim is ${id} (${status.name}): ${expected}`;
  if (isUnset(posted['statusMessageClaim'])) refusals.missing(field, where, fault.missingParameter);
  else if (message !== undefined && !CHANNELS.some((channel) => channel === message))
    refusals.wrong(field, message, expected);
}

function checkedRuling(
  found: PostedOf<typeof postedLegacyRuling> & { readonly versionNo?: number },
): CheckedRuling {
  const { claimId, statusIdClaim: statusId, statusMessageClaim, versionNo = 0, ...corrections } = found;
  if (!isRuling(statusId)) throw new Error('checked above');
  const message = statusMessageClaim === undefined ? {} : { message: statusMessageClaim };
  return { claimId, version: versionNo, ruling: { statusId, ...message, ...corrections } };
}

/**
 * The claim after an update by its publisher: what the update omits stays, what it has empty is cleared
 * (`docs/decisions.md#c9`). An expected commission does not stay for an event that must not have one, or in another
 * currency.
 */
export function revisedClaim(
  { claim, cleared, currencyId }: CheckedRevision,
  before: FiledClaim,
  directory: Directory,
): ClaimContent {
  const event = directory.program(claim.programId)?.events.find(({ id }) => id === claim.eventId);
  const mayExpect = event?.inquiry !== false && before.currencyId === currencyId;
  const kept = Object.entries(before.claim).filter(
    ([name]) => !cleared.includes(name) && (name !== 'expectedCommission' || mayExpect),
  );
  return { ...Object.fromEntries(kept), ...claim };
}

/** What is wrong with the claim after an update: it has no expected commission, though its event needs one. */
export function revisionFaults(
  { needsCommission }: CheckedRevision,
  revised: ClaimContent,
): readonly Fault[] {
  return needsCommission === undefined || revised.expectedCommission !== undefined ? [] : [needsCommission];
}

/** The claim of an update. `isRepeated`: an earlier update of the same post has the same claim. */
export interface LoadedClaim {
  readonly claimId: number;
  readonly known: StateAt<ClaimState>;
  readonly isRepeated: boolean;
}

/** Raises UTS_402 or UTS_404 unless the claim is the caller's (`docs/decisions.md#c9`). */
export function ownClaim(
  id: number,
  state: ClaimState,
  { kind, organisationId, siteId }: ClaimsCaller,
): FiledClaim {
  if (state.is !== 'filed') throw fault.notFound(`claimId is ${id}: expected the id of a claim of yours`);
  const owner = kind === 'publisher' ? state.publisherId : state.advertiserId;
  const isOfSite = siteId === undefined || siteId === state.claim.siteId;
  if (owner === organisationId && isOfSite) return state;
  throw fault.foreignClaim(`claimId is ${id}: expected the id of a claim of yours`);
}

/** Why a command is refused for a loaded claim: it is not the caller's, or its version or status does not allow it. */
export function updateFaults(
  { claimId, known, isRepeated }: LoadedClaim,
  command: ClaimCommand,
  caller: ClaimsCaller,
): readonly Fault[] {
  if (isRepeated)
    return [fault.illegalValue(`claimId is ${claimId} more than once: expected one update of a claim`)];
  try {
    claimDecider.decide(command, ownClaim(claimId, known.state, caller));
    return [];
  } catch (error) {
    return faultsIn(error);
  }
}
