import fc from 'fast-check';
import { formatPrice, parsePrice } from '../../../src/domain/products/product-fields';

describe('a posted price (Document 1, Limits: Price format; decisions P25)', () => {
  test.each([
    ['12', 1200],
    ['12.50', 1250],
    ['0', 0],
    ['0.01', 1],
    ['007.00', 700],
    [12.5, 1250],
    [12, 1200],
    [0.1, 10],
    [19.99, 1999],
    [1.15, 115],
    ['70368744177664.01', 7_036_874_417_766_401],
    ['90071992547409.91', Number.MAX_SAFE_INTEGER],
    [60_000_000_000_000.01, 6_000_000_000_000_001],
  ])('%p is %p minor units', (value, minor) => {
    expect(parsePrice(value)).toBe(minor);
  });

  test.each([
    ['12.5'],
    ['12.505'],
    ['12,50'],
    ['-1'],
    ['+1'],
    ['1e3'],
    ['1,000.00'],
    ['12.'],
    ['.50'],
    [' 12'],
    ['€12'],
    ['9'.repeat(16)],
    [12.505],
    // 70368744177664.02 is the same number.
    [70_368_744_177_664.01],
    ['90071992547409.92'],
    [-1],
    [Number.NaN],
    [Infinity],
    [1e300],
    [true],
    [null],
    [{}],
  ])('%p is none', (value) => {
    expect(parsePrice(value)).toBeUndefined();
  });

  test('what is written is read as the same amount, as text and as a number, or refused', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (minor) => {
        expect(parsePrice(formatPrice(minor))).toBe(minor);
        expect(minor < 2 ** 52 ? [minor] : [minor, undefined]).toContain(parsePrice(minor / 100));
      }),
    );
  });
});
