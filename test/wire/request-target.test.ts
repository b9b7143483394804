import fc from 'fast-check';
import { parseRequestTarget } from '../../src/wire/keys/request-target';

const taken = (target: string) => {
  const { path, extension, matrix, query } = parseRequestTarget(target);
  const pairs = (keys: typeof matrix) => keys.map(({ name, value }) => `${name}=${value ?? '?'}`);
  return [path, extension, pairs(matrix), pairs(query)];
};

describe('a request target (Document 1, Conventions 2 to 4; decisions A2, A3)', () => {
  it.each([
    ['/1.0/products;fid=1?token=a', '/1.0/products', undefined, ['fid=1'], ['token=a']],
    ['/1.0/products.xml;fid=1;q=a;q=b', '/1.0/products', 'xml', ['fid=1', 'q=a', 'q=b'], []],
    ['/1.0/productFeeds/12.json;programId=1,2', '/1.0/productFeeds/12', 'json', ['programid=1,2'], []],
    ['/1.0/products;fid=1/lastUpdated.csv;q=b', '/1.0/products/lastUpdated', 'csv', ['fid=1', 'q=b'], []],
    ['/1.0/products;fid=1.json', '/1.0/products', undefined, ['fid=1.json'], []],
    ['/1.0/products/?a=b?c=d&e=f', '/1.0/products', undefined, [], ['a=b?c=d', 'e=f']],
    ['/1.0/products/;q=a', '/1.0/products', undefined, ['q=a'], []],
    ['/1.0/products.json/', '/1.0/products', 'json', [], []],
    ['/1.0/products;;Q=a%20b+c;x=;=y;z;', '/1.0/products', undefined, ['q=a b c'], []],
    ['/1.0/products;q=%zz;%zz=a;u=%C3%BC', '/1.0/products', undefined, ['q=?', 'u=ü'], []],
    ['/1.0/products;field=color%3Dblue=1', '/1.0/products', undefined, ['field=color=blue=1'], []],
    ['/1.0/products.json%3Bfid%3D1,2%3bq%3da%2520b', '/1.0/products', 'json', ['fid=1,2', 'q=a b'], []],
    [
      '/1.0/productFeeds/12%3BprogramId%3D1.json',
      '/1.0/productFeeds/12',
      undefined,
      ['programid=1.json'],
      [],
    ],
    ['/1.0%3Bfid%3D1/products%2Fx%3Bq%3D%zz%20', '/1.0/products%2Fx', undefined, ['fid=1', 'q=?'], []],
    [
      '/1.0/products%3Bq%3D%ff%3Bfid%3D1%3Bx%3Da%253Bb',
      '/1.0/products',
      undefined,
      ['q=?', 'fid=1', 'x=a;b'],
      [],
    ],
    ['/1.0/products;q=a%3Bfid%3D2', '/1.0/products', undefined, ['q=a;fid=2'], []],
    ['/1.0/products?q=a%3Bfid%3D2', '/1.0/products', undefined, [], ['q=a;fid=2']],
    ['/1.0/schemas/A_v3_0.xsd', '/1.0/schemas/A_v3_0.xsd', undefined, [], []],
    ['https://api.example/1.0/products;q=a', '/1.0/products', undefined, ['q=a'], []],
    ['https://api.example', '/', undefined, [], []],
    ['/', '/', undefined, [], []],
    ['*', '*', undefined, [], []],
    ['', '/', undefined, [], []],
  ])('%s', (target, ...expected) => {
    expect(taken(target)).toEqual(expected);
  });

  it('keeps apart what stands in the place of a key without a value (decisions A2, A14)', () => {
    expect(parseRequestTarget('/1.0;X/claims.json;statusId=2;3;a=;=b;;%zz/?q=1&%C3%A4&').bare).toEqual([
      ...['x', '3', '%zz'],
      'ä',
    ]);
  });

  it('gives back the values of any keys, wherever they stand', () => {
    const value = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => text.isWellFormed());
    const keys = fc.array(fc.tuple(fc.stringMatching(/^[a-z]+$/), value));
    fc.assert(
      fc.property(keys, keys, fc.constantFrom('', '.json', '.xml'), (first, second, extension) => {
        const text = (pairs: readonly (readonly [string, string])[]) =>
          pairs.map(([name, content]) => `;${name}=${encodeURIComponent(content)}`).join('');
        const target = parseRequestTarget(`/1.0${text(first)}/products${extension}${text(second)}`);
        expect(target.path).toBe('/1.0/products');
        expect(target.matrix.map((key) => [key.name, key.value])).toEqual([...first, ...second]);
      }),
    );
  });

  it('may have its semicolons encoded with everything after them (decisions A2)', () => {
    const value = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => text.isWellFormed());
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.stringMatching(/^[a-z]+$/), value)), (pairs) => {
        const keys = pairs.map(([name, content]) => `;${name}=${encodeURIComponent(content)}`).join('');
        expect(parseRequestTarget(`/1.0/products.json${encodeURIComponent(keys)}`)).toEqual(
          parseRequestTarget(`/1.0/products.json${keys}`),
        );
      }),
    );
  });

  it('is taken apart whatever it is', () => {
    fc.assert(fc.property(fc.string(), (text) => parseRequestTarget(text).path.length > 0));
  });
});
