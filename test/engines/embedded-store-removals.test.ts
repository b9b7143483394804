import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { openEmbeddedStore } from '../../src/engines/embedded/store/open-store';
import { type Document, type ReadStore, type Write } from '../../src/kernel/read-store';
import { generatedDocuments, OFFERS } from '../contracts/read-store/documents';
import { at, live } from '../contracts/read-store/subject';
import { storeFolder } from '../support/store-folder';

const target = { collection: OFFERS.name };
const [document, other] = generatedDocuments(2) as [Document, Document];
let directory: string;
let remove: () => Promise<void>;
let store: ReadStore;

beforeEach(async () => {
  ({ directory, remove } = await storeFolder());
  store = openEmbeddedStore({ directory, threads: false, readers: 0 });
  await live(store, OFFERS);
});
afterEach(async () => {
  await store.close();
  await remove();
});

function remembered(): readonly string[] {
  const [name] = readdirSync(directory).filter((file) => /-g\d+\.sqlite$/.test(file));
  const file = new DatabaseSync(join(directory, name!));
  const rows = file.prepare('SELECT id FROM removed ORDER BY id').all() as readonly { id: string }[];
  file.close();
  return rows.map(({ id }) => id);
}

const removals = (forget: boolean): readonly Write[] =>
  [document, other].map(({ id }) => ({ remove: id, version: at(5), ...(forget ? { forget } : {}) }));

test('a removal leaves a row behind, one that is forgotten does not', async () => {
  await store.write(target, [{ put: document, version: at(1) }]);
  await store.write(target, removals(true));
  expect(remembered()).toEqual([]);
  await store.write(target, removals(false));
  expect(remembered()).toEqual([document.id, other.id].sort());
});

test('one that is forgotten later takes the row of an earlier one along', async () => {
  await store.write(target, removals(false));
  await store.write(target, removals(true));
  expect(remembered()).toEqual([]);
});

test('pages that the merges of a build have freed are given back', async () => {
  const documents = generatedDocuments(8_000);
  const generation = await store.create(OFFERS);
  for (let from = 0; from < documents.length; from += 100)
    await store.write(
      { collection: OFFERS.name, generation: generation.number },
      documents.slice(from, from + 100).map((put) => ({ put, version: at(1) })),
    );
  await store.finish(generation);
  const file = new DatabaseSync(join(directory, `${OFFERS.name}-g${generation.number}.sqlite`), {
    returnArrays: true,
  });
  const count = (pragma: string): number =>
    (file.prepare(`PRAGMA ${pragma}`).get() as unknown as readonly [number])[0];
  expect(count('page_count')).toBeGreaterThan(200);
  expect(count('freelist_count')).toBeLessThan(128);
  file.close();
});
