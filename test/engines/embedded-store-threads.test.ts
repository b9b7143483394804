import { EVERYTHING } from '../../src/kernel/read-store';
import { readStoreContract } from '../contracts/read-store';
import { generatedDocuments, OFFERS } from '../contracts/read-store/documents';
import { live, put } from '../contracts/read-store/subject';
import { built } from '../support/built';
import { storeFolder, triedStore } from '../support/store-folder';

const { openEmbeddedStore } = built(
  'src/engines/embedded/store/open-store',
) as typeof import('../../src/engines/embedded/store/open-store');

readStoreContract('SQLite with reader threads', () => triedStore(openEmbeddedStore, true));

test('stores in two threads or processes see what the other writes, swaps and drops', async () => {
  const { directory, remove } = await storeFolder();
  const [one, other] = [true, false].map((threads) => openEmbeddedStore({ directory, threads, readers: 2 }));
  const target = { collection: OFFERS.name };
  const first = await live(one!, OFFERS);
  await put(other!, target, generatedDocuments(30));
  expect(await one!.count(target, EVERYTHING)).toBe(30);
  expect(await one!.checkpoint(target)).toBe('0000000000000000001');

  const second = await live(other!, OFFERS);
  expect(await one!.count(target, EVERYTHING)).toBe(0);
  await one!.drop(first);
  expect(await other!.generations(OFFERS.name)).toEqual([second]);
  await expect(other!.get({ ...target, generation: first.number }, ['a'])).rejects.toMatchObject({
    name: 'NoGeneration',
  });
  await Promise.all([one!.close(), other!.close()]);
  await remove();
});

test('queries that are asked at the same time are all answered, and none after it was closed', async () => {
  const { directory, remove } = await storeFolder();
  const store = openEmbeddedStore({ directory, threads: true, readers: 2 });
  const target = { collection: OFFERS.name };
  await live(store, OFFERS);
  await put(store, target, generatedDocuments(100));
  const counts = await Promise.all(Array.from({ length: 200 }, () => store.count(target, EVERYTHING)));
  expect(new Set(counts)).toEqual(new Set([100]));
  await store.close();
  await expect(store.count(target, EVERYTHING)).rejects.toMatchObject({ name: 'EngineUnavailable' });
  await expect(store.checkpoint(target)).rejects.toMatchObject({ name: 'EngineUnavailable' });
  await remove();
});
