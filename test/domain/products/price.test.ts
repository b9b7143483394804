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

  test('what is written is read as the same amount, as text and as a number', () => {
    fc.assert(
      fc.property(fc.nat({ max: 10 ** 12 }), (minor) => {
        expect(parsePrice(formatPrice(minor))).toBe(minor);
        expect(parsePrice(minor / 100)).toBe(minor);
      }),
    );
  });
});
