import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { LeaseHolder } from '../kernel/lease-holder';
import { EngineUnavailable } from '../kernel/event-log';
import { withEngineTimeout } from '../kernel/unavailable';
import { type ReadStore } from '../kernel/read-store';
import { type FeedLock } from '../products/load/fingerprints/fingerprint-cache';

/** For how long a process that has died keeps the others from its feed (ms). */
const LEASE_MS = 10_000;
const POLL_MS = 100;
/** How long is waited for a store to give a lease, and to take it back (ms): it may do so later all the same. */
const ANSWER_MS = { given: 1_000, back: 500 } as const;

/**
 * Processes take turns with a feed by a lease in the read store. A store that does not answer holds nobody up: two
 * that load at once only make each other decide some batches again.
 */
export function feedLeases(store: ReadStore): FeedLock {
  const owner = randomUUID();
  return async (feedId, signal, run) => {
    const lease = new LeaseHolder(store, `load-feed-${feedId}`, owner, LEASE_MS, Date.now);
    while (!signal.aborted && !(await orWithout(lease.acquire(), ANSWER_MS.given))) {
      await pause(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
    try {
      return await lease.renewDuring(run);
    } finally {
      await orWithout(lease.release(), ANSWER_MS.back);
    }
  };
}

/** What the store answers; true when it does not. */
async function orWithout<Answer>(answer: Promise<Answer>, milliseconds: number): Promise<Answer | true> {
  try {
    return await withEngineTimeout('the read store', answer, milliseconds);
  } catch (error) {
    if (error instanceof EngineUnavailable) return true;
    throw error;
  }
}
