import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { LeaseHolder } from '../../../runtime/lease-holder';
import { EngineUnavailable } from '../../../kernel/event-log';
import { withEngineTimeout } from '../../../runtime/unavailable';
import { type Leases } from '../../../kernel/leases';
import { type FeedLock } from './fingerprints/fingerprint-cache';

/** How long (ms) the lease of a crashed process blocks the others. */
const LEASE_MS = 10_000;
const POLL_MS = 100;
/** Timeouts of the leases (ms). */
const TIMEOUT_MS = { acquire: 1_000, release: 500 } as const;

/**
 * Locks feeds among processes by leases. Unavailable leases block no load: without one, two processes that load the same feed
 * only cause each other conflicts.
 */
export function feedLeases(leases: Leases): FeedLock {
  const owner = randomUUID();
  return async (feedId, signal, run) => {
    const lease = new LeaseHolder(leases, `load-feed-${feedId}`, owner, LEASE_MS, Date.now);
    while (!signal.aborted && !(await orWithout(lease.acquire(), TIMEOUT_MS.acquire))) {
      await pause(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
    try {
      return await lease.renewDuring(run);
    } finally {
      await orWithout(lease.release(), TIMEOUT_MS.release);
    }
  };
}

/** The answer, or true if the leases are unavailable. */
async function orWithout<Answer>(answer: Promise<Answer>, milliseconds: number): Promise<Answer | true> {
  try {
    return await withEngineTimeout('the leases', answer, milliseconds);
  } catch (error) {
    if (error instanceof EngineUnavailable) return true;
    throw error;
  }
}
