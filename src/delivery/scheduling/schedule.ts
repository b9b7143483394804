import { createHash } from 'node:crypto';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** How long after a failed attempt the next one follows (ms), before jitter (`docs/decisions.md#n3`). */
export const DELAYS: readonly number[] = [
  5_000,
  5 * MINUTE,
  30 * MINUTE,
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR),
];

/** Each delay is shortened or extended by up to this share. */
const JITTER = 0.2;

/** `Retry-After` extends a delay up to this one (ms). */
const MOST_MS = 24 * HOUR;

/** No attempt follows later than this after the one before (ms). */
export const LONGEST_DELAY_MS = MOST_MS * (1 + JITTER);

/** A failed attempt. `attempt` counts from 1; times are in epoch ms, `retryAfter` in ms. */
export interface FailedAttempt {
  readonly id: string;
  readonly attempt: number;
  readonly ended: number;
  readonly retryAfter?: number;
}

/** When the next attempt is due (epoch ms); undefined if there is none, since the message is dead. */
export function nextAttempt({ id, attempt, ended, retryAfter = 0 }: FailedAttempt): number | undefined {
  const delay = DELAYS[attempt - 1];
  if (delay === undefined) return undefined;
  const jittered = delay * (1 + JITTER * (2 * shareOf(`${id} ${attempt}`) - 1));
  return Math.round(ended + Math.max(jittered, Math.min(retryAfter, MOST_MS)));
}

/** From 0 to below 1. */
function shareOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32;
}
