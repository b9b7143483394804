import { type ReadStore } from '../src/kernel/read-store';
import { dropGenerations } from './generations';
import { HeldLease, REBUILD_LEASE } from './held-lease';
import { type Projection } from './projection';

/**
 * Removes the generations that a rebuild has left half-built, and has the store free what dropped ones have left. To be
 * called by whoever projects. Whoever builds holds the lease of rebuilds: what there is without it is abandoned. The
 * generation swapped out last stays, until the next rebuild.
 */
export async function sweep(
  store: ReadStore,
  projections: readonly Projection[],
  owner: string,
  now: () => number,
): Promise<void> {
  const lease = new HeldLease(store, REBUILD_LEASE.name, `${owner} sweeping`, REBUILD_LEASE.ms, now);
  if (await lease.hold()) {
    try {
      for (const { collection } of projections) {
        const generations = await store.generations(collection.name);
        const abandoned = generations.filter(({ state }) => state === 'building');
        await lease.during(() => dropGenerations(store, abandoned));
      }
    } finally {
      await lease.release();
    }
  }
  await store.sweep();
}
