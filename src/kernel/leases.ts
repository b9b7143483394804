/** An exclusive right until `expires` (epoch ms, by the clock of whoever asked for it). */
export interface Lease {
  readonly name: string;
  readonly owner: string;
  readonly expires: number;
}

/** Whether an owner is gone for certain: its leases are not waited for. */
export type IsGone = (owner: string) => boolean;

/** By how much (ms) the system clock of a machine may be set back without ending leases. */
export const MAX_SET_BACK_MS = 60_000;

/**
 * Whether a lease that is stored with its end is active at `now`, by the clock of the machine that all its owners
 * share. One that expires too late was written before that clock was set back: it is void.
 */
export function isLeaseActive({ expires }: Pick<Lease, 'expires'>, now: number, ttl: number): boolean {
  return expires > now && expires <= now + ttl + MAX_SET_BACK_MS;
}

/**
 * A state as it was seen: since when, when it was last asked for and still the same, and whether it has ever changed.
 */
interface Seen<State> {
  readonly state: State;
  readonly since: number;
  readonly until: number;
  readonly hasChanged: boolean;
}

/**
 * What a process has seen of states that others renew. Whoever renews one has stopped once it was not seen to change
 * for the time of a lease, whatever the clocks of other machines say.
 */
export class Watch<State> {
  private readonly seen = new Map<string, Seen<State>>();

  /** `monotonic`: a clock that nobody can set (ms). */
  constructor(private readonly monotonic: () => number) {}

  /** A state was read; `asked`: when it was asked for. */
  saw(name: string, state: State, asked: number): void {
    const known = this.seen.get(name);
    if (known?.state === state) this.seen.set(name, { ...known, until: asked });
    else
      this.seen.set(name, { state, since: this.monotonic(), until: asked, hasChanged: known !== undefined });
  }

  /** For how long the state was seen unchanged (ms), at least. */
  unchangedMs(name: string): number {
    const { since, until } = this.seen.get(name) ?? { since: 0, until: 0 };
    return Math.max(0, until - since);
  }

  hasChanged(name: string): boolean {
    return this.seen.get(name)?.hasChanged === true;
  }

  /** Forgets all other states. */
  retain(names: ReadonlySet<string>): void {
    for (const name of this.seen.keys()) if (!names.has(name)) this.seen.delete(name);
  }
}

/**
 * Leases of the processes that work on one log, whatever their read stores are: they are where the log is. An owner is
 * a name that nobody else uses; whoever asks in its name is that owner.
 *
 * Every engine passes `test/contracts/leases.ts`. Any method may raise `EngineUnavailable`. `now` is the caller's clock
 * (epoch ms); `lease` looks at it once it has read what is stored, since the clock may be set while a request is under
 * way. Every caller passes the same `ttl` (ms) for leases of the same name.
 */
export abstract class Leases {
  /**
   * Acquires or renews a lease; undefined while another owner has it. It ends `ttl` after its last renewal at the
   * latest; others may have to wait for up to twice that time, but not for an owner that `isGone`.
   */
  abstract lease(
    name: string,
    owner: string,
    now: () => number,
    ttl: number,
    isGone?: IsGone,
  ): Promise<Lease | undefined>;
  /** The owners of all active leases whose names start with a prefix. */
  abstract owners(prefix: string, now: number, ttl: number, isGone?: IsGone): Promise<readonly string[]>;
  /** Releases a lease. Does nothing if it was renewed, or acquired by another owner, since. */
  abstract release(lease: Lease): Promise<void>;
  abstract close(): Promise<void>;
}
