import { type Generation, type ReadStore } from '../kernel/read-store';
import { dropGenerations, nameOf } from './generations';
import { LeaseHolder, REBUILD_LEASE } from '../kernel/lease-holder';
import { type Projection } from './projection';

const SWEEP_MS = 60_000;

/**
 * Removes the generations that a rebuild has left half-built, and has the store free what dropped ones have left. For
 * whoever projects. A generation is abandoned when two sweeps in succession, a minute apart, find it half-built and
 * nobody holding the lease of rebuilds: once is not enough, since a healthy rebuild whose process was stopped for a
 * while has lost its lease until it renews it. The generation swapped out last stays, until the next rebuild.
 */
export class Sweeper {
  private sweptAt = -Infinity;
  /** Names of the generations that the last sweep found half-built without anybody holding the lease. */
  private unheld: ReadonlySet<string> = new Set();

  constructor(
    private readonly store: ReadStore,
    private readonly projections: readonly Projection[],
    private readonly owner: string,
    private readonly now: () => number,
  ) {}

  /** Sweeps, unless it did so less than a minute ago. */
  async sweep(): Promise<void> {
    const now = this.now();
    // The clock may have been stepped back meanwhile.
    if (Math.abs(now - this.sweptAt) < SWEEP_MS) return;
    this.sweptAt = now;
    const before = this.unheld;
    this.unheld = new Set();
    this.unheld = await this.findUnheld();
    if ([...this.unheld].some((name) => before.has(name))) await this.drop(before);
    await this.store.sweep();
  }

  private async findUnheld(): Promise<ReadonlySet<string>> {
    // In this order: what is begun in between belongs to whoever holds the lease then.
    const building = await this.building();
    const holder = await this.store.holder(REBUILD_LEASE.name, this.now(), REBUILD_LEASE.ms);
    return new Set(holder === undefined ? building.map(nameOf) : []);
  }

  /** Drops those of these names that are still half-built, unless somebody has taken the lease. */
  private async drop(names: ReadonlySet<string>): Promise<void> {
    const owner = `${this.owner} sweeping`;
    const lease = new LeaseHolder(this.store, REBUILD_LEASE.name, owner, REBUILD_LEASE.ms, this.now);
    if (!(await lease.acquire())) return;
    try {
      const abandoned = (await this.building()).filter((generation) => names.has(nameOf(generation)));
      await lease.renewDuring(() => dropGenerations(this.store, abandoned));
    } finally {
      await lease.release();
    }
  }

  private async building(): Promise<readonly Generation[]> {
    const all = await Promise.all(
      this.projections.map(({ collection }) => this.store.generations(collection.name)),
    );
    return all.flat().filter(({ state }) => state === 'building');
  }
}
