/** Numbers that look like chance and are the same for the same seed. */
export interface Random {
  /** At least 0, below 1. */
  next(): number;
  /** A whole number, both ends included. */
  between(least: number, most: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** `count` different elements in their order; all of them if there are no more. */
  some<T>(from: readonly T[], count: number): T[];
}

/** A generator of 32-bit state (mulberry32): good enough for sample data, for nothing else. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));
  const pick = <T>(from: readonly T[]): T => {
    const picked = from[between(0, from.length - 1)];
    if (picked === undefined) throw new RangeError('nothing to pick from');
    return picked;
  };
  return {
    next,
    between,
    pick,
    chance: (probability) => next() < probability,
    some: (from, count) => {
      let wanted = count;
      return from.filter((_, at) => {
        const taken = next() * (from.length - at) < wanted;
        if (taken) wanted -= 1;
        return taken;
      });
    },
  };
}
