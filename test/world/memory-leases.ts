import { type IsGone, isLeaseActive, type Lease, Leases } from '../../src/kernel/leases';
import { EngineUnavailable } from '../../src/kernel/event-log';

type IsActive = (lease: Lease) => boolean;

/** Who has which lease: what all processes share. */
export class LeaseTable {
  private readonly all = new Map<string, Lease>();

  lease({ name, owner, expires }: Lease, isActive: IsActive, isGone?: IsGone): Lease | undefined {
    const holder = this.holder(name, isActive, isGone);
    if (holder !== undefined && holder !== owner) return undefined;
    const lease = { name, owner, expires };
    this.all.set(name, lease);
    return lease;
  }

  holder(name: string, isActive: IsActive, isGone?: IsGone): string | undefined {
    const lease = this.all.get(name);
    if (lease === undefined || isGone?.(lease.owner) === true || !isActive(lease)) return undefined;
    return lease.owner;
  }

  owners(prefix: string, isActive: IsActive, isGone?: IsGone): readonly string[] {
    const names = [...this.all.keys()].filter((name) => name.startsWith(prefix)).sort();
    return [...new Set(names.flatMap((name) => this.holder(name, isActive, isGone) ?? []))];
  }

  release({ name, owner, expires }: Lease): void {
    const lease = this.all.get(name);
    if (lease?.owner === owner && lease.expires === expires) this.all.delete(name);
  }
}

/** What a process has seen of a lease, and since when (ms, of a clock that nobody can set). */
interface Seen {
  readonly lease: Lease;
  readonly since: number;
}

/** Leases in memory, as one process has them. */
export class MemoryLeases extends Leases {
  private readonly seen = new Map<string, Seen>();
  private isClosed = false;

  /**
   * With a clock of the process, leases end when it has seen no sign of life for their time: the system clocks of
   * machines say nothing about each other.
   */
  constructor(
    private readonly table: LeaseTable,
    private readonly clock?: { readonly monotonic: () => number },
  ) {
    super();
  }

  async lease(
    name: string,
    owner: string,
    now: number,
    ttl: number,
    isGone?: IsGone,
  ): Promise<Lease | undefined> {
    return this.open().lease({ name, owner, expires: now + ttl }, this.isActive(now, ttl), isGone);
  }

  async owners(prefix: string, now: number, ttl: number, isGone?: IsGone): Promise<readonly string[]> {
    return this.open().owners(prefix, this.isActive(now, ttl), isGone);
  }

  async release(lease: Lease): Promise<void> {
    this.open().release(lease);
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }

  private isActive(now: number, ttl: number): IsActive {
    return (lease) => {
      if (this.clock === undefined) return isLeaseActive(lease, now, ttl);
      const seen = this.seen.get(lease.name);
      const monotonic = this.clock.monotonic();
      if (seen?.lease === lease) return monotonic - seen.since < ttl;
      this.seen.set(lease.name, { lease, since: monotonic });
      return true;
    };
  }

  private open(): LeaseTable {
    if (this.isClosed) throw new EngineUnavailable('the table of leases is closed');
    return this.table;
  }
}
