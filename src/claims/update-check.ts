import { type Directory } from '../directory/directory';
import { type StateAt } from '../kernel/decider';
import { Fault } from '../kernel/fault';
import { type ClaimContent, claimDecider, type ClaimState, type FiledClaim, type Screening } from './claim';
import { type ClaimsCaller, faultsOf } from './claim-check';
import { claimFaults as fault } from './faults';
import { checkedRuling, type PostedRuling } from './ruling-check';
import { CANNOT_VALIDATE } from './statuses';

/** An update by a publisher: of which version, and the new content. */
export interface Revision {
  readonly claimId: number;
  readonly version: number;
  readonly claim: ClaimContent;
}

/** An update by an advertiser. */
export interface RulingUpdate {
  readonly claimId: number;
  readonly version: number;
  readonly ruling: PostedRuling;
}

/** The claim of an update. `isRepeated`: an earlier update of the same post has the same claim. */
export interface LoadedClaim {
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

interface UpdateOptions {
  readonly caller: ClaimsCaller;
  /** ISO 8601. */
  readonly at: string;
}

/** What is wrong with a publisher's update, apart from a key that another claim has. */
export function revisionFaults(
  { claimId, version, claim, ...loaded }: Revision & LoadedClaim,
  { caller, at, directory }: UpdateOptions & { readonly directory: Pick<Directory, 'programs'> },
): readonly Fault[] {
  return faultsIn(claimId, loaded, () => {
    const own = ownClaim(claimId, loaded.known.state, caller);
    const screening: Screening = { statusId: CANNOT_VALIDATE };
    claimDecider.decide({ do: 'revise', at, version, claim, screening }, own);
    return faultsOf(claim, caller, directory);
  });
}

/** What is wrong with an advertiser's update. */
export function rulingFaults(
  { claimId, version, ruling, ...loaded }: RulingUpdate & LoadedClaim,
  { caller, at, isLegacy }: UpdateOptions & { readonly isLegacy: boolean },
): readonly Fault[] {
  return faultsIn(claimId, loaded, () => {
    const own = ownClaim(claimId, loaded.known.state, caller);
    claimDecider.decide({ do: 'rule', at, version, ruling: checkedRuling(ruling, isLegacy) }, own);
    return [];
  });
}

function faultsIn(
  claimId: number,
  { isRepeated }: LoadedClaim,
  check: () => readonly Fault[],
): readonly Fault[] {
  if (isRepeated)
    return [fault.illegalValue(`claimId is ${claimId} more than once: expected one update of a claim`)];
  try {
    return check();
  } catch (error) {
    if (error instanceof Fault) return [error];
    throw error;
  }
}
