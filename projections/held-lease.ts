import { type Lease, type ReadStore } from '../src/kernel/read-store';

/** A lease that one owner tries to hold for as long as it works. */
export class HeldLease {
  private lease: Lease | undefined;

  constructor(
    private readonly store: ReadStore,
    private readonly name: string,
    private readonly owner: string,
    private readonly ttlMs: number,
    private readonly now: () => number,
  ) {}

  /** Takes or renews it, where a third of its time has passed; false while another holds it. */
  async hold(): Promise<boolean> {
    const now = this.now();
    if (this.lease !== undefined && this.lease.expires - now > (this.ttlMs * 2) / 3) return true;
    this.lease = await this.store.lease(this.name, this.owner, now, this.ttlMs);
    return this.lease !== undefined;
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

  async release(): Promise<void> {
    const { lease } = this;
    this.lease = undefined;
    if (lease !== undefined) await this.store.release(lease);
  }
}
