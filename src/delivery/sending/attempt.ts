import { type MessageRequest } from '../../domain/deliveries/delivery-events';

/** A message as it is sent this time. */
export interface Attempt {
  readonly id: string;
  readonly sequence: number;
  readonly request: MessageRequest;
  /** From 1. */
  readonly number: number;
  /** The secrets to sign with. */
  readonly secrets: readonly Uint8Array[];
  readonly isManual?: boolean | undefined;
  readonly isTest?: boolean | undefined;
}

/**
 * How an attempt has ended:
 * - `success`: the receiver has accepted the message;
 * - `gone`: it answered 410;
 * - `timeout`: it did not accept the connection or did not answer in time;
 * - `failure`: anything else that is the receiver's, a forbidden address included;
 * - `aborted`: we have ended it, or our own fault has prevented it; it does not count.
 */
export type AttemptEnd = 'success' | 'gone' | 'timeout' | 'failure' | 'aborted';

export interface AttemptResult {
  readonly end: AttemptEnd;
  /** When it began, epoch ms. */
  readonly at: number;
  /** Duration in ms. */
  readonly ms: number;
  readonly status?: number | undefined;
  /** Why it failed, for the receiver's owner: no address, path or stack of ours. */
  readonly error?: string | undefined;
  /** The first KiB of the answer's body. */
  readonly answer?: string | undefined;
  /** `Retry-After` of a 429 or 503, in ms from now. */
  readonly retryAfter?: number | undefined;
}
