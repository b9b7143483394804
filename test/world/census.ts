/** What belongs to the world, or is made once: processes do not pay for it. */
const OUTSIDE = /^(Memory|SeenLeases|Simulation|Process|Random|Network|Line|Receivers|Clients|World|Host)/;

const isCollection = (value: unknown): value is Map<unknown, unknown> | Set<unknown> | readonly unknown[] =>
  value instanceof Map || value instanceof Set || Array.isArray(value);

/**
 * How many entries the maps, sets and lists have that objects keep, by the names of their classes and fields. Where
 * several objects of a class are reached, the sum of all; where they tell their size, that.
 */
export function censusOf(roots: readonly object[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const add = (name: string, size: number): void => {
    if (size > 0) counts.set(name, (counts.get(name) ?? 0) + size);
  };
  const seen = new Set<object>();
  const waiting: object[] = [];
  const reach = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return;
    seen.add(value);
    waiting.push(value);
  };
  for (const root of roots) reach(root);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (isCollection(next)) {
      if (next instanceof Map) for (const key of next.keys()) reach(key);
      for (const value of next.values()) reach(value);
      continue;
    }
    const prototype = Object.getPrototypeOf(next) as {
      readonly constructor: { readonly name: string };
    } | null;
    const name = prototype?.constructor.name ?? 'Object';
    // A receiver that was given up is forgotten with its last timer.
    if (OUTSIDE.test(name) || ('isGone' in next && next.isGone === true)) continue;
    const own = 'size' in next && typeof next.size === 'number' ? next.size : undefined;
    if (own !== undefined) add(`${name}.size`, own);
    for (const field of Object.keys(next)) {
      const value = (next as Readonly<Record<string, unknown>>)[field];
      if (own === undefined && name !== 'Object' && isCollection(value))
        add(`${name}.${field}`, 'size' in value ? value.size : value.length);
      reach(value);
    }
  }
  return counts;
}
