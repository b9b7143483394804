import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { SearchIndex } from '../../../src/engines/embedded/search/search-index';
import {
  Dictionary,
  dictionaryNames,
  DictionaryWriter,
} from '../../../src/engines/embedded/search/dictionary';
import { encodeSet, setOf } from '../../../src/engines/embedded/search/sets';
import { BlobCache, CheckedBlobs } from '../../../src/engines/embedded/search/storage';
import { indexed, MemoryBlobs, type Placed } from './naive';
import { randomOf } from './random';
import {
  SCHEMA,
  type Random,
  idOf,
  someDocument,
  NEWEST,
  someQuery,
  expectSame,
  append,
  remove,
  finish,
  SHARING,
  placedIn,
} from './some-index';

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

  /**
   * Most bytes of arrays during a merge of ten segments: what is left of each step before, and all that a step makes.
   */
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
