import { type IsGone, isLeaseActive, type Lease, Leases } from '../../src/kernel/leases';
import { EngineUnavailable } from '../../src/kernel/event-log';

/** Who has which lease: what all processes share. */
export class LeaseTable {
  private readonly all = new Map<string, Lease>();

  lease(name: string, owner: string, now: number, ttl: number, isGone?: IsGone): Lease | undefined {
    const holder = this.holder(name, now, ttl, isGone);
    if (holder !== undefined && holder !== owner) return undefined;
    const lease = { name, owner, expires: now + ttl };
    this.all.set(name, lease);
    return lease;
  }

  holder(name: string, now: number, ttl: number, isGone?: IsGone): string | undefined {
    const lease = this.all.get(name);
    if (lease === undefined || !isLeaseActive(lease, now, ttl) || isGone?.(lease.owner) === true)
      return undefined;
    return lease.owner;
  }

  owners(prefix: string, now: number, ttl: number, isGone?: IsGone): readonly string[] {
    const names = [...this.all.keys()].filter((name) => name.startsWith(prefix)).sort();
    return [...new Set(names.flatMap((name) => this.holder(name, now, ttl, isGone) ?? []))];
  }

  release({ name, owner, expires }: Lease): void {
    const lease = this.all.get(name);
    if (lease?.owner === owner && lease.expires === expires) this.all.delete(name);
  }
}

/** Leases in memory, as one process has them. */
export class MemoryLeases extends Leases {
  private isClosed = false;

  constructor(private readonly table: LeaseTable) {
    super();
  }

  async lease(...asked: Parameters<LeaseTable['lease']>): Promise<Lease | undefined> {
    return this.open().lease(...asked);
  }

  async owners(...asked: Parameters<LeaseTable['owners']>): Promise<readonly string[]> {
    return this.open().owners(...asked);
  }

  async release(lease: Lease): Promise<void> {
    this.open().release(lease);
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }

  private open(): LeaseTable {
    if (this.isClosed) throw new EngineUnavailable('the table of leases is closed');
    return this.table;
  }
}

/** What a process has seen of a lease of another one, and since when (ms, of a clock that nobody can set). */
interface Seen {
  readonly lease: Lease;
  readonly since: number;
}

/** Who has which lease, of machines whose clocks say nothing about each other. */
export class LeaseRegister {
  readonly all = new Map<string, Lease>();
}

/** Leases in memory that end when a process has seen no sign of life for their time, whatever clocks show. */
export class SeenLeases extends Leases {
  private readonly seen = new Map<string, Seen>();
  private isClosed = false;

  constructor(
    private readonly register: LeaseRegister,
    private readonly clock: { readonly monotonic: () => number },
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
    const holder = this.holder(name, ttl, isGone);
    if (holder !== undefined && holder !== owner) return undefined;
    const lease = { name, owner, expires: now + ttl };
    this.register.all.set(name, lease);
    return lease;
  }

  async owners(prefix: string, _: number, ttl: number, isGone?: IsGone): Promise<readonly string[]> {
    const names = [...this.register.all.keys()].filter((name) => name.startsWith(prefix)).sort();
    return [...new Set(names.flatMap((name) => this.holder(name, ttl, isGone) ?? []))];
  }

  async release(lease: Lease): Promise<void> {
    this.requireOpen();
    const { owner, expires } = this.register.all.get(lease.name) ?? lease;
    if (owner === lease.owner && expires === lease.expires) this.register.all.delete(lease.name);
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }

  private holder(name: string, ttl: number, isGone?: IsGone): string | undefined {
    this.requireOpen();
    const lease = this.register.all.get(name);
    if (lease === undefined || isGone?.(lease.owner) === true) return undefined;
    const now = this.clock.monotonic();
    const seen = this.seen.get(name);
    if (seen?.lease !== lease) this.seen.set(name, { lease, since: now });
    else if (now - seen.since >= ttl) return undefined;
    return lease.owner;
  }

  private requireOpen(): void {
    if (this.isClosed) throw new EngineUnavailable('the table of leases is closed');
  }
}
