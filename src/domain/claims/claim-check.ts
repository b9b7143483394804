import { type Directory } from '../../network/directory';
import { type Caller } from '../../network/organisations';
import { termsOf } from '../../network/past-terms';
import { type ClaimContent, type ClaimOrigin } from './claim';
import { claimFaults as fault } from './faults';

/** Who sends a command. */
export type ClaimsCaller = Pick<Caller, 'organisationId' | 'kind' | 'siteId'>;

/** Raises UTS_395 for an advertiser, UTS_304 for an operator (`docs/decisions.md#c1`). */
export function requirePublisher({ kind }: ClaimsCaller): void {
  if (kind === 'advertiser') throw fault.publishersOnly();
  if (kind === 'operator') throw fault.tokenType();
}

/** Whose claim it will be. */
export function originOf(
  { programId, eventId }: ClaimContent,
  publisherId: number,
  { programs }: Pick<Directory, 'programs'>,
): ClaimOrigin {
  const program = programs.get(programId);
  if (program === undefined) return { publisherId };
  const event = program.events.find(({ id }) => id === eventId);
  return {
    publisherId,
    advertiserId: program.organisationId,
    currencyId: program.currency,
    ...(event === undefined ? {} : { terms: termsOf(event) }),
  };
}
