import { createHash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  type IndexFacet,
  type IndexFilter,
  type IndexOrder,
  type IndexQuery,
} from '../../../src/engines/embedded/search/query';
import { type Merge, SearchIndex } from '../../../src/engines/embedded/search/search-index';
import { type Schema } from '../../../src/engines/embedded/search/segment';
import {
  Dictionary,
  dictionaryNames,
  DictionaryWriter,
} from '../../../src/engines/embedded/search/dictionary';
import { encodeSet, setOf } from '../../../src/engines/embedded/search/sets';
import { BlobCache, CheckedBlobs, DamagedIndex } from '../../../src/engines/embedded/search/storage';
import { LAYOUT_VERSION } from '../../../src/engines/embedded/store/layout';
import { indexed, MemoryBlobs, naive, naiveFacets, type Placed, type SomeDocument } from './naive';
import { randomOf } from './random';

const SCHEMA: Schema = {
  columns: ['price', 'modified', 'stock', 'group', 'brand'],
  defaultOrder: { column: 'modified', descending: true },
  orders: ['price'],
  groups: ['group'],
};

type Random = ReturnType<typeof randomOf>;

/** Ids with characters whose order in UTF-8 is not that in UTF-16. */
function idOf(number: number): string {
  return `${['', 'ä', '\u{1f600}', '\uff5e'][number % 4]}${number}`;
}

function someDocument(random: Random, row: number): SomeDocument {
  const id = idOf(row);
  const tokens = [`i${row}`];
  for (const [at, oneIn] of [1, 2, 3, 10, 30, 100].entries()) if (random(oneIn) === 0) tokens.push(`w${at}`);
  for (let at = 0; at < 3; at += 1) tokens.push(`t${Math.floor(random(100) ** 2 / 100)}`);
  if (random(20) === 0) tokens.push(`シューズ${random(3)}`, `\u{1f600}${random(5)}`, `\uff5e${random(5)}`);
  return {
    id,
    row,
    tokens: tokens.join('\n'),
    numbers: {
      ...(random(50) === 0 ? {} : { price: random(4) === 0 ? 999 : random(5_000) }),
      ...(random(80) === 0
        ? {}
        : { modified: 1_700_000_000_000 + random(40) * 86_400_000 * (random(3) + 1) }),
      ...(random(2) === 0 ? {} : { stock: random(20) - 5 }),
      ...(random(3) === 0 ? {} : { group: random(20) === 0 ? -1 : random(200) }),
      brand: random(7),
    },
  };
}

function someFilter(random: Random, depth = 0): IndexFilter {
  const kind = random(depth > 1 ? 6 : 10);
  if (kind < 3) return { token: random(3) === 0 ? `t${random(100)}` : `w${random(6)}` };
  if (kind === 3) {
    const min = random(5_000);
    return random(4) === 0
      ? { column: 'price', min: 999, max: 999 }
      : {
          column: 'price',
          ...(random(3) === 0 ? {} : { min }),
          ...(random(3) === 0 ? {} : { max: min + random(3_000) }),
        };
  }
  if (kind === 4) {
    const min = 1_700_000_000_000 + random(60) * 86_400_000;
    return random(2) === 0
      ? { column: 'modified', min, max: min + random(40) * 86_400_000 }
      : { column: 'stock', ...(random(2) === 0 ? { min: random(10) } : { max: random(10) }) };
  }
  if (kind === 5)
    return random(2) === 0 ? { prefix: ['シュ', '\u{1f600}', 't9', 'w'][random(4)]! } : { all: [] };
  const parts = Array.from({ length: random(4) }, () => someFilter(random, depth + 1));
  return kind < 9 ? { all: parts } : { any: parts };
}

/** A text with characters whose order in UTF-8 is not that in UTF-16. */
function textOf(row: number): string | undefined {
  return row % 9 === 0 ? undefined : `${['\uff5e', 'b', '\u{1f600}'][row % 3]}${row % 50}`;
}

function having(...tokens: readonly string[]): readonly IndexFilter[] {
  return tokens.map((token) => ({ token }));
}

const NEWEST = { column: 'modified', descending: true } as const;

function someOrder(random: Random): readonly IndexOrder[] {
  const orders: readonly (readonly IndexOrder[])[] = [
    [NEWEST],
    [{ column: 'price' }],
    [{ column: 'price', descending: true }],
    [{ matches: having('w1', 'w3', 'w1') }, NEWEST],
    [{ matches: having('w1', 'w2', 't3', 'none') }, NEWEST],
    [{ matches: [{ all: having('w1', 'w2') }, { any: having('t1', 't2') }, { prefix: 't9' }] }, NEWEST],
    [{ column: 'modified' }],
    [{ column: 'stock', descending: true }, { column: 'price' }],
    [{ column: 'brand', by: (value) => (value * 5) % 7 }],
    [{ matches: having('w1') }, { column: 'price' }],
    [{ matches: having('w1', 'w2') }, { column: 'brand' }, { matches: having('w1', 't1', 't2') }],
    [{ matches: having(...Array.from({ length: 20 }, (_, at) => `t${at}`)) }, NEWEST],
    [{ ofRow: textOf }],
    [{ column: 'brand' }, { ofRow: textOf, descending: true }],
    [],
  ];
  return orders[random(orders.length)]!;
}

function someQuery(random: Random): IndexQuery {
  const order = someOrder(random);
  const group = {
    column: 'group',
    within: random(4) === 0 ? [NEWEST] : [{ column: 'price' }],
    members: random(2) === 0 ? 3 : 1_000,
    last: order.map(() => random(3) === 0),
  };
  return {
    filter: someFilter(random),
    order,
    offset: random(3) === 0 ? random(300) : 0,
    size: [0, 1, 10, 100, 1_000][random(5)]!,
    ...(random(2) === 0 ? {} : { group }),
  };
}

function someFacets(random: Random): readonly IndexFacet[] {
  const columns = ['price', 'stock', 'modified'];
  const column = columns[random(3)]!;
  const [from, step] = column === 'modified' ? [1_700_000_000_000, 86_400_000] : [random(3) - 2, 700];
  return [
    {
      startingWith: ['t', 'i', 'w', 'シュ', '\u{1f600}', 't9', ''][random(7)]!,
      size: [1, 5, 1_000][random(3)]!,
    },
    {
      near: ['t11', 'w', 'シュズ2', '\u{1f600}\u{1f601}', 'i1023', '1t'][random(6)]!,
      after: [[''], ['t', 'i', ''], ['シュ', 't']][random(3)]!,
      size: [1, 10, 1_000][random(3)]!,
    },
    { column, bounds: Array.from({ length: 1 + random(6) }, (_, at) => from + at * step) },
  ];
}

function expectSame(
  index: SearchIndex,
  documents: readonly Placed[],
  query: IndexQuery,
  partitions?: Set<number>,
): void {
  const visible = documents.filter(({ partition }) => partitions?.has(partition) !== false);
  const answer = index.query(query, partitions);
  const expected = naive(visible, query);
  try {
    expect(answer).toEqual(expected);
  } catch (error) {
    throw new Error(`${JSON.stringify(query)}: ${String(error).slice(0, 2_000)}`, { cause: error });
  }
}

function expectSameFacets(
  index: SearchIndex,
  documents: readonly Placed[],
  random: Random,
  partitions?: Set<number>,
): void {
  const visible = documents.filter(({ partition }) => partitions?.has(partition) !== false);
  const [filter, facets] = [someFilter(random), someFacets(random)];
  expect({ filter, facets, found: index.countFacets(filter, facets, partitions) }).toEqual({
    filter,
    facets,
    found: naiveFacets(visible, filter, facets),
  });
}

/** All matches, by id and in batches. */
function expectSameRows(
  index: SearchIndex,
  documents: readonly Placed[],
  filter: IndexFilter,
  after?: string,
): void {
  const { rows } = naive(documents, { filter, order: [], offset: 0, size: Infinity });
  const later =
    after === undefined
      ? rows.flat()
      : naive(documents, {
          filter,
          order: [],
          offset: 0,
          size: Infinity,
          after: { keys: [], id: after },
        }).rows.flat();
  expect([...index.rows(filter, undefined, after)]).toEqual(later);
  const walked: [row: number, price: number][] = [];
  for (const { count, rows: own, values } of index.walk(filter, ['price']))
    for (let at = 0; at < count; at += 1) walked.push([own[at]!, values[0]![at]!]);
  const prices = new Map(documents.map(({ row, numbers }) => [row, numbers['price'] ?? NaN]));
  expect(walked.sort(([a], [b]) => a - b)).toEqual(
    rows
      .flat()
      .map((row) => [row, prices.get(row)])
      .sort(([a], [b]) => a! - b!),
  );
}

/** Pages through all results by cursors. */
function expectSamePages(index: SearchIndex, documents: readonly Placed[], query: IndexQuery): void {
  const size = Math.max(7, Math.ceil(naive(documents, query).total / 6));
  for (let after: IndexQuery['after'] = null; after !== undefined;) {
    const page: IndexQuery = { ...query, offset: 0, size, after };
    expectSame(index, documents, page);
    after = index.query(page).next;
  }
}

/** Adds documents, or replaces those with the same ids. */
function append(index: SearchIndex, partition: number, documents: readonly SomeDocument[]): void {
  // Of several with one id, the last one counts.
  const added = [...new Map(documents.map((document) => [document.id, document])).values()];
  index.write([
    {
      partition,
      joining: [],
      deleted: added.map(({ id }) => id),
      added: added.map((one) => indexed(SCHEMA, one)),
    },
  ]);
}

function remove(index: SearchIndex, partition: number, deleted: readonly string[]): void {
  index.write([{ partition, joining: [], deleted, added: [] }]);
}

function finish(merge: Merge | undefined): void {
  if (merge === undefined) return;
  const steps = merge.steps();
  while (steps.next().done !== true);
  merge.commit();
}

const ROUNDS = process.env['TEST_SIZE'] === 'full' ? 40 : 4;

/** Partitions share segments until they have 300 documents. */
const SHARING: Schema = { ...SCHEMA, partitionToken: (partition) => `p${partition}` };
const SHARED = 300;

/** A document with the token of its partition. */
function placedIn(partition: number, document: SomeDocument): Placed {
  return { ...document, partition, tokens: `${document.tokens}\np${partition}` };
}

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
    for (let query = 0; query < 8; query += 1)
      expectSamePages(index, [...documents.values()], someQuery(random));
  },
  60_000,
);

describe('what was recorded', () => {
  /** Records batches with new, replaced and deleted documents; returns the documents that are left. */
  function recordSome(index: SearchIndex, random: Random, partitions = 3): readonly Placed[] {
    const documents = new Map<string, Placed>();
    for (let batch = 0, row = 0; batch < 60; batch += 1) {
      const partition = random(partitions);
      const own = [...documents.values()].filter((one) => one.partition === partition);
      const others = own.filter(() => random(15) === 0);
      const gone = own.filter((one) => !others.includes(one) && random(20) === 0);
      const added = [
        ...others.map(({ id }) => ({ ...someDocument(random, (row += 1)), id })),
        ...Array.from({ length: 1 + random(50) }, () => someDocument(random, (row += 1))),
      ].map((one) => placedIn(partition, one));
      const deleted = [...others, ...gone].map(({ id }) => id);
      index.record([{ partition, joining: [], deleted, added: added.map((one) => indexed(SCHEMA, one)) }]);
      for (const { id } of gone) documents.delete(`${partition} ${id}`);
      for (const one of added) documents.set(`${partition} ${one.id}`, one);
    }
    return [...documents.values()];
  }

  test('of partitions that share segments is found as if it had been written', () => {
    const random = randomOf(33);
    const most = { built: 300, shared: 40 };
    const index = new SearchIndex(new MemoryBlobs(), SHARING, new BlobCache(0), most);
    const documents = recordSome(index, random, 20);
    for (let build = index.build(true); build !== undefined; build = index.build(true)) finish(build);
    const search = (): void => {
      for (let query = 0; query < 60; query += 1)
        expectSame(index, documents, someQuery(random), new Set([random(20), random(20)]));
    };
    search();
    for (let merge = index.mergeAll(); merge !== undefined; merge = index.mergeAll()) finish(merge);
    search();
    // Some partitions had grown.
    expect(index.size().segments).toBeGreaterThan(2);
    expect(index.size().segments).toBeLessThanOrEqual(21);
  });

  test.each([
    ['in one part', 1_000_000],
    ['in several parts, the later of which change documents of the earlier', 300],
  ])('is found as if it had been written, %s', (_, most) => {
    const random = randomOf(31);
    const blobs = new MemoryBlobs();
    const index = new SearchIndex(blobs, SCHEMA, new BlobCache(0), { built: most });
    const documents = recordSome(index, random);
    const due = index.build(false);
    expect(due === undefined).toBe(most > documents.length);
    finish(due);
    expect(index.isRecorded()).toBe(true);
    for (let build = index.build(true); build !== undefined; build = index.build(true)) finish(build);
    expect(index.isRecorded()).toBe(false);
    expect(index.size().docs).toBe(documents.length);
    for (let query = 0; query < 60; query += 1) expectSame(index, documents, someQuery(random));
    for (let merge = index.mergeAll(); merge !== undefined; merge = index.mergeAll()) finish(merge);
    while (index.sweep());
    expect(index.size()).toEqual({ docs: documents.length, segments: 3 });
    for (let query = 0; query < 60; query += 1) expectSame(index, documents, someQuery(random));
    expect([...blobs.stored.keys()].filter((name) => name.startsWith('recorded'))).toEqual([]);
  });

  test('is still there when a crash ends the making of its segments, or another writer gives it up', () => {
    const random = randomOf(32);
    const blobs = new MemoryBlobs();
    const index = new SearchIndex(blobs, SCHEMA, new BlobCache(0));
    const documents = recordSome(index, random);
    const given = index.build(true)!;
    const steps = given.steps();
    steps.next();
    const after = new SearchIndex(blobs, SCHEMA, new BlobCache(0));
    after.recover();
    while (after.sweep());
    expect(given.isGivenUp()).toBe(true);
    while (steps.next().done !== true);
    given.commit();
    expect(after.size().docs).toBe(0);
    finish(after.build(true));
    while (after.sweep());
    expect(after.isRecorded()).toBe(false);
    expect(after.size()).toEqual({ docs: documents.length, segments: 3 });
    for (let query = 0; query < 30; query += 1) expectSame(after, documents, someQuery(random));
    const numbers = new Set([...blobs.stored.keys()].flatMap((name) => /^(\d+)\//.exec(name)?.[1] ?? []));
    expect(numbers.size).toBe(3);
  });
});

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
}, 60_000);

test('what is deleted or replaced while a merge is in progress stays so after it', () => {
  const random = randomOf(5);
  const index = new SearchIndex(new MemoryBlobs(), SCHEMA, new BlobCache(1_000_000));
  const documents = Array.from({ length: 300 }, (_, row) => ({ ...someDocument(random, row), partition: 0 }));
  append(index, 0, documents.slice(0, 100));
  append(index, 0, documents.slice(100));
  remove(index, 0, [documents[3]!.id]);
  const merge = index.mergeAll(0)!;
  const steps = merge.steps();
  steps.next();
  remove(index, 0, [documents[5]!.id, documents[200]!.id]);
  while (steps.next().done !== true);
  const changed = { ...someDocument(random, 1_000), id: documents[7]!.id, partition: 0 };
  append(index, 0, [changed]);
  merge.commit();
  const live = documents.filter((_, at) => ![3, 5, 7, 200].includes(at)).concat(changed);
  for (let query = 0; query < 50; query += 1) expectSame(index, live, someQuery(random));
});

test('a segment that is emptied while it is merged can be read to the end, and its documents stay deleted', () => {
  const random = randomOf(10);
  const blobs = new MemoryBlobs();
  const index = new SearchIndex(blobs, SCHEMA, new BlobCache(0));
  const documents = Array.from({ length: 100 }, (_, row) => ({ ...someDocument(random, row), partition: 0 }));
  append(index, 0, documents.slice(0, 50));
  append(index, 0, documents.slice(50));
  const merge = index.mergeAll(0)!;
  const steps = merge.steps();
  steps.next();
  expect(index.mergeAll(0)).toBeUndefined();
  remove(
    index,
    0,
    documents.slice(0, 50).map(({ id }) => id),
  );
  while (index.sweep());
  while (steps.next().done !== true);
  merge.commit();
  while (index.sweep());
  expectSame(index, documents.slice(50), { filter: { all: [] }, order: [NEWEST], offset: 0, size: 100 });
  expect([...blobs.stored.keys()].filter((name) => name.startsWith('1/'))).toEqual([]);
});

test('a merge that a crash ended leaves the index as it was, and its blobs are swept', () => {
  const random = randomOf(6);
  const blobs = new MemoryBlobs();
  const before = new SearchIndex(blobs, SCHEMA, new BlobCache(0));
  const documents = Array.from({ length: 200 }, (_, row) => ({ ...someDocument(random, row), partition: 0 }));
  append(before, 0, documents.slice(0, 100));
  append(before, 0, documents.slice(100));
  const names = (): number => blobs.stored.size;
  const usual = names();
  const steps = before.mergeAll(0)!.steps();
  while (steps.next().done !== true);
  expect(names()).toBeGreaterThan(usual);
  const after = new SearchIndex(blobs, SCHEMA, new BlobCache(0));
  after.recover();
  while (after.sweep());
  expect(names()).toBe(usual);
  expectSame(after, documents, someQuery(random));
});

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

test('emptied segments are gone, with their blobs', () => {
  const random = randomOf(7);
  const blobs = new MemoryBlobs();
  const index = new SearchIndex(blobs, SCHEMA, new BlobCache(0));
  for (const partition of [0, 1]) append(index, partition, [someDocument(random, partition)]);
  expect(index.size()).toEqual({ docs: 2, segments: 2 });
  for (const partition of [0, 1]) remove(index, partition, [idOf(partition)]);
  while (index.sweep());
  expect(index.size()).toEqual({ docs: 0, segments: 0 });
  expect([...blobs.stored.keys()].sort()).toEqual(['manifest', 'partition/0', 'partition/1']);
});

test('a merge that was given up meanwhile replaces nothing, and what it writes afterwards is swept too', () => {
  const random = randomOf(11);
  const blobs = new MemoryBlobs();
  const index = new SearchIndex(blobs, SCHEMA, new BlobCache(0));
  const documents = Array.from({ length: 700 }, (_, row) => ({ ...someDocument(random, row), partition: 0 }));
  append(index, 0, documents.slice(0, 350));
  append(index, 0, documents.slice(350));
  const usual = blobs.stored.size;
  const merge = index.mergeAll(0)!;
  const steps = merge.steps();
  steps.next();
  index.recover();
  while (index.sweep());
  while (steps.next().done !== true);
  merge.commit();
  while (index.sweep());
  expect(blobs.stored.size).toBe(usual);
  expect(index.size()).toEqual({ docs: 700, segments: 2 });
  finish(index.mergeAll(0));
  expect(index.size()).toEqual({ docs: 700, segments: 1 });
  for (let query = 0; query < 20; query += 1) expectSame(index, documents, someQuery(random));
});

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

test('after a transaction was rolled back, nothing of it is remembered', () => {
  const random = randomOf(9);
  const blobs = new MemoryBlobs();
  const index = new SearchIndex(blobs, SCHEMA, new BlobCache(1_000_000));
  const documents = Array.from({ length: 50 }, (_, row) => ({ ...someDocument(random, row), partition: 0 }));
  append(index, 0, documents.slice(0, 20));
  const before = blobs.copy();
  append(index, 0, documents.slice(15, 40));
  index.query(someQuery(random));
  blobs.stored.clear();
  for (const [name, bytes] of before.stored) blobs.stored.set(name, bytes);
  index.forget();
  append(index, 0, documents.slice(40));
  const live = [...documents.slice(0, 20), ...documents.slice(40)];
  for (let query = 0; query < 20; query += 1) expectSame(index, live, someQuery(random));
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

describe('segments have no more documents than their groups can be told apart of', () => {
  test.each([
    ['merge', (index: SearchIndex) => index.merge(2)],
    ['mergeAll', (index: SearchIndex) => index.mergeAll(0)],
  ])('%s leaves out segments with which it would make a larger one', (_, due) => {
    const random = randomOf(12);
    const index = new SearchIndex(new MemoryBlobs(), SCHEMA, new BlobCache(0), { docs: 250, built: 250 });
    const documents = Array.from({ length: 600 }, (__, row) => ({
      ...someDocument(random, row),
      partition: 0,
    }));
    for (let from = 0; from < documents.length; from += 100)
      append(index, 0, documents.slice(from, from + 100));
    remove(index, 0, [documents[0]!.id]);
    for (let merge = due(index); merge !== undefined; merge = due(index)) finish(merge);
    expect(index.size()).toEqual({ docs: 599, segments: 3 });
    for (let query = 0; query < 20; query += 1) expectSame(index, documents.slice(1), someQuery(random));
  });

  test('numbers of groups are exact up to 2^29, and greater ones are refused', () => {
    const index = new SearchIndex(new MemoryBlobs(), SCHEMA, new BlobCache(0));
    const most = 2 ** 29 - 1;
    const documents = Array.from({ length: 40 }, (_, row) => ({
      ...someDocument(randomOf(row), row),
      numbers: { group: most - (row % 3), price: row },
      partition: 0,
    }));
    append(index, 0, documents);
    const group = { column: 'group', within: [{ column: 'price' }], members: 40 };
    expectSame(index, documents, { filter: { all: [] }, order: [NEWEST], offset: 0, size: 10, group });
    const greater = { id: 'x', row: 50, tokens: 'w0', numbers: { group: most + 1 } };
    expect(() => append(index, 0, [greater])).toThrow(
      new RangeError(`group: the number ${2 ** 29} of a group: expected less than ${2 ** 29}`),
    );
  });
});

describe('the bytes of an index are those of this LAYOUT_VERSION: raise LAYOUT_VERSION if they change', () => {
  const documents = (count: number): readonly SomeDocument[] =>
    Array.from({ length: count }, (_, row) => ({
      id: idOf(row),
      row,
      tokens: ['w0', `t${row % 3}`, 'シューズ'].join('\n'),
      numbers: {
        price: row * 1_000,
        ...(row === 1 ? {} : { modified: 1_700_000_000_000 + row * 60_000 }),
        stock: row % 2 === 0 ? row / 4 : -row,
        group: row % 5 === 0 ? -1 : row,
        brand: 7,
      },
    }));

  test('of a small segment', () => {
    const blobs = new MemoryBlobs();
    const index = new SearchIndex(blobs, SCHEMA, new BlobCache(0));
    append(index, 0, documents(4));
    const segment = Buffer.from(blobs.stored.get('1/pack') ?? []).toString('base64');
    expect({ LAYOUT_VERSION, segment: segment.match(/.{1,100}/g) }).toEqual({
      LAYOUT_VERSION: 10,
      segment: [
        'IwEAAFtbIjEvaWRzLzAiLDI5XSxbIjEvaWRzL2luZGV4IiwxN10sWyIxL3Rlcm1zLzAiLDQ1XSxbIjEvdGVybXMvaW5kZXgiLDE4',
        'XSxbIjEvcm93cy8wIiwyMF0sWyIxL3JhbmtzLzAiLDIwXSxbIjEvY29sdW1uL3ByaWNlLzAiLDI0XSxbIjEvb3JkZXIvcHJpY2Uv',
        'MCIsMjBdLFsiMS9jb2x1bW4vbW9kaWZpZWQvMCIsMzJdLFsiMS9jb2x1bW4vc3RvY2svMCIsMjBdLFsiMS9jb2x1bW4vZ3JvdXAv',
        'MCIsMjBdLFsiMS9tZW1iZXJzL2dyb3VwLzAiLDE5XSxbIjEvY29sdW1uL2JyYW5kLzAiLDE2XSxbIjEvaGVhZCIsNDVdXQAAATAB',
        'AgADw6QxAQMABO+9njMBAAAF8J+YgDIBAQAAAAQAAAABAAAAAAAAAAEAAAAwAAAAAAAAAAACdDACAAIBATEBAwEBMgEBAAJ3MAQA',
        'AQEBAAzjgrfjg6Xjg7zjgroEAAEBAQAAAAUAAAABAAAAAAAAAAIAAAB0MAAAAAAAAAAAAAAAAAAAAQAAAAQAAAAEAwECAAAAAAAA',
        'AAAAAAAAAQAAAAQAAAADBAECAAAAAAAAAAAAAAAAAgAAAAQAAAC5C9EHAQDpAwAAAAAAAAAAAQAAAAQAAAADBAIBAAAAAAAAgFb+',
        'vHhCBAAAAAQAAAAhvwIAwdQBAAEAAAAAAAAAAAAAAAAACMABAAAABAAAAAEEBAMAAAAAAAAAAAAA8L8BAAAABAAAAAUEAQMAAAAA',
        'AAAAAAAAAAABAAAAAwAAAAQCAQAAAAAAAAAAAAAAHEAAAAAABAAAAHsicHJlc2VudCI6eyJwcmljZSI6NH0sIm1lbWJlcnMiOnsi',
        'Z3JvdXAiOjN9fQAAADWXHsQ=',
      ],
    });
  });

  test('of a large segment, and of what is recorded', () => {
    const blobs = new MemoryBlobs();
    const index = new SearchIndex(blobs, SCHEMA, new BlobCache(0));
    const added = documents(5_000).map((one) => indexed(SCHEMA, one));
    index.record([{ partition: 3, joining: [], deleted: ['x'], added }]);
    const digest = createHash('sha256');
    const digestAll = (): void => {
      for (const [name, bytes] of blobs.stored) digest.update(name).update(bytes);
    };
    digestAll();
    finish(index.build(true));
    digestAll();
    expect({ LAYOUT_VERSION, digest: digest.digest('hex') }).toEqual({
      LAYOUT_VERSION: 10,
      digest: '2ce4806a7d3c6e956fd6357ddfbb22f2303ffee08cfddd4063c7d87f2c29e44e',
    });
  });
});

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;
function collect(): void {
  gc();
  // Arrays of the first time may still be being freed.
  gc();
}

test('a cache takes no more memory than it may, also of short lists in many containers', () => {
  const most = 4_000_000;
  const blobs = new MemoryBlobs();
  const documents = 300_000;
  const lists = 3_000;
  const writer = new CheckedBlobs(blobs, new BlobCache(0));
  const set = setOf(
    documents,
    Array.from({ length: 300 }, (_, at) => at * 1_000),
  );
  for (let list = 0; list < lists; list += 1) writer.write(`1/terms/list/${list}`, encodeSet(set));
  const dictionary = new DictionaryWriter(writer, dictionaryNames(1, 'terms'), documents);
  dictionary.finish();
  const reader = new CheckedBlobs(blobs, new BlobCache(most));
  const terms = new Dictionary(reader, dictionaryNames(1, 'terms'), documents);
  const used = (): number => {
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const before = used();
  for (let list = 0; list < lists; list += 1) terms.set({ count: set.count, list });
  expect(used() - before).toBeLessThan(most * 1.25);
  expect(terms.set({ count: set.count, list: 0 }).count).toBe(set.count);
});

test('a merge needs at most 80 bytes of memory per document, and of tokens only those that it is at', () => {
  /** Blobs outside of what is measured: as texts. */
  class TextBlobs extends MemoryBlobs {
    private readonly texts = new Map<string, string>();

    override get(name: string): Uint8Array | undefined {
      const text = this.texts.get(name);
      return text === undefined ? undefined : new Uint8Array(Buffer.from(text, 'latin1'));
    }

    override all(prefix: string): ReturnType<MemoryBlobs['all']> {
      const names = [...this.texts.keys()].filter((name) => name.startsWith(prefix));
      return names.map((name) => [name, this.get(name) ?? new Uint8Array()]);
    }

    override put(name: string, bytes: Uint8Array): void {
      this.texts.set(name, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1'));
    }
  }

  const buffers = (): number => process.memoryUsage().arrayBuffers;

  /** Most bytes of arrays during a merge of ten segments: what is left of each step before, and all that a step makes. */
  const peakOf = (documents: number): number => {
    const index = new SearchIndex(new TextBlobs(), SCHEMA, new BlobCache(0));
    const random = randomOf(documents);
    for (let from = 0; from < documents; from += documents / 10)
      append(
        index,
        0,
        Array.from({ length: documents / 10 }, (_, at) => someDocument(random, from + at)),
      );
    const merge = index.mergeAll(0);
    if (merge === undefined) throw new Error('expected a merge');
    collect();
    const before = buffers();
    let peak = 0;
    const steps = merge.steps();
    for (let isDone = false; !isDone;) {
      isDone = steps.next().done === true;
      peak = Math.max(peak, buffers() - before);
      collect();
    }
    merge.commit();
    expect(index.size()).toEqual({ docs: documents, segments: 1 });
    return peak;
  };
  // What does not depend on the number of documents is in both.
  const [few, many] = [peakOf(10_000), peakOf(30_000)];
  const perDocument = (many - few) / 20_000;
  expect(perDocument).toBeGreaterThan(20);
  expect(perDocument).toBeLessThan(80);
}, 60_000);
