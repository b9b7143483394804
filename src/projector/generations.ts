import { type CollectionSpec, type Generation, type ReadStore, type Target } from '../kernel/read-store';
import { forgetParked } from './parked';

/** Name of a generation: `products-g3`. */
export function nameOf({ collection, number }: Generation): string {
  return `${collection}-g${number}`;
}

/** Addresses exactly this generation, live or not. */
export function targetOf({ collection, number }: Generation): Target {
  return { collection, generation: number };
}

/** The live generation, if it has the version that the code declares. */
export async function liveGeneration(
  store: ReadStore,
  { name, version }: CollectionSpec,
): Promise<Generation | undefined> {
  const generations = await store.generations(name);
  return generations.find((generation) => generation.state === 'live' && generation.version === version);
}

/**
 * `live` if each projection has a live generation; otherwise `building` if a generation that is missing is being built, by
 * any process, and else `missing`.
 */
export async function availabilityOf(
  store: ReadStore,
  projections: readonly { readonly collection: CollectionSpec }[],
): Promise<'live' | 'building' | 'missing'> {
  let isComplete = true;
  for (const { collection } of projections) {
    if ((await liveGeneration(store, collection)) !== undefined) continue;
    const generations = await store.generations(collection.name);
    if (generations.some(({ state }) => state === 'building')) return 'building';
    isComplete = false;
  }
  return isComplete ? 'live' : 'missing';
}

/** Drops generations and their parked entries. */
export async function dropGenerations(store: ReadStore, generations: readonly Generation[]): Promise<void> {
  for (const generation of generations) {
    await forgetParked(store, nameOf(generation));
    await store.drop(generation);
  }
}
