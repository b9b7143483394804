import { type CollectionSpec, type Generation, type ReadStore } from '../kernel/read-store';
import { forgetParked } from './parked';

/** Name of a generation: `products-g3`. */
export function nameOf({ collection, number }: Generation): string {
  return `${collection}-g${number}`;
}

/** The live generation, if it has the version that the code declares. */
export async function liveGeneration(
  store: ReadStore,
  { name, version }: CollectionSpec,
): Promise<Generation | undefined> {
  const generations = await store.generations(name);
  return generations.find((generation) => generation.state === 'live' && generation.version === version);
}

/** Drops generations and their parked entries. */
export async function dropGenerations(store: ReadStore, generations: readonly Generation[]): Promise<void> {
  for (const generation of generations) {
    await forgetParked(store, nameOf(generation));
    await store.drop(generation);
  }
}
