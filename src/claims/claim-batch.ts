import { type Decider } from '../kernel/decider';
import { type ClaimContent, type ClaimOrigin, type Screening } from './claim';

/**
 * The claims of one post, in the stream `claim-batch-<id of the first one>`. They are accepted by one append: before it nothing
 * is filed, and after it anybody may file them (`docs/decisions.md#c3`).
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

export type ClaimBatchEvent =
  | {
      readonly type: 'ClaimBatchAccepted';
      readonly data: { readonly at: string; readonly claims: readonly Filing[] };
    }
  /** All of them are filed. */
  | { readonly type: 'ClaimBatchFinished'; readonly data: { readonly at: string } }
  /** As the only event of a stream: the post was interrupted, and none of its claims can be filed any more. */
  | { readonly type: 'ClaimBatchAbandoned'; readonly data: { readonly at: string } };

export type ClaimBatchState =
  | { readonly is: 'unknown' | 'abandoned' | 'finished' }
  | { readonly is: 'accepted'; readonly at: string; readonly claims: readonly Filing[] };

export type ClaimBatchCommand =
  | { readonly do: 'accept'; readonly at: string; readonly claims: readonly Filing[] }
  | { readonly do: 'finish'; readonly at: string }
  /** Ensures that it can no longer be accepted. */
  | { readonly do: 'abandon'; readonly at: string };

/** The category of a batch's stream. */
export const CLAIM_BATCH = 'claim-batch';

/** A command that does not fit the state does nothing: the state returned shows why. */
export const claimBatchDecider: Decider<ClaimBatchCommand, ClaimBatchState, ClaimBatchEvent> = {
  category: CLAIM_BATCH,
  initial: { is: 'unknown' },
  decide(command, state) {
    const { at } = command;
    switch (command.do) {
      case 'accept': {
        const { claims } = command;
        return state.is === 'unknown' ? [{ type: 'ClaimBatchAccepted', data: { at, claims } }] : [];
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
        return { is: 'accepted', ...event.data };
      case 'ClaimBatchFinished':
        return { is: 'finished' };
      case 'ClaimBatchAbandoned':
        return { is: 'abandoned' };
    }
  },
};
