import { type Generation, type ReadStore, type Target } from '../../src/kernel/read-store';

/** Numbers generations by collection, as Elasticsearch does: two collections have generations of the same number. */
export function numberedByCollection(store: ReadStore): ReadStore {
  /** Their numbers in the store; by collection, in the order of their own numbers, from 1. */
  const numbers = new Map<string, number[]>();
  const outside = (generation: Generation): Generation => {
    const own = numbers.get(generation.collection) ?? [];
    numbers.set(generation.collection, own);
    if (!own.includes(generation.number)) own.push(generation.number);
    return { ...generation, number: own.indexOf(generation.number) + 1 };
  };
  const inside = (collection: string, number: number): number => numbers.get(collection)?.[number - 1] ?? -1;
  const ofGeneration = (method: (generation: Generation) => unknown) => (generation: Generation) =>
    method({ ...generation, number: inside(generation.collection, generation.number) });
  const own: Partial<Record<string | symbol, (...args: never[]) => unknown>> = {
    create: async (...args: Parameters<ReadStore['create']>) => outside(await store.create(...args)),
    generations: async (...names: readonly string[]) =>
      (await store.generations(...names)).map((one) => outside(one)),
    finish: ofGeneration((one) => store.finish(one)),
    swap: ofGeneration((one) => store.swap(one)),
    retire: ofGeneration((one) => store.retire(one)),
    drop: ofGeneration((one) => store.drop(one)),
    size: ofGeneration((one) => store.size(one)),
  };
  const isTarget = (value: unknown): value is Target =>
    typeof value === 'object' && value !== null && 'collection' in value;
  return new Proxy(store, {
    get(_, name) {
      const member: unknown = Reflect.get(store, name, store);
      if (typeof member !== 'function') return member;
      const method = member.bind(store) as (...args: unknown[]) => unknown;
      return (
        own[name] ??
        ((first: unknown, ...others: unknown[]) =>
          isTarget(first) && first.generation !== undefined
            ? method({ ...first, generation: inside(first.collection, first.generation) }, ...others)
            : method(first, ...others))
      );
    },
  });
}
