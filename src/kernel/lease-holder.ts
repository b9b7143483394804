import { type Lease, type ReadStore } from './read-store';

/** A lease by name, with its time in ms. */
export interface LeaseKind {
  readonly name: string;
  readonly ms: number;
}

/** The process that holds it updates the live read models. */
export const PROJECTOR_LEASE = { name: 'projector', ms: 3000 } as const;

/**
 * The process that holds it builds generations. It outlasts most steps that block a thread, such as building one index of
 * a large generation; longer steps are survived too (`Sweeper`).
 */
export const REBUILD_LEASE = { name: 'rebuild', ms: 10_000 } as const;

/** The process that holds it runs the automations. */
export const AUTOMATION_LEASE = { name: 'automation', ms: 10_000 } as const;

/** The process that holds it matches events with subscriptions. */
export const MATCHER_LEASE = { name: 'matcher', ms: 30_000 } as const;

export type IsGone = (owner: string) => boolean;

/** Acquires, renews and releases a lease for one owner. */
export class LeaseHolder {
  private lease: Lease | undefined;
  private renewal: Promise<boolean> | undefined;

  constructor(
    private readonly store: ReadStore,
    private readonly name: string,
    private readonly owner: string,
    private readonly ttlMs: number,
    private readonly now: () => number,
    /** Whether an owner is gone for certain: its lease is not waited for. */
    private readonly isGone?: IsGone,
  ) {}

  /** When the lease ends unless it is renewed (epoch ms); 0 without one. */
  get expires(): number {
    return this.lease?.expires ?? 0;
  }

  /** Acquires the lease, or renews it once a third of its time has passed; false while another owner holds it. */
  async acquire(): Promise<boolean> {
    const left = (this.lease?.expires ?? 0) - this.now();
    // More than the TTL is left after the clock was stepped back: renew then too.
    if (left > (this.ttlMs * 2) / 3 && left <= this.ttlMs) return true;
    this.renewal ??= this.renew().finally(() => (this.renewal = undefined));
    return await this.renewal;
  }

  /**
   * Renews the lease on a timer while `work` runs, however long its steps block. To find out whether the lease was lost,
   * call `acquire`.
   */
  async renewDuring<Result>(work: () => Promise<Result>): Promise<Result> {
    // The timer retries a failed renewal; the next `acquire` of the caller raises the error.
    const timer = setInterval(() => void this.acquire().catch(() => undefined), this.ttlMs / 3);
    try {
      return await work();
    } finally {
      clearInterval(timer);
    }
  }

  /** Releases the lease. Waits for a pending renewal first, which would acquire it again. */
  async release(): Promise<void> {
    await this.renewal?.catch(() => undefined);
    const { lease } = this;
    this.lease = undefined;
    if (lease !== undefined) await this.store.release(lease);
  }

  private async renew(): Promise<boolean> {
    this.lease = await this.leaseFor(this.owner);
    if (this.lease === undefined && (await this.freeIfGone())) this.lease = await this.leaseFor(this.owner);
    return this.lease !== undefined;
  }

  private async leaseFor(owner: string): Promise<Lease | undefined> {
    return await this.store.lease(this.name, owner, this.now(), this.ttlMs);
  }

  /** Releases the lease of an owner that is gone, in its name: whoever has got the lease meanwhile keeps it. */
  private async freeIfGone(): Promise<boolean> {
    if (this.isGone === undefined) return false;
    const holder = await this.store.holder(this.name, this.now(), this.ttlMs);
    if (holder === undefined || holder === this.owner || !this.isGone(holder)) return false;
    const left = await this.leaseFor(holder);
    if (left !== undefined) await this.store.release(left);
    return left !== undefined;
  }
}
