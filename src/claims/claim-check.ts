import { type Directory } from '../directory/directory';
import { type Caller } from '../directory/organisations';
import { type Fault } from '../kernel/fault';
import { type ClaimContent, type ClaimOrigin } from './claim';
import { claimFaults as fault } from './faults';

/** Who sends a command. */
export type ClaimsCaller = Pick<Caller, 'organisationId' | 'kind' | 'siteId'>;

/** Raises UTS_395 for an advertiser, UTS_304 for an operator (`docs/decisions.md#c1`). */
export function requirePublisher({ kind }: ClaimsCaller): void {
  if (kind === 'advertiser') throw fault.publishersOnly();
  if (kind === 'operator') throw fault.tokenType();
}

/** What is wrong with a claim of a publisher, beyond what screening finds (`docs/decisions.md#c3`, `#c6`). */
export function faultsOf(
  claim: ClaimContent,
  caller: ClaimsCaller,
  { programs }: Pick<Directory, 'programs'>,
): readonly Fault[] {
  const { siteId, programId, eventId, expectedCommission } = claim;
  const faults: Fault[] = [];
  if (!isOwnSite(siteId, caller, programs))
    faults.push(
      fault.foreignSite(`affiliateSiteId is ${siteId}: expected a site of the token's organisation`),
    );
  const program = programs.get(programId);
  if (program === undefined) return faults;
  const sites = programs.sitesOf(caller.organisationId);
  if (!sites.some((id) => programs.connectionsOf(id).has(programId)))
    faults.push(
      fault.notConnected(
        `programId is ${programId}: expected a program that one of your sites is connected to`,
      ),
    );
  const event = program.events.find(({ id }) => id === eventId);
  if (event?.inquiry !== true && expectedCommission !== undefined)
    faults.push(
      fault.illegalValue(
        `expectedCommission: expected only for the inquiry event, but eventId is ${eventId}`,
      ),
    );
  return faults;
}

/** A site that was the publisher's and was removed is found by screening (`docs/decisions.md#c5`). */
function isOwnSite(
  id: number,
  { organisationId, siteId }: ClaimsCaller,
  programs: Directory['programs'],
): boolean {
  if (siteId !== undefined && id !== siteId) return false;
  const owner = programs.site(id)?.organisationId ?? organisationId;
  return owner === organisationId && programs.sitesEverOf(organisationId).has(id);
}

/** Whose claim it will be. */
export function originOf(
  { programId }: ClaimContent,
  publisherId: number,
  { programs }: Pick<Directory, 'programs'>,
): ClaimOrigin {
  const advertiserId = programs.get(programId)?.organisationId;
  return { publisherId, ...(advertiserId === undefined ? {} : { advertiserId }) };
}
