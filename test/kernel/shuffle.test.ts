import fc from 'fast-check';
import { inRandomOrder } from '../support/random-order';
import { SHUFFLE_PRIME, shuffler } from '../../src/kernel/query';

describe('the random order of a seed', () => {
  it('never changes', () => {
    expect([1, 2, 3, 4, 5].map(shuffler(7))).toEqual([59112719, 65706719, 51568015, 7474241, 39420471]);
  });

  it('follows its formula in integers of any size (decisions V6)', () =>
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.uniqueArray(fc.maxSafeInteger()), (seed, values) => {
        const place = shuffler(seed);
        expect(values.toSorted((a, b) => place(a) - place(b))).toEqual(inRandomOrder(seed, values));
      }),
    ));

  it('gives no two values the same rank', () => {
    const place = shuffler(1);
    expect(new Set(Array.from({ length: 50_000 }, (_, value) => place(value))).size).toBe(50_000);
  });

  it('differs by seed, and any value may come first', () => {
    const values = Array.from({ length: 10 }, (_, value) => value);
    const orderOf = (seed: number) => {
      const place = shuffler(seed);
      return values.toSorted((a, b) => place(a) - place(b));
    };
    const orders = Array.from({ length: 500 }, (_, seed) => orderOf(seed));
    expect(new Set(orders.map(String)).size).toBeGreaterThan(490);
    for (const value of values) {
      const first = orders.filter(([one]) => one === value).length;
      expect(first).toBeGreaterThan(25);
      expect(first).toBeLessThan(80);
    }
  });

  it('has a rank for every integer', () =>
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.maxSafeInteger(), (seed, value) => {
        const place = shuffler(seed)(value);
        expect(Number.isSafeInteger(place) && place >= 0 && place < SHUFFLE_PRIME).toBe(true);
      }),
    ));
});
