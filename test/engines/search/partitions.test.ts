import { type IndexQuery } from '../../../src/engines/embedded/search/query';
import { SearchIndex } from '../../../src/engines/embedded/search/search-index';
import { BlobCache, DamagedIndex } from '../../../src/engines/embedded/search/storage';
import { indexed, MemoryBlobs, type Placed, type SomeDocument } from './naive';
import { SCHEMA, NEWEST, append, remove, finish, SHARING, placedIn } from './some-index';

describe('partitions that share segments', () => {
  const documentOf = (partition: number, at: number): Placed =>
    placedIn(partition, {
      id: `${partition}-${at}`,
      row: partition * 1_000 + at,
      tokens: 'w0',
      numbers: { modified: at },
    });
  const totalIn = (index: SearchIndex, ...partitions: readonly number[]): number =>
    index.query({ filter: { token: 'w0' }, order: [], offset: 0, size: 0 }, new Set(partitions)).total;

  test('add one segment per write, and get their own only when they are large', () => {
    const index = new SearchIndex(new MemoryBlobs(), SHARING, new BlobCache(0), { shared: 5 });
    const added = (partition: number, count: number, from = 0) => ({
      partition,
      joining: [],
      deleted: [],
      added: Array.from({ length: count }, (_, at) => indexed(SHARING, documentOf(partition, from + at))),
    });
    index.write(Array.from({ length: 1_000 }, (_, partition) => added(partition, 2)));
    expect(index.size()).toEqual({ docs: 2_000, segments: 1 });
    index.write([added(7, 3, 2), added(8, 1, 2)]);
    expect(index.size()).toEqual({ docs: 2_004, segments: 2 });
    index.write([added(7, 1, 5)]);
    expect(index.size()).toEqual({ docs: 2_005, segments: 3 });
    // From now on.
    index.write([added(7, 1, 6)]);
    for (let merge = index.mergeAll(); merge !== undefined; merge = index.mergeAll()) finish(merge);
    expect(index.size()).toEqual({ docs: 2_006, segments: 2 });
    expect([totalIn(index, 7), totalIn(index, 8), totalIn(index, 7, 8, 9), totalIn(index, 1_000)]).toEqual([
      7, 3, 12, 0,
    ]);
    expect(totalIn(index, ...Array.from({ length: 500 }, (_, at) => at * 2))).toBe(1_001);
    // No number stands for the shared segments.
    expect(totalIn(index, 0.5)).toBe(0);
    remove(index, 7, ['7-0', '7-6']);
    expect([totalIn(index, 7), totalIn(index, 8)]).toEqual([5, 3]);
  });

  test.each([
    ['written', false],
    ['recorded and built', true],
  ])('stay in these as long as they are small, however often all is replaced: %s', (_, isBuilt) => {
    const index = new SearchIndex(new MemoryBlobs(), SHARING, new BlobCache(0), { shared: 5 });
    const documents = (count: number) => Array.from({ length: count }, (_, at) => documentOf(7, at));
    const replace = (before: number, count: number) => {
      const change = {
        ...{ partition: 7, joining: [] },
        deleted: documents(before).map(({ id }) => id),
        added: documents(count).map((one) => indexed(SHARING, one)),
      };
      if (isBuilt) index.record([change]);
      else index.write([change]);
      for (let merge = index.build(true); merge !== undefined; merge = index.build(true)) finish(merge);
    };
    index.write([{ partition: 8, joining: [], deleted: [], added: [indexed(SHARING, documentOf(8, 0))] }]);
    replace(0, 4);
    for (let round = 0; round < 3; round += 1) replace(4, 4);
    replace(4, 5);
    // A partition of its own is not merged with others.
    for (let merge = index.mergeAll(); merge !== undefined; merge = index.mergeAll()) finish(merge);
    expect(index.size()).toEqual({ docs: 6, segments: 1 });
    expect([totalIn(index, 7), totalIn(index, 8)]).toEqual([5, 1]);
    replace(5, 6);
    for (let merge = index.mergeAll(); merge !== undefined; merge = index.mergeAll()) finish(merge);
    expect(index.size()).toEqual({ docs: 7, segments: 2 });
    expect([totalIn(index, 7), totalIn(index, 8)]).toEqual([6, 1]);
  });
});

describe('with many partitions', () => {
  /** Counts what is read and written. */
  class CountedBlobs extends MemoryBlobs {
    counted = { blobs: 0, bytes: 0 };

    override get(name: string): Uint8Array | undefined {
      const bytes = super.get(name);
      this.count(bytes?.length ?? 0);
      return bytes;
    }

    override all(prefix: string): ReturnType<MemoryBlobs['all']> {
      const found = super.all(prefix);
      for (const [, { length }] of found) this.count(length);
      return found;
    }

    override put(name: string, bytes: Uint8Array): void {
      super.put(name, bytes);
      this.count(bytes.length);
    }

    private count(bytes: number): void {
      this.counted = { blobs: this.counted.blobs + 1, bytes: this.counted.bytes + bytes };
    }
  }

  const documentOf = (partition: number, at: number): SomeDocument => ({
    id: `${partition}-${at}`,
    row: partition * 100 + at,
    tokens: 'w0',
    numbers: { price: at, modified: at },
  });

  function filled(partitions: number): { readonly blobs: CountedBlobs; readonly index: SearchIndex } {
    const blobs = new CountedBlobs();
    const index = new SearchIndex(blobs, SCHEMA, new BlobCache(0));
    for (let partition = 0; partition < partitions; partition += 1)
      append(index, 1_000 + partition, [documentOf(partition, 0), documentOf(partition, 1)]);
    return { blobs, index };
  }

  test('a write, a merge and a search of one partition read and write what that has, however many others there are', () => {
    // Numbers of segments have as many digits in both.
    const [few, many] = [1_100, 4_400].map((partitions) => {
      const { blobs, index } = filled(partitions);
      const reader = new SearchIndex(blobs, SCHEMA, new BlobCache(0));
      const query: IndexQuery = { filter: { token: 'w0' }, order: [NEWEST], offset: 0, size: 10 };
      const searched = new Set([1_500]);
      expect(reader.query(query, searched).total).toBe(2);
      return ['write', 'merge', 'search'].map((work) => {
        blobs.counted = { blobs: 0, bytes: 0 };
        if (work === 'write') append(index, 1_500, [documentOf(500, 1), documentOf(500, 2)]);
        else if (work === 'merge') finish(index.merge(2));
        else expect(reader.query(query, searched).total).toBe(3);
        return { work, ...blobs.counted };
      });
    });
    expect(few).toMatchObject([{ work: 'write' }, { work: 'merge' }, { work: 'search' }]);
    expect(many).toEqual(few);
  });

  test('a reader sees what others change, few partitions or many, and a partition that is lost is refused', () => {
    const { blobs, index } = filled(700);
    const reader = new SearchIndex(blobs, SCHEMA, new BlobCache(0));
    const totalIn = (searching: SearchIndex, partitions?: ReadonlySet<number>): number =>
      searching.query({ filter: { token: 'w0' }, order: [], offset: 0, size: 0 }, partitions).total;
    expect(totalIn(reader)).toBe(1_400);
    let expected = 1_400;
    for (const changed of [1, 499, 500, 501, 700]) {
      for (let partition = 0; partition < changed; partition += 1)
        append(index, 1_000 + partition, [documentOf(partition, expected)]);
      expected += changed;
      expect(totalIn(reader)).toBe(expected);
    }
    for (let merge = index.mergeAll(); merge !== undefined; merge = index.mergeAll()) finish(merge);
    expect(index.size().segments).toBe(700);
    expect(totalIn(reader)).toBe(expected);
    blobs.stored.delete('partition/1650');
    for (const wanted of [undefined, new Set([1_000]), new Set([1_650])])
      expect(() => totalIn(new SearchIndex(blobs, SCHEMA, new BlobCache(0)), wanted)).toThrow(
        new DamagedIndex('the search index has 699 partitions: expected 700'),
      );
  });
});
