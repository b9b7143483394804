import { conversionFaults as fault } from '../../domain/conversion-faults';
import { type Directory } from '../../network/directory';
import { type Caller } from '../../network/organisations';
import { type SubscriptionFilter } from '../../domain/subscriptions/subscription';
import { type Refusals } from '../../wire/api/posted';
import { type SubscriptionKind } from '../../domain/subscriptions/topic';

interface Access {
  readonly directory: Directory;
  readonly caller: Pick<Caller, 'kind' | 'organisationId' | 'siteId'>;
  /** What the subscription has already. */
  readonly before?: { readonly content: { readonly filter: SubscriptionFilter } } | undefined;
}

/** Lists of ids that were read, by their fields. */
type Filter = Readonly<Record<string, readonly number[] | undefined>>;

/** Sites that a message lists; a network of sites has thousands. */
const MOST_LISTED = 20;

/**
 * Whether the caller may be notified of what a filter selects (`docs/decisions.md#n11`). Each id that it may not use is a fault,
 * unless the subscription has it already.
 */
export function checkAccess(
  filter: Filter,
  kind: SubscriptionKind,
  access: Access,
  refusals: Refusals,
): void {
  const gained = (field: 'programIds' | 'eventIds' | 'siteIds'): readonly number[] => {
    const known = new Set(access.before?.content.filter[field]);
    return filter[field]?.filter((id) => !known.has(id)) ?? [];
  };
  checkPrograms(gained('programIds'), access, refusals);
  checkEvents(gained('eventIds'), access, refusals);
  checkSites(gained('siteIds'), access, refusals);
  const { field, notForAdvertisers } = kind.states;
  if (access.caller.kind !== 'advertiser') return;
  for (const id of new Set(filter[field]))
    if (notForAdvertisers.includes(id))
      refusals.add(
        fault.paidForAdvertiser,
        `filter.${field} has ${id}: expected states that advertisers may subscribe to`,
      );
}

function checkPrograms(ids: readonly number[], { directory, caller }: Access, refusals: Refusals): void {
  const accessible = directory.programsOf(holderOf(caller));
  for (const id of new Set(ids)) {
    const program = directory.program(id);
    if (program?.status !== 'active')
      refusals.add(fault.unknownProgram, `filter.programIds has ${id}: expected existing, active programs`);
    if (program !== undefined && !accessible.has(id))
      refusals.add(fault.noProgramAccess, `filter.programIds has ${id}: expected ${ownPrograms(caller)}`);
  }
}

function checkEvents(ids: readonly number[], { directory, caller }: Access, refusals: Refusals): void {
  if (ids.length === 0) return;
  const programs = [...directory.programsOf(holderOf(caller))].map((id) => directory.program(id));
  const accessible = new Set(programs.flatMap((program) => program?.events.map(({ id }) => id) ?? []));
  for (const id of new Set(ids))
    if (!accessible.has(id))
      refusals.add(
        fault.noEventAccess,
        `filter.eventIds has ${id}: expected events of ${ownPrograms(caller)}`,
      );
}

function checkSites(ids: readonly number[], { directory, caller }: Access, refusals: Refusals): void {
  const programs = directory.programsOf(holderOf(caller));
  const sites = directory.sitesOf(holderOf(caller));
  const isAccessible = (id: number): boolean =>
    caller.kind === 'publisher'
      ? sites.includes(id)
      : [...directory.programs.connectionsOf(id)].some((programId) => programs.has(programId));
  const own = sites.length > MOST_LISTED ? 'sites of yours' : `sites of yours: ${sites.join(', ')}`;
  const expected = caller.kind === 'publisher' ? own : 'sites that are connected to a program of yours';
  for (const id of new Set(ids))
    if (!isAccessible(id)) refusals.add(fault.noSiteAccess, `filter.siteIds has ${id}: expected ${expected}`);
}

function ownPrograms({ kind, siteId }: Access['caller']): string {
  if (kind === 'advertiser') return 'programs of yours';
  return siteId === undefined
    ? 'programs that a site of yours is connected to'
    : `programs that site ${siteId} is connected to`;
}

/** The directory only reads who the caller is. */
function holderOf(caller: Access['caller']): Caller {
  return { tokenHash: '', system: 'CONVERSIONS', ...caller };
}
