import fc from 'fast-check';
import { START } from '../../../src/kernel/event';
import {
  decide,
  evolve,
  type Product,
  withStock,
  encodeChange,
  encodeContent,
  parseChange,
  stockIn,
} from '../../../src/domain/products/feed';
import { Fingerprints } from '../../../src/domain/products/fingerprints';

const PRODUCT: Product = {
  name: 'Lamp',
  description: 'A lamp',
  productUrl: 'https://shop.example/lamp',
  productImage: { url: 'https://img.example/lamp.png' },
  categories: [],
};

interface Posted {
  readonly id: string;
  readonly price: number;
  readonly currency: string;
  readonly inStock?: number | undefined;
}

const posts = fc.record({
  id: fc.constantFrom('a', 'b'),
  price: fc.constantFrom(500, 900, 1200),
  currency: fc.constantFrom('EUR', 'EUR', 'SEK', ''),
  inStock: fc.constantFrom(undefined, 0, 3, 4),
});
const steps = fc.array(
  fc.oneof({ weight: 5, arbitrary: posts }, fc.record({ delist: fc.constantFrom('a', 'b') })),
  {
    maxLength: 25,
  },
);

/** What a post is to be recorded with, by all posts of the product before it. */
function expectedOf(before: readonly Posted[], { id, price, currency, inStock }: Posted) {
  const own = before.filter((one) => one.id === id);
  const last = own.at(-1);
  const fell = last !== undefined && currency !== '' && last.currency === currency && price < last.price;
  const isBack = last?.inStock === 0 && (inStock ?? 0) > 0;
  return { ...(fell ? { fellFrom: last.price } : {}), ...(isBack ? { backInStock: true } : {}) };
}

describe('what events record of falling prices and of stock (decisions N19)', () => {
  test('is what differs from the last post of the product, and the same for a state that was read from the log', () => {
    fc.assert(
      fc.property(steps, (all) => {
        let [state, folded] = [new Fingerprints(), new Fingerprints()];
        const before: Posted[] = [];
        for (const step of all) {
          const { json, digest } = encodeContent(
            'delist' in step
              ? PRODUCT
              : { ...PRODUCT, ...(step.inStock === undefined ? {} : { inStock: step.inStock }) },
          );
          const content = json.toString();
          const command =
            'delist' in step
              ? ({ kind: 'delist', product: { sourceProductId: step.delist } } as const)
              : ({
                  kind: 'post',
                  product: { sourceProductId: step.id, price: step.price, content: digest },
                } as const);
          const currency = 'delist' in step ? '' : step.currency;
          const decided = decide(state, command, currency);
          expect(decide(folded, command, currency)).toEqual(decided);
          if (decided === undefined) continue;
          const change = withStock(state, decided, 'content' in decided ? stockIn(content) : undefined);
          if (!('delist' in step)) {
            const { fellFrom, backInStock } = { fellFrom: undefined, backInStock: undefined, ...change };
            const told = { ...(fellFrom && { fellFrom }), ...(backInStock && { backInStock }) };
            expect(told).toEqual(expectedOf(before, step));
            before.push(step);
          }
          evolve(state, change);
          const event = encodeChange('x', change, '2026-01-05T08:00:00.000Z', content);
          const parsed = parseChange({ ...event, stream: 'feed-1', revision: 0, position: START });
          expect(parsed).toEqual(change);
          evolve(folded, parsed!);
          // As after a restart, from the file of the cache.
          if (before.length % 3 === 0) folded = Fingerprints.fromColumns(folded.columns());
          state = before.length % 4 === 0 ? Fingerprints.fromColumns(state.columns()) : state;
          expect(state.listed).toBe([...state.listedIds()].length);
        }
      }),
    );
  });
});
