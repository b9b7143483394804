import { type StateAt } from '../../kernel/decider';
import { Fault } from '../../kernel/fault';
import { claimDecider, type ClaimCommand, type ClaimState, type FiledClaim } from '../../domain/claims/claim';
import { type ClaimsCaller } from '../../domain/claims/claim-check';
import { claimFaults as fault } from '../../domain/claims/faults';

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
    if (error instanceof Fault) return [error];
    throw error;
  }
}
