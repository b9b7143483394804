import { type IndexFacet, type IndexQuery } from '../../../src/engines/embedded/search/query';
import { type Merge, SearchIndex } from '../../../src/engines/embedded/search/search-index';
import { type Schema } from '../../../src/engines/embedded/search/segment';
import { BlobCache, DamagedIndex } from '../../../src/engines/embedded/search/storage';
import { MemoryBlobs, type Placed, type SomeDocument } from './naive';
import { randomOf } from './random';
import {
  SCHEMA,
  idOf,
  someDocument,
  someFilter,
  having,
  NEWEST,
  someQuery,
  expectSame,
  expectSameFacets,
  expectSameRows,
  expectSamePages,
  append,
  remove,
  finish,
  ROUNDS,
  SHARING,
  SHARED,
  placedIn,
} from './some-index';

test.each(
  Array.from({ length: ROUNDS }, (_, seed) => [
    { seed: seed + 1, segments: 'of their own', schema: SCHEMA, partitions: 2 },
    { seed: seed + 1, segments: 'that they share', schema: SHARING, partitions: seed % 2 === 0 ? 80 : 2 },
  ]).flat(),
)(
  'any search over $partitions partitions, in segments $segments with deleted documents, gives what a plain computation gives (seed $seed)',
  ({ seed, schema, partitions: count }) => {
    const random = randomOf(seed);
    const blobs = new MemoryBlobs();
    const index = new SearchIndex(blobs, schema, new BlobCache(100_000), { shared: SHARED });
    const documents = new Map<string, Placed>();
    const put = (partition: number, batch: readonly SomeDocument[]): void => {
      const placed = batch.map((one) => placedIn(partition, one));
      append(index, partition, placed);
      for (const document of placed) documents.set(`${partition} ${document.id}`, document);
    };
    const drop = (partition: number, ids: readonly string[]): void => {
      remove(index, partition, ids);
      for (const id of ids) documents.delete(`${partition} ${id}`);
    };
    let row = 0;
    let merge: { readonly merge: Merge; readonly steps: Generator<undefined> } | undefined;
    for (let action = 0; action < 40; action += 1) {
      const partition = random(count);
      const own = [...documents.values()].filter((one) => one.partition === partition);
      const kind = random(6);
      if (kind < 3)
        put(
          partition,
          Array.from({ length: 1 + random(200) }, () => someDocument(random, (row += 1))),
        );
      else if (kind === 3 && own.length > 0)
        put(
          partition,
          Array.from({ length: random(60) }, () => ({
            ...someDocument(random, (row += 1)),
            id: own[random(own.length)]!.id,
          })),
        );
      else if (kind === 4)
        drop(
          partition,
          own
            .filter(() => random(8) === 0)
            .map(({ id }) => id)
            .concat('unknown'),
        );
      else if (merge === undefined) {
        const due = random(3) === 0 ? index.mergeAll(partition) : index.merge(1 + random(8));
        if (due !== undefined) merge = { merge: due, steps: due.steps() };
      } else {
        while (merge.steps.next().done !== true);
        merge.merge.commit();
        merge = undefined;
        while (index.sweep());
      }
      const all = [...documents.values()];
      expect(index.size().docs).toBe(all.length);
      const reader = new SearchIndex(blobs.copy(), schema, new BlobCache(0));
      for (let query = 0; query < 6; query += 1) {
        const partitions =
          random(3) === 0
            ? new Set(Array.from({ length: 1 + random(count) }, () => random(count + 1)))
            : undefined;
        expectSame(query === 0 ? reader : index, all, someQuery(random), partitions);
        expectSameFacets(index, all, random, partitions);
      }
      if (action % 10 === 9) expectSamePages(index, all, someQuery(random));
      if (action % 4 === 0) {
        expectSameRows(index, all, someFilter(random));
        expectSameRows(index, all, someFilter(random), all[random(all.length)]?.id ?? '');
      }
    }
    if (merge !== undefined) {
      while (merge.steps.next().done !== true);
      merge.merge.commit();
    }
    for (let due = index.mergeAll(); due !== undefined; due = index.mergeAll()) finish(due);
    while (index.sweep());
    expect(index.size().segments).toBeLessThanOrEqual(3);
    for (let query = 0; query < 60; query += 1) expectSame(index, [...documents.values()], someQuery(random));
    for (let query = 0; query < 20; query += 1) expectSameFacets(index, [...documents.values()], random);
    for (let query = 0; query < 8; query += 1)
      expectSamePages(index, [...documents.values()], someQuery(random));
  },
  60_000,
);

test('segments of more than 65,536 documents answer alike', () => {
  const random = randomOf(98);
  const documents = Array.from({ length: 70_000 }, (_, row) => ({
    ...someDocument(random, row),
    partition: 0,
  }));
  const index = new SearchIndex(new MemoryBlobs(), SCHEMA, new BlobCache(10_000_000));
  for (let from = 0; from < documents.length; from += 30_000)
    append(index, 0, documents.slice(from, from + 30_000));
  finish(index.mergeAll(0));
  expect(index.size()).toEqual({ docs: 70_000, segments: 1 });
  const gone = new Set(documents.filter(() => random(30) === 0));
  remove(
    index,
    0,
    Array.from(gone, ({ id }) => id),
  );
  const live = documents.filter((one) => !gone.has(one));
  for (let query = 0; query < 12; query += 1) expectSame(index, live, { ...someQuery(random), size: 100 });
  for (let query = 0; query < 12; query += 1) expectSameFacets(index, live, random);
}, 60_000);

test.each([
  ['of small segments, in one', 100],
  ['of others', 1_100],
])('any damaged or missing blob %s is refused where it is read, never half read', (_, count) => {
  const random = randomOf(8);
  const blobs = new MemoryBlobs();
  const index = new SearchIndex(blobs, SCHEMA, new BlobCache(0));
  append(
    index,
    0,
    Array.from({ length: count }, (__, row) => someDocument(random, row)),
  );
  remove(index, 0, [idOf(4)]);
  const documents = random;
  const wanted: IndexQuery = {
    filter: { all: [{ token: 'w0' }, { column: 'price', min: 1 }, { column: 'stock', min: -5 }] },
    order: [{ column: 'price', descending: true }],
    offset: 0,
    size: 100,
    group: { column: 'group', within: [{ column: 'price' }], members: 10 },
  };
  const answer = (stored: MemoryBlobs): unknown =>
    new SearchIndex(stored, SCHEMA, new BlobCache(0)).query(wanted);
  const expected = answer(blobs);
  const other = blobs.stored.get(count > 1_024 ? '1/head' : '1/pack')!;
  let refused = 0;
  for (const [name, bytes] of blobs.stored) {
    for (const damage of ['byte', 'cut', 'other', 'missing']) {
      const damaged = blobs.copy();
      if (damage === 'byte') {
        const copy = bytes.slice();
        const at = documents(copy.length);
        copy[at] = copy[at]! ^ (1 << documents(8));
        damaged.stored.set(name, copy);
      } else if (damage === 'cut') damaged.stored.set(name, bytes.slice(0, documents(bytes.length)));
      else if (damage === 'other') damaged.stored.set(name, other);
      else damaged.stored.delete(name);
      if (damage === 'other' && bytes === other) continue;
      try {
        expect(answer(damaged)).toEqual(expected);
      } catch (error) {
        if (!(error instanceof DamagedIndex)) throw error;
        refused += 1;
      }
    }
  }
  expect(refused).toBeGreaterThan(count > 1_024 ? 40 : 6);
});

test('a query is stopped by what its check throws', () => {
  const index = new SearchIndex(new MemoryBlobs(), SCHEMA, new BlobCache(0));
  append(index, 0, [someDocument(randomOf(1), 1)]);
  const query: IndexQuery = { filter: { token: 'w0' }, order: [NEWEST], offset: 0, size: 1 };
  const stop = new Error('too long');
  expect(() =>
    index.query(query, undefined, () => {
      throw stop;
    }),
  ).toThrow(stop);
});

test('the members of a group are not compared again at each of them', () => {
  const members = 2_000;
  const index = new SearchIndex(new MemoryBlobs(), SCHEMA, new BlobCache(1_000_000));
  append(
    index,
    0,
    Array.from({ length: members }, (_, row) => ({
      id: idOf(row),
      row,
      tokens: 'w0',
      numbers: { price: row, modified: row, group: 1 },
    })),
  );
  let read = 0;
  const counting = (row: number): number => {
    read += 1;
    return row;
  };
  for (const column of ['price', 'modified']) {
    const { rows } = index.query({
      filter: { token: 'w0' },
      order: [{ column, descending: true }],
      offset: 0,
      size: 10,
      group: { column: 'group', within: [{ ofRow: counting }], members: 1, last: [true] },
    });
    expect(rows).toEqual([[0]]);
  }
  expect(read).toBeLessThanOrEqual(4 * members);
});

describe('groups with equal keys, as those of one load have in the default order', () => {
  const random = randomOf(61);

  test.each([1, 2, 40])('are the first ones by their first members, with %s times among them', (times) => {
    const index = new SearchIndex(new MemoryBlobs(), SCHEMA, new BlobCache(1_000_000));
    const documents = Array.from({ length: 3_000 }, (_, row) => {
      const group = random(3) === 0 ? undefined : random(900);
      return {
        ...{ id: `${random(1_000_000)}-${row}`, row, partition: 0, tokens: 'w0' },
        numbers: { price: random(40), modified: random(times), ...(group === undefined ? {} : { group }) },
      };
    });
    for (let from = 0; from < documents.length; from += 1_000)
      append(index, 0, documents.slice(from, from + 1_000));
    for (const order of [[NEWEST], [{ column: 'modified' }], [{ matches: having('w0') }, NEWEST]] as const)
      for (const last of [false, true]) {
        const group = {
          column: 'group',
          within: [{ column: 'price' }],
          members: 3,
          last: order.map(() => last),
        };
        const wanted = { filter: { token: 'w0' }, order, offset: 0, size: 7, group };
        expectSame(index, documents, wanted);
        expectSame(index, documents, { ...wanted, offset: 200 });
        expectSamePages(index, documents.slice(0, 3_000), { ...wanted, size: 400 });
      }
  });

  test('take as long as the page, not as all of them', () => {
    const count = 20_000;
    const index = new SearchIndex(new MemoryBlobs(), SCHEMA, new BlobCache(1_000_000));
    append(
      index,
      0,
      Array.from({ length: count }, (_, row) => ({
        ...{ id: idOf(row), row, tokens: 'w0' },
        numbers: { price: row % 7, modified: 5, group: row >> 1 },
      })),
    );
    let read = 0;
    const counting = (row: number): number => {
      read += 1;
      return row;
    };
    const group = { column: 'group', within: [{ ofRow: counting }], members: 1 };
    const { rows, total } = index.query({
      filter: { token: 'w0' },
      order: [NEWEST],
      offset: 0,
      size: 10,
      group,
    });
    expect([rows.length, total]).toEqual([10, count / 2]);
    expect(read).toBeLessThan(200);
    const after = { keys: [5], id: idOf(count - 100) };
    index.query({ filter: { token: 'w0' }, order: [NEWEST], offset: 0, size: 10, group, after });
    expect(read).toBeLessThan(600);
  });
});

test('a page far from the first one reads no ids of the results before it, which several segments have with equal keys', () => {
  let reads = 0;
  class CountingBlobs extends MemoryBlobs {
    override get(name: string): Uint8Array | undefined {
      if (/\/ids\/\d+$/.test(name)) reads += 1;
      return super.get(name);
    }
  }
  const index = new SearchIndex(new CountingBlobs(), SCHEMA, new BlobCache(0));
  const random = randomOf(5);
  const documents = Array.from({ length: 3_300 }, (_, row) => ({
    ...someDocument(random, row),
    numbers: { modified: 1_700_000_000_000 + (row % 550) },
    partition: 0,
  }));
  for (let from = 0; from < documents.length; from += 1_100)
    append(index, 0, documents.slice(from, from + 1_100));
  const query = { filter: { all: [] }, order: [NEWEST], offset: 3_000, size: 10 };
  // Writes have looked for the ids of their documents.
  reads = 0;
  index.query(query);
  expect(reads).toBeGreaterThan(0);
  expect(reads).toBeLessThan(100);
  for (const offset of [2_999, 3_000, 3_001, 3_290, 3_295, 3_299, 3_300])
    expectSame(index, documents, { ...query, offset });
});

describe('every loop over many documents checks whether to go on', () => {
  const documents = 40_000;
  const blobs = new MemoryBlobs();
  const schema: Schema = { ...SCHEMA, groups: ['group', 'brand'] };
  const everything: IndexQuery = { filter: { all: [] }, order: [NEWEST], offset: 0, size: documents };
  const grouped = { column: 'group', within: [{ column: 'price' }], members: 1 };
  const slow = [{ ofRow: (row: number) => row }];
  const checksOf = (work: (index: SearchIndex, check: () => void) => void): number => {
    let checks = 0;
    work(new SearchIndex(blobs, schema, new BlobCache(10_000_000)), () => (checks += 1));
    return checks;
  };
  beforeAll(() => {
    append(
      new SearchIndex(blobs, schema, new BlobCache(0)),
      0,
      Array.from({ length: documents }, (_, row) => ({
        id: idOf(row),
        row,
        tokens: row % 10 === 0 ? 'w1' : 'w0',
        numbers: { price: row, modified: row, group: row, brand: 1, stock: row },
      })),
    );
  });

  test.each<[of: string, query: IndexQuery, least: number]>([
    ['documents in the default order', everything, 1],
    ['documents in a stored order', { ...everything, order: [{ column: 'price' }] }, 1],
    ['documents in another order', { ...everything, order: [{ column: 'stock' }], size: 1 }, 1],
    ['documents in the order of texts, which are read', { ...everything, order: slow, size: 1 }, 4],
    ['groups in the default order', { ...everything, group: grouped }, 1],
    ['groups in another order', { ...everything, order: [{ column: 'stock' }], size: 1, group: grouped }, 1],
    [
      'groups before a cursor',
      {
        ...everything,
        order: [{ matches: having('w0') }, NEWEST],
        size: 1,
        after: { keys: [0, 0], id: '' },
        group: grouped,
      },
      0.9,
    ],
    [
      'documents that a range leaves out',
      { ...everything, filter: { all: [{ token: 'w0' }, { column: 'price', min: 0 }] }, size: 0 },
      0.1,
    ],
    ['members of a group', { ...everything, size: 1, group: { ...grouped, column: 'brand' } }, 1],
  ])('of %s', (_, query, least) => {
    const checks = checksOf((index, check) => index.query(query, undefined, check));
    expect(checks).toBeGreaterThanOrEqual((least * documents) / 1_100);
  });

  test('of rows by id', () => {
    const checks = checksOf((index, check) => {
      expect([...index.rows({ all: [] }, undefined, undefined, check)]).toHaveLength(documents);
    });
    expect(checks).toBeGreaterThanOrEqual(documents / 1_100);
  });
});

test('words near one that a later segment has are not looked for; others are, with checks between letters', () => {
  const index = new SearchIndex(new MemoryBlobs(), SCHEMA, new BlobCache(10_000_000));
  const letters = 5_000;
  const documents = Array.from({ length: letters }, (_, row) => ({
    id: idOf(row),
    row,
    tokens: `${String.fromCodePoint(0x4e00 + row)}\nlampe`,
    numbers: {},
  }));
  append(index, 0, documents);
  append(index, 1, [{ id: 'lamp', row: letters, tokens: 'lamps', numbers: {} }]);
  const checksOf = (near: string, counts: readonly object[]): number => {
    let checks = 0;
    const facet: IndexFacet = { near, after: [''], size: 10 };
    const check = (): void => void (checks += 1);
    expect(index.countFacets({ all: [] }, [facet], undefined, check)).toEqual([counts]);
    return checks;
  };
  expect(checksOf('lamps', [{ value: 'lamps', count: 1 }])).toBeLessThan(10);
  const others = [
    { value: 'lampe', count: letters },
    { value: 'lamps', count: 1 },
  ];
  expect(checksOf('lampo', others)).toBeGreaterThan(letters / 130);
});
