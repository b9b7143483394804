import { DatabaseSync } from '@photostructure/sqlite';
import { join } from 'node:path';
import { openEmbeddedStore } from '../../src/engines/embedded/store/open-store';
import { OFFERS } from '../contracts/read-store/documents';
import { storeFolder } from '../support/store-folder';

test('finishing a generation yields after each index, so that the lease is renewed', async () => {
  const { directory, remove } = await storeFolder();
  const store = openEmbeddedStore({ directory, threads: false, readers: 0 });
  const generation = await store.create(OFFERS);
  const database = new DatabaseSync(join(directory, `${OFFERS.name}-g${generation.number}.sqlite`));
  const indexes = database.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name GLOB 'by_*'");
  const seen = new Set<unknown>();
  let isFinished = false as boolean;
  const finished = store.finish(generation).finally(() => (isFinished = true));
  while (!isFinished) {
    seen.add(indexes.get()?.n);
    await new Promise(setImmediate);
  }
  await finished;
  const all = OFFERS.sorts?.length ?? 0;
  expect(all).toBeGreaterThan(1);
  expect([...seen]).toEqual(Array.from({ length: all + 1 }, (_, n) => n));
  database.close();
  await store.close();
  await remove();
});
