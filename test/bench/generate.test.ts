import fc from 'fast-check';
import { generateProducts } from '../../bench/generate';
import { type PostedProduct } from '../../src/demo/products';
import { checkProduct } from '../../src/services/products/product-check';
import { anyProduct } from '../support/products';
import { testRealProducts } from '../support/real-products';

function refused(products: Iterable<PostedProduct>): readonly unknown[] {
  return [...products]
    .map((product) => checkProduct({ ...product }, () => false))
    .filter((checked) => 'faults' in checked);
}

describe('Generated products', () => {
  it('are accepted unchanged', () => {
    expect(refused(generateProducts({ count: 500 }))).toEqual([]);
  });

  it('are the same for the same seed; a larger count only adds more', () => {
    const some = [...generateProducts({ count: 20, seed: 5 })];
    expect([...generateProducts({ count: 30, seed: 5 })].slice(0, 20)).toEqual(some);
    expect([...generateProducts({ count: 20, seed: 6 })]).not.toEqual(some);
  });

  it.each([700, 1000, 4000])('have about %i bytes as JSON', (bytes) => {
    const sizes = [...generateProducts({ count: 200, bytes })].map(
      (product) => JSON.stringify(product).length,
    );
    expect(sizes.reduce((sum, size) => sum + size, 0) / 200 / bytes).toBeCloseTo(1, 1);
  });

  it('share some EANs with those of another seed', () => {
    const eans = (seed: number) => new Set([...generateProducts({ count: 200, seed })].map(({ ean }) => ean));
    const others = eans(2);
    const shared = [...eans(1)].filter((ean) => others.has(ean));
    expect(shared.length).toBeGreaterThanOrEqual(50);
    expect(shared.length).toBeLessThan(100);
  });
});

describe('Arbitrary products', () => {
  it('are always accepted', () => {
    fc.assert(fc.property(anyProduct(), (product) => refused([product]).length === 0));
  });
});

describe('The real products', () => {
  testRealProducts('are taken as they are, in two feeds that share some EANs', ([first, second]) => {
    expect(first.products.length + second.products.length).toBe(3291 + 329 + 330);
    expect(refused([...first.products, ...second.products])).toEqual([]);
    const eans = new Set(first.products.map(({ ean }) => ean));
    const shared = second.products.filter(({ ean }) => ean !== undefined && eans.has(ean));
    expect(shared.length).toBeGreaterThan(200);
  });
});
