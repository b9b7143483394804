import { type IsGone, type Lease, type Leases } from '../kernel/leases';
import { type Clock } from './clock';

/** A lease by name, with its time in ms. */
export interface LeaseKind {
  readonly name: string;
  readonly ms: number;
}

/** The process that holds it updates the live read models. */
export const PROJECTOR_LEASE = { name: 'projector', ms: 3000 } as const;

/**
 * The process that holds it builds generations. It outlasts most steps that block a thread, such as building one index
 * of a large generation; longer steps are survived too (`Sweeper`).
 */
export const REBUILD_LEASE = { name: 'rebuild', ms: 10_000 } as const;

/** The process that holds it runs the automations. */
export const AUTOMATION_LEASE = { name: 'automation', ms: 10_000 } as const;

/** The process that holds it matches events with subscriptions. */
export const MATCHER_LEASE = { name: 'matcher', ms: 30_000 } as const;

/** Where a lease is: `Leases`, or a `ReadStore` for work on that store. */
type LeaseSource = Pick<Leases, 'lease' | 'release'>;

/** A lease, and when it was asked for: by the system clock, and by one that nobody can set. */
interface Granted {
  readonly lease: Lease;
  readonly wall: number;
  readonly monotonic: number;
}

/** Acquires, renews and releases a lease for one owner. */
export class LeaseHolder {
  private granted: Granted | undefined;
  private renewal: Promise<boolean> | undefined;

  constructor(
    readonly clock: Clock,
    private readonly source: LeaseSource,
    private readonly name: string,
    /** A name that no other process uses. */
    private readonly owner: string,
    private readonly ttlMs: number,
    private readonly isGone?: IsGone,
  ) {}

  /**
   * For how long the lease is certain unless it is renewed (ms); not positive without one. Both clocks count: the one
   * that nobody can set stands still while the machine is suspended.
   */
  get leftMs(): number {
    if (this.granted === undefined) return 0;
    const { clock } = this;
    const { lease, wall, monotonic } = this.granted;
    return lease.expires - wall - Math.max(clock.wall() - wall, clock.monotonic() - monotonic);
  }

  /** Acquires the lease, or renews it once a third of its time has passed; false while another owner holds it. */
  async acquire(): Promise<boolean> {
    // After the system clock was stepped back, what is stored is too late: renew then too.
    const isBack = this.granted !== undefined && this.clock.wall() < this.granted.wall;
    if (this.leftMs > (this.ttlMs * 2) / 3 && !isBack) return true;
    this.renewal ??= this.renew().finally(() => (this.renewal = undefined));
    return await this.renewal;
  }

  /**
   * Renews the lease on a timer while `work` runs, however long its steps block. To find out whether the lease was
   * lost, call `acquire`.
   */
  async renewDuring<Result>(work: () => Promise<Result>): Promise<Result> {
    // The timer retries a failed renewal; the next `acquire` of the caller raises the error.
    const timer = this.clock.interval(this.ttlMs / 3, () => void this.acquire().catch(() => undefined));
    try {
      return await work();
    } finally {
      timer.cancel();
    }
  }

  /** Releases the lease. Waits for a pending renewal first, which would acquire it again. */
  async release(): Promise<void> {
    await this.renewal?.catch(() => undefined);
    const { granted } = this;
    this.granted = undefined;
    if (granted !== undefined) await this.source.release(granted.lease);
  }

  private async renew(): Promise<boolean> {
    const [wall, monotonic] = [this.clock.wall(), this.clock.monotonic()];
    const lease = await this.source.lease(this.name, this.owner, wall, this.ttlMs, this.isGone);
    this.granted = lease && { lease, wall, monotonic };
    return lease !== undefined;
  }
}
