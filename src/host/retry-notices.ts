import { type OnRetry } from '../engines/open';

/** How soon (ms) a failure that lasts is said again: after this time, then after twice as long each time, up to `longest`. */
const REPEAT_MS = { first: 5_000, longest: 300_000 } as const;

/** The state of one failure that is being retried. */
interface Series {
  count: number;
  /** When it is said again. */
  dueAt: number;
  pauseMs: number;
  lastAt: number;
}

/**
 * Makes lines out of failures that an engine retries: the first one at once, later ones of the same kind at growing intervals. A
 * kind that has not occurred for a minute is new again.
 */
export function retryNotices(
  say: (line: string) => void,
  now: () => number = () => performance.now(),
): OnRetry {
  const kinds = new Map<string, Series>();
  return (failure) => {
    const at = now();
    const known = kinds.get(failure);
    if (known === undefined || at - known.lastAt > 60_000) {
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
