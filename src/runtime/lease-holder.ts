import { type IsGone, type Lease, type Leases, MAX_SET_BACK_MS } from '../kernel/leases';
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

/** The process that holds it fetches the sources of feeds. */
export const SOURCES_LEASE = { name: 'sources', ms: 10_000 } as const;

/** The process that holds it matches events with subscriptions. */
export const MATCHER_LEASE = { name: 'matcher', ms: 30_000 } as const;

/** Processes that send notifications: the lease of each begins with this name. */
export const NOTIFIER_MEMBERS = { name: 'notifier-member-', ms: 30_000 } as const;

/** Where a lease is: `Leases`, or a `ReadStore` for work on that store. */
type LeaseSource = Pick<Leases, 'lease' | 'release'>;

/** The system clock, and one that nobody can set. */
interface Clocks {
  readonly wall: number;
  readonly monotonic: number;
}

/** A lease, from when on it counts, when it was last looked at, and when it ends by the clock that nobody can set. */
interface Granted {
  readonly lease: Lease;
  readonly from: Clocks;
  seen: Clocks;
  end: number;
}

/** By how much two clocks may run apart between two looks at them (ms). */
const APART_MS = 100;

/** Acquires, renews and releases a lease for one owner. */
export class LeaseHolder {
  private granted: Granted | undefined;
  private renewal: Promise<boolean> | undefined;
  private termNumber = 0;

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
   * that nobody can set stands still while the machine is suspended. By how much the system clock was ahead of it at
   * one look is over for good: setting that clock back afterwards does not revive the lease. Neither does setting it
   * ahead again after it was set back so far that the lease is void for others (`isLeaseActive`).
   */
  get leftMs(): number {
    const { granted } = this;
    if (granted === undefined) return 0;
    const { seen } = granted;
    const now = this.clocks();
    const aheadMs = now.wall - seen.wall - (now.monotonic - seen.monotonic);
    if (aheadMs > APART_MS) granted.end -= aheadMs;
    if (now.wall < granted.from.wall - MAX_SET_BACK_MS) granted.end = Math.min(granted.end, now.monotonic);
    granted.seen = now;
    return granted.end - now.monotonic;
  }

  /** Another number once the lease has ended and was acquired again: meanwhile another owner may have had it. */
  get term(): number {
    return this.termNumber;
  }

  /** Acquires the lease, or renews it once a third of its time has passed; false while another owner holds it. */
  async acquire(): Promise<boolean> {
    // After the system clock was stepped back, what is stored is too late: renew then too.
    const isBack = this.granted !== undefined && this.clock.wall() < this.granted.from.wall;
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

  /** There are signs that another owner has it: it counts only once it has been acquired again. */
  doubt(): void {
    if (this.granted !== undefined) this.granted.end = -Infinity;
  }

  /** Releases the lease. Waits for a pending renewal first, which would acquire it again. */
  async release(): Promise<void> {
    await this.renewal?.catch(() => undefined);
    const { granted } = this;
    this.granted = undefined;
    if (granted !== undefined) await this.source.release(granted.lease);
  }

  private async renew(): Promise<boolean> {
    const hasEnded = this.leftMs <= 0;
    const asked = this.clock.monotonic();
    let from = this.clocks();
    const now = (): number => (from = this.clocks()).wall;
    const lease = await this.source.lease(this.name, this.owner, now, this.ttlMs, this.isGone);
    if (hasEnded) this.termNumber += 1;
    this.granted = lease && {
      ...{ lease, from, seen: from },
      end: asked + lease.expires - from.wall,
    };
    return lease !== undefined;
  }

  private clocks(): Clocks {
    return { wall: this.clock.wall(), monotonic: this.clock.monotonic() };
  }
}
