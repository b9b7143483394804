import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { LeaseHolder } from '../kernel/lease-holder';
import { EngineUnavailable } from '../kernel/event-log';
import { withEngineTimeout } from '../kernel/unavailable';
import { type ReadStore } from '../kernel/read-store';
import { type FeedLock } from '../products/load/fingerprints/fingerprint-cache';

/** How long a process that has died blocks the others from its feed (ms). */
const LEASE_MS = 10_000;
const POLL_MS = 100;
/** How long to wait for the store to grant a lease, and to release it (ms); it may still do so later. */
const ANSWER_MS = { given: 1_000, back: 500 } as const;

/**
 * A lease in the read store lets one process at a time load a feed. An unavailable store blocks nobody: two concurrent
 * loads only make each other decide some batches again.
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

/** The answer of the store; true when it is unavailable. */
async function orWithout<Answer>(answer: Promise<Answer>, milliseconds: number): Promise<Answer | true> {
  try {
    return await withEngineTimeout('the read store', answer, milliseconds);
  } catch (error) {
    if (error instanceof EngineUnavailable) return true;
    throw error;
  }
}
