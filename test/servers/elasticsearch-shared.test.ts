import { Client } from '@elastic/elasticsearch';
import { openElasticsearch } from '../../src/engines/elasticsearch/open-store';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { EVERYTHING } from '../../src/kernel/query';
import { type ReadStore } from '../../src/kernel/read-store';
import { generatedDocuments, OFFERS } from '../contracts/read-store/documents';
import { at, live, put } from '../contracts/read-store/subject';
import { ownStore, serverUrl } from './server';

const target = { collection: OFFERS.name };
const server = new Client({ node: serverUrl() });

let url: string;
let remove: () => Promise<void>;
let store: ReadStore;
beforeEach(() => {
  ({ url, remove } = ownStore());
  store = openElasticsearch(url);
});
afterEach(async () => {
  await store.close();
  await remove();
});
afterAll(() => server.close());

test('two stores see each other’s writes, swaps and drops; a scan of a dropped generation ends normally', async () => {
  let time = 1_000_000;
  const [one, other] = [0, 1].map(() => openElasticsearch(url, { now: () => time })) as [
    ReadStore,
    ReadStore,
  ];
  const first = await live(one, OFFERS);
  await put(other, target, generatedDocuments(400));
  expect(await one.count(target, EVERYTHING)).toBe(400);
  const second = await other.create({ ...OFFERS, version: 2 });
  expect(second.number).toBeGreaterThan(first.number);
  await other.finish(second);

  const scan = one.scan(target, EVERYTHING)[Symbol.asyncIterator]();
  const { value } = (await scan.next()) as { value: readonly unknown[] };
  await other.swap(second);
  expect(await one.count(target, EVERYTHING)).toBe(0);
  await one.drop(first);
  expect(await other.generations(OFFERS.name)).toEqual([{ ...second, state: 'live' }]);
  await expect(one.count({ ...target, generation: first.number }, EVERYTHING)).rejects.toMatchObject({
    name: 'NoGeneration',
  });
  await expect(other.write({ ...target, generation: first.number }, [], at(1))).rejects.toMatchObject({
    name: 'NoGeneration',
  });
  let scanned = value.length;
  for (let next = await scan.next(); next.done !== true; next = await scan.next())
    scanned += next.value.length;
  expect(scanned).toBe(400);

  const indices = async () =>
    Object.keys(await server.indices.get({ index: `${new URL(url).pathname.slice(1)}.${OFFERS.name}.*` }))
      .length;
  expect(await indices()).toBe(2);
  time += 9 * 60_000;
  await other.sweep();
  expect(await indices()).toBe(2);
  time += 2 * 60_000;
  await other.sweep();
  expect(await indices()).toBe(1);
  await Promise.all([one.close(), other.close()]);
});

test('a removed index of leases is created again, and no generation number is reused', async () => {
  const first = await live(store, OFFERS);
  await put(store, target, generatedDocuments(60));
  await server.indices.delete({ index: `${new URL(url).pathname.slice(1)}.control` });
  await expect(store.lease('projector', 'a', 0, 1_000)).rejects.toThrow(EngineUnavailable);
  expect(await store.lease('projector', 'a', 0, 1_000)).toMatchObject({ owner: 'a' });
  expect((await store.create(OFFERS)).number).toBeGreaterThan(first.number);
  expect(await store.count(target, EVERYTHING)).toBe(60);
});
