import { type IsGone, isLeaseActive, type Lease, Leases, Watch } from '../../src/kernel/leases';
import { EngineUnavailable } from '../../src/kernel/event-log';

type IsActive = (lease: Lease) => boolean;

/** A clock of a process that nobody can set (ms). */
type Monotonic = () => number;

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

/** Leases in memory, as one process has them. */
export class MemoryLeases extends Leases {
  private readonly watch: Watch<Lease> | undefined;
  private isClosed = false;

  /**
   * With a clock of the process, leases end when it has seen no sign of life for their time: the system clocks of
   * machines say nothing about each other. Without one all processes share the system clock of a machine.
   */
  constructor(
    private readonly table: LeaseTable,
    private readonly monotonic?: Monotonic,
  ) {
    super();
    this.watch = monotonic && new Watch(monotonic);
  }

  async lease(
    name: string,
    owner: string,
    now: () => number,
    ttl: number,
    isGone?: IsGone,
  ): Promise<Lease | undefined> {
    const time = now();
    return this.open().lease({ name, owner, expires: time + ttl }, this.isActive(time, ttl), isGone);
  }

  /** As `ReadStore.holder`. */
  holder(name: string, now: number, ttl: number): string | undefined {
    const isActive = this.isActive(now, ttl);
    const isRenewed = (): boolean => this.watch === undefined || this.watch.hasChanged(name);
    return this.open().holder(
      name,
      (lease) => isActive(lease) && (isRenewed() || isLeaseActive(lease, now, ttl)),
    );
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
      const { watch, monotonic } = this;
      if (watch === undefined || monotonic === undefined) return isLeaseActive(lease, now, ttl);
      watch.saw(lease.name, lease, monotonic());
      return watch.unchangedMs(lease.name) < ttl;
    };
  }

  private open(): LeaseTable {
    if (this.isClosed) throw new EngineUnavailable('the table of leases is closed');
    return this.table;
  }
}
