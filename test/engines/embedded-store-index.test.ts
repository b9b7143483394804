import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import fc from 'fast-check';
import { products } from '../../projections/products';
import { GenerationFile } from '../../src/engines/embedded/store/generation-file';
import { Layout } from '../../src/engines/embedded/store/layout';
import { openEmbeddedStore } from '../../src/engines/embedded/store/open-store';
import { prepareWrites, writeBatch } from '../../src/engines/embedded/store/writer';
import { EVERYTHING, type Filter } from '../../src/kernel/query';
import {
  type CollectionSpec,
  type Document,
  type Generation,
  type ReadStore,
  targetOf,
  type Write,
} from '../../src/kernel/read-store';
import { generatedDocuments, LOOSE, OFFERS } from '../contracts/read-store/documents';
import { queriesFor } from '../contracts/read-store/queries';
import { at, live } from '../contracts/read-store/subject';
import { oracleOf } from '../support/oracle';
import { manifestOf } from '../support/search-manifest';
import { storeFolder } from '../support/store-folder';
import { randomOf } from './search/random';

let directory: string;
let remove: () => Promise<void>;
let store: ReadStore;
const open = (folder = directory) => openEmbeddedStore({ directory: folder, threads: false, readers: 0 });

beforeEach(async () => {
  ({ directory, remove } = await storeFolder());
  store = open();
});
afterEach(async () => {
  await store.close();
  await remove();
});

function pathOf({ collection, number }: Generation, folder = directory): string {
  return join(folder, `${collection}-g${number}.sqlite`);
}

/** Writes batches, each of which becomes a segment; none is merged. */
function writeSegments(spec: CollectionSpec, path: string, batches: readonly (readonly Write[])[]): void {
  const file = new GenerationFile(path, spec);
  for (const batch of batches) writeBatch(file, prepareWrites(file.layout, batch), undefined);
  file.close();
}

const put = (document: Document, version = 1): Write => ({ put: document, version: at(version) });

/** Works with the blobs of a generation. */
function withFile<Result>(path: string, work: (file: DatabaseSyncInstance) => Result): Result {
  const file = new DatabaseSync(path);
  try {
    return work(file);
  } finally {
    file.close();
  }
}

/** How many segments a generation has. */
function segmentsOf(path: string): number {
  return manifestOf(path).segments;
}

test('products are in the order of their modification, so that pages of the newest are read without sorting (decisions P7)', () => {
  expect(new Layout(products.collection).schema).toMatchObject({
    defaultOrder: { column: 'modified', descending: true },
    orders: ['price', 'changed'],
  });
});

test('300 random searches over many segments with replaced and deleted documents find what each document says, before and after merges', async () => {
  const generation = await live(store, OFFERS);
  const target = { collection: OFFERS.name };
  const random = randomOf(77);
  const all = generatedDocuments(900);
  const documents = new Map<string, Document>();
  const batches: Write[][] = [];
  for (let from = 0; from < all.length; from += 10) {
    const batch = new Map<string, Write>();
    const version = batches.length + 1;
    for (const document of all.slice(from, from + 10)) {
      const before = [...documents.keys()];
      const other = before[random(Math.max(1, before.length))];
      const kind = random(4);
      if (kind === 0 && other !== undefined) {
        batch.set(other, { remove: other, version: at(version) });
        documents.delete(other);
      } else {
        const id = kind === 1 && other !== undefined ? other : document.id;
        batch.set(id, put({ ...document, id }, version));
        documents.set(id, { ...document, id });
      }
    }
    batches.push([...batch.values()]);
  }
  writeSegments(OFFERS, pathOf(generation), batches);
  expect(segmentsOf(pathOf(generation))).toBeGreaterThan(60);

  const left = [...documents.values()];
  const oracle = oracleOf(left);
  const { search, groupSearch } = queriesFor(left);
  const compare = async (): Promise<void> => {
    const runs = { numRuns: 75 };
    const single = fc.asyncProperty(search, async (wanted) => {
      const { total, found } = await store.search(target, wanted);
      expect({ total, ids: found.map(({ id }) => id) }).toEqual(oracle.search(wanted));
    });
    await fc.assert(single, runs);
    const grouped = fc.asyncProperty(groupSearch, async (wanted) => {
      const { total, groups } = await store.searchGroups(target, wanted);
      const ids = groups.map((group) => group.map(({ id }) => id));
      expect({ total, ids }).toEqual(oracle.searchGroups(wanted));
    });
    await fc.assert(grouped, runs);
  };
  await compare();
  const file = new GenerationFile(pathOf(generation), OFFERS);
  while (file.keep(false));
  file.close();
  expect(segmentsOf(pathOf(generation))).toBeLessThan(30);
  await compare();
}, 60_000);

test('while a generation is finished, other calls are answered, so that the lease is renewed', async () => {
  const generation = await store.create(LOOSE);
  const documents = generatedDocuments(6_000);
  const batches = Array.from({ length: 20 }, (_, n) =>
    documents.slice(n * 300, (n + 1) * 300).map((one) => put(one)),
  );
  writeSegments(LOOSE, pathOf(generation), batches);
  let isFinished = false as boolean;
  let renewals = 0;
  // Time passes whenever somebody looks at it: so a step does little, however fast the machine is.
  let time = performance.now();
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => (time += 15));
  const finished = store.finish(generation).finally(() => {
    isFinished = true;
    clock.mockRestore();
  });
  while (!isFinished) {
    expect(await store.lease('builder', 'me', Date.now, 10_000)).toBeDefined();
    renewals += 1;
    await turn();
  }
  await finished;
  expect(renewals).toBeGreaterThan(10);
  expect(segmentsOf(pathOf(generation))).toBe(1);
  expect(await store.count(targetOf(generation), EVERYTHING)).toBe(6_000);
}, 60_000);

test('after hundreds of small writes, the segments are merged to a few by themselves', async () => {
  const generation = await live(store, LOOSE);
  const documents = generatedDocuments(600);
  for (let from = 0; from < documents.length; from += 2) {
    await store.write(
      targetOf(generation),
      documents.slice(from, from + 2).map((one) => put(one)),
      at(1),
    );
  }
  const deadline = performance.now() + 30_000;
  // At most seven of each of four sizes: to 7, 63, 511 and more documents.
  while (segmentsOf(pathOf(generation)) > 4 * 7 && performance.now() < deadline) await pause(20);
  expect(segmentsOf(pathOf(generation))).toBeLessThanOrEqual(4 * 7);
  expect(await store.count(targetOf(generation), EVERYTHING)).toBe(600);
}, 60_000);

test('what merges have replaced is removed too while there are always more merges due', async () => {
  const path = pathOf(await live(store, LOOSE));
  const file = new GenerationFile(path, LOOSE);
  const documents = generatedDocuments(1_600);
  let most = 0;
  for (let from = 0; from < documents.length; from += 40) {
    const batches = documents.slice(from, from + 40).map((one) => [put(one)]);
    writeSegments(LOOSE, path, batches);
    expect(file.keep(true)).toBe(true);
    most = Math.max(most, manifestOf(path).replaced.length);
  }
  file.close();
  expect(most).toBeGreaterThan(30);
  expect(most).toBeLessThan(300);
}, 60_000);

test('a process whose merge was given up by another reads nothing that is removed meanwhile, and leaves the index to it', async () => {
  const generation = await live(store, LOOSE);
  const path = pathOf(generation);
  const documents = generatedDocuments(8_000);
  const batches = Array.from({ length: 8 }, (_, batch) =>
    documents.slice(1_000 * batch, 1_000 * (batch + 1)).map((document) => put(document)),
  );
  writeSegments(LOOSE, path, batches);
  const paused = new GenerationFile(path, LOOSE);
  const next = new GenerationFile(path, LOOSE);
  expect(paused.keep(false)).toBe(true);
  while (next.keep(false));
  expect(segmentsOf(path)).toBe(1);
  expect(paused.keep(false)).toBe(false);
  while (paused.keep(false));
  for (const file of [paused, next]) file.close();
  expect(await store.count(targetOf(generation), EVERYTHING)).toBe(8_000);
});

describe('a damaged index', () => {
  const target = { collection: LOOSE.name };
  const documents = generatedDocuments(1_200);
  const valuesOf = (field: string) => [...new Set(documents.flatMap(({ fields }) => fields[field] ?? []))];
  /** Filters by every word and value. */
  const FILTERS: readonly Filter[] = [
    ...['title', 'description'].flatMap((field) =>
      valuesOf(field).map((word) => ({ words: [String(word)], within: [field] })),
    ),
    ...['feedId', 'stock', 'groupId', 'brand', 'tags'].flatMap((field) =>
      valuesOf(field).map((value) => ({ field, in: [value] })),
    ),
  ];
  /** What reads every kind of blob. */
  const QUERIES: readonly ((from: ReadStore) => Promise<unknown>)[] = [
    (from) => from.search(target, { filter: EVERYTHING, order: [], offset: 0, size: 1_000 }),
    (from) =>
      from.search(target, {
        filter: {
          all: [
            { field: 'price', min: 1 },
            { field: 'stock', min: 0 },
          ],
        },
        order: [{ field: 'modified', descending: true }],
        offset: 0,
        size: 1_000,
      }),
    (from) =>
      from.search(target, {
        filter: { words: ['red'], within: ['title', 'description'] },
        order: [
          { matches: ['red', 'shoe'], within: 'title', descending: true },
          { field: 'price', descending: true },
        ],
        offset: 0,
        size: 1_000,
      }),
    (from) =>
      from.searchGroups(target, {
        filter: EVERYTHING,
        groupBy: 'groupId',
        within: [{ field: 'price' }],
        order: [{ field: 'price', by: 'least' }],
        offset: 0,
        size: 1_000,
        members: 10,
      }),
    (from) =>
      from.totals(target, { filter: EVERYTHING, by: ['groupId'], sums: ['feedId', 'stock', 'price'] }),
    (from) => Promise.all(FILTERS.map((filter) => from.count(target, filter))),
    (from) => idsOf(from),
  ];

  async function idsOf(from: ReadStore): Promise<readonly string[]> {
    const ids: string[] = [];
    for await (const batch of from.scan(target, EVERYTHING)) ids.push(...batch.map(({ id }) => id));
    return ids;
  }

  const DAMAGES: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
    'flipped bit': (bytes) => bytes.map((byte, index) => (index === bytes.length >> 1 ? byte ^ 4 : byte)),
    'cut end': (bytes) => bytes.slice(0, -1),
    'cut half': (bytes) => bytes.slice(0, bytes.length >> 1),
    'zeroed rest': (bytes) => bytes.map((byte, index) => (index > bytes.length >> 1 ? 0 : byte)),
  };

  test('is refused whatever part is damaged and in whatever way, never half read, and its generation is retired', async () => {
    const generation = await live(store, LOOSE);
    writeSegments(LOOSE, pathOf(generation), [
      documents.slice(0, 1_100).map((one) => put(one)),
      documents.slice(1_100).map((one) => put(one)),
      documents.slice(1_070, 1_140).map(({ id }): Write => ({ remove: id, version: at(2) })),
    ]);
    const expected = [];
    for (const query of QUERIES) expected.push(await query(store));
    await store.close();

    /** By kind: the name without its numbers. */
    const names = new Map<string, string>();
    withFile(pathOf(generation), (file) => {
      for (const row of file.prepare('SELECT name FROM blobs ORDER BY length(bytes)').all())
        names.set(String(row['name']).replace(/\d+/g, 'n'), String(row['name']));
    });
    expect([...names.keys()].sort()).toEqual(
      [
        'manifest',
        ...['feedId', 'groupId', 'modified', 'price', 'stock'].map((field) => `n/column/${field}/n`),
        ...['deleted/n/', 'head', 'ids/index', 'ids/n', 'members/groupId/n', 'order/modified/n', 'pack'],
        ...['ranks/n', 'rows/n', 'terms/index', 'terms/list/n', 'terms/n'],
        'partition/n',
      ].map((kind) => (/^(n\/|manifest|partition)/.test(kind) ? kind : `n/${kind}`)),
    );
    for (const [kind, name] of names) {
      for (const [how, damage] of Object.entries(DAMAGES)) {
        const copy = `${directory}-damaged`;
        cpSync(directory, copy, { recursive: true });
        withFile(pathOf(generation, copy), (file) => {
          const row = file.prepare('SELECT bytes FROM blobs WHERE name = ?').get(name);
          const bytes = damage(row?.['bytes'] as Uint8Array);
          file.prepare('UPDATE blobs SET bytes = ? WHERE name = ?').run(bytes, name);
        });
        const damaged = open(copy);
        let refused: unknown;
        for (const [number, query] of QUERIES.entries()) {
          const answer = await query(damaged).catch((error: unknown) => ({ error }));
          if (answer !== null && typeof answer === 'object' && 'error' in answer) {
            refused = answer.error;
            break;
          }
          expect([kind, how, answer]).toEqual([kind, how, expected[number]]);
        }
        expect([kind, how, refused]).toEqual([
          kind,
          how,
          expect.objectContaining({
            name: 'EngineUnavailable',
            message: expect.stringContaining('is built again, as its file is damaged'),
          }),
        ]);
        expect(await damaged.generations(LOOSE.name)).toMatchObject([{ state: 'retired' }]);
        await expect(idsOf(damaged)).rejects.toMatchObject({ name: 'NoGeneration' });
        await damaged.close();
        rmSync(copy, { recursive: true });
      }
    }
    store = open();
  }, 120_000);
});
