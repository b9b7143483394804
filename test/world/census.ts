/** What belongs to the world, or is made once: processes do not pay for it. */
const OUTSIDE = /^(Memory|SeenLeases|Simulation|Process|Random|Network|Line|Receivers|Clients|World|Host)/;

/**
 * How many entries the maps, sets and lists have that objects keep, by the names of their classes and fields. Where
 * several objects of a class are reached, the sum of all; where they tell their size, that.
 */
export function censusOf(roots: readonly unknown[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const add = (name: string, size: number): void => {
    if (size > 0) counts.set(name, (counts.get(name) ?? 0) + size);
  };
  const seen = new Set<unknown>();
  const waiting = [...roots];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next !== 'object' || next === null || seen.has(next)) continue;
    seen.add(next);
    const { name } = (
      Object.getPrototypeOf(next) as { readonly constructor: { readonly name: string } } | null
    )?.constructor ?? { name: 'Object' };
    // A receiver that was given up is forgotten with its last timer.
    if (OUTSIDE.test(name) || ('isGone' in next && next.isGone === true)) continue;
    if (next instanceof Map)
      waiting.push(...(next.keys() as Iterable<unknown>), ...(next.values() as Iterable<unknown>));
    else if (next instanceof Set || Array.isArray(next)) waiting.push(...(next as Iterable<unknown>));
    else {
      const own = (next as { readonly size?: unknown }).size;
      if (typeof own === 'number') add(`${name}.size`, own);
      for (const [field, value] of Object.entries(next)) {
        waiting.push(value);
        const isCollection = value instanceof Map || value instanceof Set || Array.isArray(value);
        if (isCollection && name !== 'Object' && typeof own !== 'number')
          add(`${name}.${field}`, 'size' in value ? value.size : value.length);
      }
    }
  }
  return counts;
}
