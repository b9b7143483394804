/** An exclusive right until `expires` (epoch ms, by the clock of whoever asked for it). */
export interface Lease {
  readonly name: string;
  readonly owner: string;
  readonly expires: number;
}

/** Whether an owner is gone for certain: its leases are not waited for. */
export type IsGone = (owner: string) => boolean;

/** Maximum clock skew (ms) between processes that share a store. */
export const MAX_CLOCK_SKEW_MS = 60_000;

/**
 * Whether a lease that is stored with its end is active at `now`. One that expires later than `ttl` and the maximum
 * skew allow was written by a wrong clock, or before the clock was stepped back: it is void.
 */
export function isLeaseActive({ expires }: Pick<Lease, 'expires'>, now: number, ttl: number): boolean {
  return expires > now && expires <= now + ttl + MAX_CLOCK_SKEW_MS;
}

/**
 * Leases of the processes that work on one log, whatever their read stores are: they are where the log is. An owner is
 * a name that nobody else uses; whoever asks in its name is that owner.
 *
 * Every engine passes `test/contracts/leases.ts`. Any method may raise `EngineUnavailable`. `now` is the caller's clock
 * (epoch ms). Every caller passes the same `ttl` (ms) for leases of the same name.
 */
export abstract class Leases {
  /**
   * Acquires or renews a lease; undefined while another owner has it. It ends `ttl` after its last renewal at the
   * latest; others may have to wait for up to twice that time, but not for an owner that `isGone`.
   */
  abstract lease(
    name: string,
    owner: string,
    now: number,
    ttl: number,
    isGone?: IsGone,
  ): Promise<Lease | undefined>;
  /** The owners of all active leases whose names start with a prefix. */
  abstract owners(prefix: string, now: number, ttl: number, isGone?: IsGone): Promise<readonly string[]>;
  /** Releases a lease. Does nothing if it was renewed, or acquired by another owner, since. */
  abstract release(lease: Lease): Promise<void>;
  abstract close(): Promise<void>;
}
