/** A seeded pseudo-random generator. */
export interface Random {
  /** At least 0, below 1. */
  next(): number;
  /** An integer from `min` to `max`, inclusive. */
  between(min: number, max: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** `count` different elements in their original order, or all if there are fewer. */
  some<T>(from: readonly T[], count: number): T[];
}

/** mulberry32, a generator with 32 bits of state: good enough for sample data only. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
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
      let missing = count;
      return from.filter((_, at) => {
        const isPicked = next() * (from.length - at) < missing;
        if (isPicked) missing -= 1;
        return isPicked;
      });
    },
  };
}

/** Languages of the demo feeds. */
export type DemoLanguage = 'en' | 'de';

/** A text in both languages. */
export type Words = readonly [en: string, de: string];

/** `English / German` */
export function wordsIn(text: string): Words {
  const [en = '', de = ''] = text.split(' / ');
  return [en, de];
}

export function inLanguage(words: Words, language: DemoLanguage): string {
  return language === 'en' ? words[0] : words[1];
}
