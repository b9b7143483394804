import { describeUnknown, INTEGER, type KeyTable, TEXT, unknownKeys } from '../../src/wire/keys/keys';
import { parseRequestTarget } from '../../src/wire/keys/request-target';

const table = {
  fid: { type: INTEGER },
  mode: { type: TEXT },
  brand: { type: TEXT, aliases: ['brands'] },
  minPrice: { type: INTEGER, aliases: ['pricemin'] },
  groupOffersByProduct: { type: TEXT },
} as const satisfies KeyTable;

const unknown = (target: string) => unknownKeys(table, parseRequestTarget(`/1.0/products${target}`));

describe('unknown keys (decisions A14)', () => {
  it.each([
    ['mod', 'mode'],
    ['moed', 'mode'],
    ['mdoes', undefined],
    ['brnd', 'brand'],
    ['BRANDD', 'brand'],
    ['bradns', 'brand'],
    ['min_price', 'minPrice'],
    ['min-price', 'minPrice'],
    ['minprise', 'minPrice'],
    ['mniprise', 'minPrice'],
    ['mniprisee', undefined],
    ['price_min', 'minPrice'],
    ['groupOfferByProducts', 'groupOffersByProduct'],
    ['prety', 'pretty'],
    ['fdi', undefined],
    ['f_id', 'fid'],
    ['colour', undefined],
    ['id', undefined],
  ])('%s is a misspelling of %s', (name, meant) => {
    expect(unknown(`;${name}=1`).map((key) => key.meant)).toEqual([meant]);
  });

  it('are found in path and query, in the order they were sent', () => {
    expect(unknown(';fid=1;a=1;Brands=x?MODE=b&c=%20').map(({ name }) => name)).toEqual(['a', 'c']);
  });

  it.each([
    ['?token=a&jsonp=f', []],
    [';pretty=true?pretty=true', []],
    ['?_=1700000000000&utm_source=mail&gclid=x', []],
    ['?jsonp=f&callback=g', []],
    ['?callback=g', ['callback']],
    [';colour=;;fid;BRANDS?mode&token', []],
    [';fid=1;2;%C3%A4?shape', ['2', 'ä', 'shape']],
  ])('do not include what every request may have: %s', (target, names) => {
    expect(unknown(target).map(({ name }) => name)).toEqual(names);
  });

  it('are described with the value, the key that was meant, and all keys', () => {
    const described = unknown(`;mod=rep%20lace;colour=${'x'.repeat(200)}`).map((key) =>
      describeUnknown(key, table, key.name === 'colour'),
    );
    const names = 'fid, mode, brand, minPrice, groupOffersByProduct, pretty';
    expect(described).toEqual([
      `mod=rep lace: unknown key; did you mean mode? Expected one of: ${names}`,
      `colour=${'x'.repeat(100)}: a key of other operations only; expected one of: ${names}`,
    ]);
  });
});
