import { batchesOf } from '../../src/runtime/concurrency';

const split = (items: readonly string[], count: number, size: number): readonly (readonly string[])[] => [
  ...batchesOf(items, { count, size }, ({ length }) => length),
];

describe('batches', () => {
  it('have all items in order, none of them empty', () => {
    expect(split(['a', 'b', 'c'], 2, 10)).toEqual([['a', 'b'], ['c']]);
    expect(split([], 2, 10)).toEqual([]);
  });

  it('are full by size before they exceed it; a larger item is alone', () => {
    expect(split(['aa', 'bb', 'c', 'dddddd', 'e'], 10, 4)).toEqual([['aa', 'bb'], ['c'], ['dddddd'], ['e']]);
  });

  it('are made on demand: no item is taken before it is needed', () => {
    const taken: string[] = [];
    function* items(): Generator<string> {
      for (const item of ['a', 'b', 'c', 'd']) yield (taken.push(item), item);
    }
    const batches = batchesOf(items(), { count: 1, size: 10 }, ({ length }) => length);
    expect(batches.next().value).toEqual(['a']);
    expect(taken).toEqual(['a', 'b']);
  });
});
