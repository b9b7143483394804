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

  async release(): Promise<void> {
    const { lease } = this;
    this.lease = undefined;
    if (lease !== undefined) await this.store.release(lease);
  }
}
