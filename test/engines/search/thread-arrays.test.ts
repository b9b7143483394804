import { SearchIndex } from '../../../src/engines/embedded/search/search-index';
import { BlobCache, type SharedArrays } from '../../../src/engines/embedded/search/storage';
import { newThreadPool, ThreadArrays } from '../../../src/engines/embedded/store/thread-arrays';
import { indexed, MemoryBlobs, type Placed } from './naive';
import { randomOf } from './random';
import { append, expectSame, finish, NEWEST, SCHEMA, someDocument, someQuery } from './some-index';

let pools = 0;

/** The arrays of two threads of a pool; in the first one from the beginning. */
function twoThreads() {
  const pool = newThreadPool(`test ${(pools += 1)}`);
  const first = new ThreadArrays(pool, 1);
  const opened = [first];
  const open = (number: number): ThreadArrays => {
    const other = new ThreadArrays(pool, number);
    opened.push(other);
    return other;
  };
  const close = (): void => {
    for (const one of opened) one.close();
  };
  return { pool, first, open, close };
}

const numbers = (): { readonly numbers: Uint32Array } => ({
  numbers: new Uint32Array(new SharedArrayBuffer(16)),
});

const never: typeof numbers = () => {
  throw new Error('made again');
};

test('threads have arrays in memory once: those that one has made', () => {
  const { first, open, close } = twoThreads();
  const [one, other] = [first.of('a'), open(2).of('a')];
  const made = one.get('x', numbers);
  made.numbers[3] = 7;
  const received = other.get('x', never);
  expect(received.numbers[3]).toBe(7);
  received.numbers[3] = 8;
  expect(made.numbers[3]).toBe(8);
  // Those of another file are others.
  expect(first.of('b').get('x', numbers).numbers[3]).toBe(0);
  close();
});

test('a thread that has missed what others had made has the same in the end', () => {
  const { first, open, close } = twoThreads();
  const one = first.of('a');
  one.get('x', numbers).numbers[3] = 7;
  const other = open(2).of('a');
  expect(other.get('x', numbers).numbers[3]).toBe(0);
  // Messages are received by a thread that is at rest, or about to make others.
  one.get('y', numbers);
  other.get('z', numbers);
  expect(other.get('x', never).numbers[3]).toBe(7);
  expect(one.get('x', never).numbers[3]).toBe(7);
  close();
});

test('arrays that a thread forgets are no longer in memory of others', () => {
  const { first, open, close } = twoThreads();
  const [one, other] = [first.of('a'), open(2).of('a')];
  one.get('5/x', numbers).numbers[3] = 7;
  one.get('55/x', numbers);
  other.get('5/x', never);
  one.forget('5/');
  other.get('y', numbers);
  expect(other.get('5/x', numbers).numbers[3]).toBe(0);
  other.get('55/x', never);
  close();
});

test('a thread that has died while it made arrays, or failed to, does not keep others from making them', () => {
  const { pool, first, open, close } = twoThreads();
  const [one, other] = [first.of('a'), open(2).of('a')];
  expect(() => one.get('x', never)).toThrow('made again');
  other.get('x', numbers);
  pool.maker[0] = 3;
  expect(one.get('y', numbers).numbers).toHaveLength(4);
  expect(pool.maker[0]).toBe(0);
  close();
});

test('indexes that share arrays answer as others do, make each once, and forget those of segments that were merged', () => {
  const { first, open, close } = twoThreads();
  const made: string[] = [];
  const noting = (arrays: SharedArrays): SharedArrays => ({
    get: (name, make) =>
      arrays.get(name, () => {
        made.push(name);
        return make();
      }),
    forget: (prefix) => {
      arrays.forget(prefix);
    },
  });
  const random = randomOf(5);
  const blobs = new MemoryBlobs();
  const writer = new SearchIndex(blobs, SCHEMA, new BlobCache(1_000_000));
  const [one, other] = [first, open(2)].map(
    (arrays) => new SearchIndex(blobs, SCHEMA, new BlobCache(1_000_000), { arrays: noting(arrays.of('a')) }),
  ) as [SearchIndex, SearchIndex];
  const documents: Placed[] = [];
  const add = (count: number): void => {
    const added = Array.from({ length: count }, (_, at) => ({
      ...someDocument(random, documents.length + at + 1),
      partition: 0,
    }));
    documents.push(...added);
    append(writer, 0, added);
  };
  const grouped = { group: { column: 'group', within: [{ column: 'price' }], members: 3 } };
  const queries = [
    { filter: { all: [] }, order: [NEWEST], offset: 0, size: 10, ...grouped },
    { filter: { token: 'w1' }, order: [{ column: 'price' }], offset: 0, size: 10, ...grouped },
    ...Array.from({ length: 8 }, () => someQuery(random)),
  ];
  const compare = (): void => {
    for (const query of queries) for (const index of [one, other]) expectSame(index, documents, query);
  };
  add(1_500);
  compare();
  expect(made.toSorted()).toEqual(['1/members/group', '1/order/price', '1/rows']);
  // Small segments have arrays of their own.
  add(200);
  add(1_500);
  compare();
  expect(made).toHaveLength(6);
  finish(writer.mergeAll(0));
  compare();
  expect(made).toHaveLength(9);
  const gone = first.of('a').get('1/rows', () => ({ gone: true }));
  expect(gone).toEqual({ gone: true });
  close();
});

test('rows that differ by more than 32 bits are found, alone and beside others', () => {
  const index = new SearchIndex(new MemoryBlobs(), SCHEMA, new BlobCache(1_000_000));
  const rowOf = (at: number): number => at + (at % 3) * 2 ** 32;
  const added = Array.from({ length: 1_100 }, (_, at) => ({
    ...indexed(SCHEMA, someDocument(randomOf(1), at)),
    row: rowOf(at),
  }));
  index.write([{ partition: 0, joining: [], deleted: [], added }]);
  const { rows } = index.query({ filter: { all: [] }, order: [], offset: 0, size: 2_000 });
  expect(rows.flat().sort((a, b) => a - b)).toEqual(added.map(({ row }) => row).sort((a, b) => a - b));
});
