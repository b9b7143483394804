import { type Lease, type ReadStore } from './read-store';

/** Whoever has it keeps the live read models up to date. */
export const PROJECTOR_LEASE = { name: 'projector', ms: 3000 } as const;

/**
 * Whoever has it builds generations, one process at a time. It lasts longer than a thread is usually busy with one step,
 * such as building one index of a large generation: longer ones are survived too (`Sweeper`).
 */
export const REBUILD_LEASE = { name: 'rebuild', ms: 10_000 } as const;

/** A lease that one owner tries to hold for as long as it works. */
export class HeldLease {
  private lease: Lease | undefined;
  private renewal: Promise<boolean> | undefined;

  constructor(
    private readonly store: ReadStore,
    private readonly name: string,
    private readonly owner: string,
    private readonly ttlMs: number,
    private readonly now: () => number,
  ) {}

  /** Takes or renews it, where a third of its time has passed; false while another holds it. */
  async hold(): Promise<boolean> {
    const left = (this.lease?.expires ?? 0) - this.now();
    // More than its whole time is left of one that was taken before the clock was stepped back.
    if (left > (this.ttlMs * 2) / 3 && left <= this.ttlMs) return true;
    this.renewal ??= this.renew().finally(() => (this.renewal = undefined));
    return await this.renewal;
  }

  /**
   * Renews it by a timer for as long as `work` takes, however long single steps of it take; whether it is still
   * held, `hold` tells.
   */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    // A renewal that fails is tried again; the next `hold` raises what it raises.
    const timer = setInterval(() => void this.hold().catch(() => undefined), this.ttlMs / 3);
    try {
      return await work();
    } finally {
      clearInterval(timer);
    }
  }

  /** Gives it back, after a renewal that is under way: that would take it again. */
  async release(): Promise<void> {
    await this.renewal?.catch(() => undefined);
    const { lease } = this;
    this.lease = undefined;
    if (lease !== undefined) await this.store.release(lease);
  }

  private async renew(): Promise<boolean> {
    this.lease = await this.store.lease(this.name, this.owner, this.now(), this.ttlMs);
    return this.lease !== undefined;
  }
}
