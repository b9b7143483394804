import { type CommandOf, type Decider, type EventOf } from '../../kernel/decider';
import { type StoredDecimals } from '../../wire/record/minor-units';
import {
  type ClaimContent,
  type ClaimOrigin,
  type ProgramFacts,
  programFacts,
  type Screening,
  withAmounts,
  withStoredAmounts,
} from './claim';

/**
 * The claims of one post, in the stream `claim-batch-<id of the first one>`. They are accepted by one append: before it
 * nothing is filed, and after it anybody may file them (`docs/decisions.md#c3`).
 *
 * The names and shapes of these events are the storage format: add, never rename. `at` is an ISO 8601 instant.
 */

/** A claim to be filed, and what screening has found. */
export interface Filing {
  readonly id: number;
  readonly origin: ClaimOrigin;
  readonly claim: ClaimContent;
  readonly screening: Screening;
}

/** Amounts are minor units of the program's currency, or have the decimals that it names. */
type StoredFiling = Filing & StoredDecimals;

export type ClaimBatchEvent =
  | EventOf<'ClaimBatchAccepted', { claims: readonly StoredFiling[] }>
  | EventOf<'ClaimBatchFinished'>
  /** As the only event of a stream: the post was interrupted, and none of its claims can be filed any more. */
  | EventOf<'ClaimBatchAbandoned'>;

export type ClaimBatchState =
  | { readonly is: 'unknown' | 'abandoned' | 'finished' }
  | { readonly is: 'accepted'; readonly at: string; readonly claims: readonly Filing[] };

export type ClaimBatchCommand =
  | CommandOf<'accept', { claims: readonly Filing[] }>
  | CommandOf<'finish'>
  /** Ensures that it can no longer be accepted. */
  | CommandOf<'abandon'>;

export const CLAIM_BATCH = 'claim-batch';

/** A command that does not fit the state does nothing: the state returned shows why. */
export const claimBatchDecider: Decider<ClaimBatchCommand, ClaimBatchState, ClaimBatchEvent> = {
  category: CLAIM_BATCH,
  initial: { is: 'unknown' },
  decide(command, state) {
    const { at } = command;
    switch (command.do) {
      case 'accept': {
        if (state.is !== 'unknown') return [];
        return [{ type: 'ClaimBatchAccepted', data: { at, claims: command.claims.map(storedFiling) } }];
      }
      case 'finish':
        return state.is === 'accepted' ? [{ type: 'ClaimBatchFinished', data: { at } }] : [];
      case 'abandon':
        return state.is === 'unknown' ? [{ type: 'ClaimBatchAbandoned', data: { at } }] : [];
    }
  },
  evolve(_, event) {
    switch (event.type) {
      case 'ClaimBatchAccepted':
        return { is: 'accepted', at: event.data.at, claims: event.data.claims.map(filingIn) };
      case 'ClaimBatchFinished':
        return { is: 'finished' };
      case 'ClaimBatchAbandoned':
        return { is: 'abandoned' };
    }
  },
};

type PricedClaim = ProgramFacts & StoredDecimals & { readonly claim: ClaimContent };

export function storedFiling(filing: Filing): StoredFiling {
  const { claim, origin } = filing;
  const { decimals, claim: stored } = withStoredAmounts<PricedClaim>({ ...programFacts(origin), claim });
  return { ...filing, claim: stored, ...(decimals === undefined ? {} : { decimals }) };
}

function filingIn({ decimals, ...filing }: StoredFiling): Filing {
  const stored = decimals === undefined ? {} : { decimals };
  const { claim } = withAmounts({ ...programFacts(filing.origin), ...stored, claim: filing.claim });
  return { ...filing, claim };
}
