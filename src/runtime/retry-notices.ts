import { type OnRetry } from './unavailable';

/** When (ms) a failure that lasts is reported again: after `first`, then at intervals that double up to `longest`. */
const REPEAT_MS = { first: 5_000, longest: 300_000 } as const;

/** A failure that has not occurred for this time (ms) is a new one. */
const FORGET_MS = 60_000;

/** The state of one failure that is being retried. */
interface Series {
  count: number;
  /** When it is reported again. */
  dueAt: number;
  pauseMs: number;
  lastAt: number;
}

/**
 * Reports failures that an engine retries, in lines: the first one at once, repetitions at growing intervals
 * (`docs/decisions.md#x96`).
 */
export function retryNotices(
  say: (line: string) => void,
  now: () => number = () => performance.now(),
): OnRetry {
  const kinds = new Map<string, Series>();
  return (failure) => {
    const at = now();
    const known = kinds.get(failure);
    if (known === undefined || at - known.lastAt > FORGET_MS) {
      const pauseMs = REPEAT_MS.first;
      kinds.set(failure, { count: 1, dueAt: at + pauseMs, pauseMs, lastAt: at });
      say(`${failure}; retrying`);
      return;
    }
    known.count += 1;
    known.lastAt = at;
    if (at < known.dueAt) return;
    known.pauseMs = Math.min(2 * known.pauseMs, REPEAT_MS.longest);
    known.dueAt = at + known.pauseMs;
    say(`${failure}; still retrying, ${known.count} failures so far`);
  };
}
