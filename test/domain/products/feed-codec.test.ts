import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { type NewEvent, type RecordedEvent, START } from '../../../src/kernel/event';
import {
  type CurrencyAt,
  type ProductChange,
  encodeChange,
  parseChange,
  stockIn,
} from '../../../src/domain/products/feed';
import { digestOf } from '../../../src/domain/products/fingerprints';
import { anyCharacters } from '../../support/any-characters';

const AT = '2026-01-05T08:00:00.000Z';

/** Ids with and without what JSON escapes, some that look like the parts of an event. */
const ids = fc.oneof(
  anyCharacters({ maxLength: 12 }).map((id) => id.toWellFormed()),
  fc.constantFrom('sku-1', 'a"b', 'a\\', '","price":7,"at":"', ',"product":', '{', 'ü', '😀'),
);
const prices = fc.nat({ max: Number.MAX_SAFE_INTEGER });
/** Early versions did not record it. */
const currencies = fc.constantFrom('', 'EUR', 'BGN');
const contents = fc.record({ name: fc.string(), description: fc.constantFrom('d', ',"product":{"x":1}') });
/** What an advertiser may write anywhere in a text. */
const MISLEADING = ['"inStock":0', ',"inStock":7,', '\\"availability":"out of stock"', '{"inStock":0}'];

function recorded(event: NewEvent): RecordedEvent {
  return { ...event, stream: 'feed-1', revision: 0, position: START };
}

describe('the changes parsed from events', () => {
  test('are those that were encoded, for all ids and contents', () => {
    const changes = fc.oneof(
      fc.record(
        {
          type: fc.constantFrom('ProductListed', 'ProductRevised'),
          sourceProductId: ids,
          price: prices,
          currency: currencies,
          backInStock: fc.constant(true),
        },
        { requiredKeys: ['type', 'sourceProductId', 'price', 'currency'] },
      ),
      fc.record({
        type: fc.constant('ProductRepriced'),
        sourceProductId: ids,
        price: prices,
        currency: currencies,
      }),
      fc.record({
        type: fc.constantFrom('ProductListed', 'ProductRevised', 'ProductRepriced'),
        sourceProductId: ids,
        price: prices,
        currency: fc.constantFrom('EUR', 'BGN'),
        fellFrom: prices,
      }),
      fc.record({ type: fc.constant('ProductDelisted'), sourceProductId: ids }),
    );
    fc.assert(
      fc.property(changes, contents, (decided, product) => {
        const json = JSON.stringify(product);
        const change = {
          ...decided,
          ...('price' in decided && isListing(decided) && { content: digestOf(json) }),
        };
        expect(parseChange(recorded(encodeChange(randomUUID(), change as ProductChange, AT, json)))).toEqual(
          change,
        );
      }),
    );
  });

  test('are parsed from any JSON of the same meaning', () => {
    const heads = fc
      .record({
        sourceProductId: ids,
        price: fc.oneof(prices, fc.double({ noNaN: true, noDefaultInfinity: true })),
        at: fc.oneof(fc.constant(AT), fc.string()),
        currency: fc.constantFrom('EUR', 'BGN'),
        more: fc.option(fc.string(), { nil: undefined }),
      })
      .chain((head) => fc.shuffledSubarray(Object.entries(head), { minLength: 5 }).map(Object.fromEntries));
    const spaces = fc.constantFrom('', ' ', '\n');
    fc.assert(
      fc.property(heads, contents, spaces, fc.boolean(), (head, product, space, hasDigest) => {
        const text = JSON.stringify(head).slice(0, -1);
        const { sourceProductId, price, currency } = JSON.parse(`${text}}`) as Record<string, unknown>;
        const event = { id: 'x', meta: '{}', data: `${text}${space}}` };
        expect(parseChange(recorded({ ...event, type: 'ProductRepriced' }))).toEqual({
          type: 'ProductRepriced',
          sourceProductId,
          price,
          currency,
        });
        expect(parseChange(recorded({ ...event, type: 'ProductDelisted' }))).toEqual({
          type: 'ProductDelisted',
          sourceProductId,
        });
        const json = JSON.stringify(product);
        const content = hasDigest ? '0f'.repeat(16) : digestOf(json);
        const listed = {
          id: 'x',
          type: 'ProductListed',
          data: `${text}${space},"product":${json}}`,
          meta: hasDigest ? `{${space}"content":"${content}"}` : '{}',
        };
        expect(parseChange(recorded(listed))).toEqual({
          type: 'ProductListed',
          sourceProductId,
          price,
          currency,
          content,
        });
      }),
    );
  });

  test.each([
    [{ inStock: 0 }, 'out'],
    [{ inStock: 12 }, 'in'],
    [{ availability: 'out_of_stock' }, 'out'],
    [{ availability: 'In Stock' }, 'in'],
    [{ availability: 'in 3 days' }, undefined],
    [{ availability: 'in stock', inStock: 0 }, 'out'],
    [{}, undefined],
  ] as const)('have the stock that a content says: %j (decisions N19)', (told, stock) => {
    const name = MISLEADING.join(' ');
    const fields = MISLEADING.map((value) => ({ name: value, value }));
    expect(stockIn(JSON.stringify({ name, ...told, fields }))).toBe(stock);
  });

  test('have the currency of their position where events do not record it (decisions P10)', () => {
    for (const type of ['ProductListed', 'ProductRepriced'] as const) {
      const change = { type, sourceProductId: 'a', price: 1, content: digestOf('{}') };
      const parsed = (currency: string, currencyAt?: CurrencyAt) =>
        parseChange(recorded(encodeChange(randomUUID(), { ...change, currency }, AT, '{}')), currencyAt);
      const atPosition: CurrencyAt = (position) => (position === START ? 'BGN' : undefined);
      expect(parsed('EUR', atPosition)).toMatchObject({ currency: 'EUR' });
      expect(parsed('', atPosition)).toMatchObject({ currency: 'BGN' });
      expect(parsed('')).toMatchObject({ currency: '' });
    }
  });
});

function isListing({ type }: { readonly type: string }): boolean {
  return type === 'ProductListed' || type === 'ProductRevised';
}
