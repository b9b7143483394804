import { Client } from '@elastic/elasticsearch';
import { openElasticsearch } from '../../src/engines/elasticsearch/open-store';
import { EVERYTHING } from '../../src/kernel/query';
import { type ReadStore } from '../../src/kernel/read-store';
import { OFFERS } from '../contracts/read-store/documents';
import { at, live } from '../contracts/read-store/subject';
import { FaultyElasticsearch } from '../support/faulty-elasticsearch';
import { ownStore, serverUrl } from './server';

const target = { collection: OFFERS.name };
const server = new Client({ node: serverUrl() });

let proxy: FaultyElasticsearch;
let url: string;
let remove: () => Promise<void>;
let store: ReadStore;

beforeEach(async () => {
  proxy = await FaultyElasticsearch.start(new URL('/', serverUrl()).origin);
  const own = ownStore();
  url = new URL(new URL(own.url).pathname, proxy.url).href;
  remove = own.remove;
  store = openElasticsearch(url);
});
afterEach(async () => {
  await store.close();
  await proxy.stop();
  await remove();
});
afterAll(() => server.close());

test('concurrent reads of checkpoints share one request', async () => {
  await live(store, OFFERS);
  await store.checkpoint(target);
  const before = proxy.asked.length;
  await Promise.all([1, 2, 3].map(() => store.checkpoint(target)));
  expect(proxy.asked.slice(before).filter(({ path }) => path.includes('_mget'))).toHaveLength(1);
});

test('concurrent writes of checkpoints share one request', async () => {
  const others = { ...OFFERS, name: 'others' };
  for (const spec of [OFFERS, others]) await live(store, spec);
  const write = (checkpoint: number, ...names: string[]) =>
    Promise.all(names.map((collection) => store.write({ collection }, [], at(checkpoint))));
  await write(1, OFFERS.name, others.name);
  const before = proxy.asked.length;
  await write(2, OFFERS.name, others.name);
  expect(proxy.asked.slice(before).filter(({ path }) => path.includes('_bulk'))).toHaveLength(1);
  expect(await store.checkpoint(target)).toBe(at(2));
  expect(await store.checkpoint({ collection: others.name })).toBe(at(2));
});

const refreshesSince = (before: number): number =>
  proxy.asked.slice(before).filter(({ path }) => path.includes('_refresh')).length;
const offer = (id: string) => ({ put: { id, fields: { feedId: 1 }, body: '' } });

test('concurrent refreshes share one request, and an index that does not exist fails its own only', async () => {
  const others = { ...OFFERS, name: 'others' };
  for (const spec of [OFFERS, others]) await live(store, spec);
  const refresh = (...names: string[]) =>
    Promise.allSettled(names.map((collection) => store.refresh({ collection })));
  await refresh(OFFERS.name, others.name);
  const before = proxy.asked.length;
  const done = await refresh(OFFERS.name, others.name, OFFERS.name);
  expect(done.map(({ status }) => status)).toEqual(Array(3).fill('fulfilled'));
  expect(refreshesSince(before)).toBe(1);
  const remove = `${new URL(url).pathname.slice(1)}.${others.name}.*`;
  const [index = ''] = Object.keys(await server.indices.get({ index: remove }));
  await server.indices.delete({ index });
  await store.write(target, [{ version: at(1), ...offer('a') }], at(1));
  const [offers, missing] = await refresh(OFFERS.name, others.name);
  expect(offers).toMatchObject({ status: 'fulfilled' });
  expect(missing).toMatchObject({ status: 'rejected', reason: { name: 'NoGeneration' } });
  expect(await store.count(target, EVERYTHING)).toBe(1);
});

test('a refresh up to a checkpoint leaves out what has no document since the last one', async () => {
  await live(store, OFFERS);
  const reader = openElasticsearch(url);
  /** Refreshes that are sent, and the documents that are visible then. */
  const seen = async (): Promise<readonly [refreshes: number, documents: number]> => {
    const position = await reader.checkpoint(target);
    const before = proxy.asked.length;
    await reader.refresh(target, position);
    return [refreshesSince(before), await reader.count(target, EVERYTHING)];
  };
  await store.write(target, [{ version: at(1), ...offer('a') }], at(1));
  expect(await seen()).toEqual([1, 1]);
  await store.write(target, [], at(2));
  expect(await seen()).toEqual([0, 1]);
  await store.write(target, [{ version: at(3), ...offer('b') }], at(3));
  await store.write(target, [], at(4));
  expect(await seen()).toEqual([1, 2]);
  // Documents without a checkpoint count with the next one.
  await store.write(target, [{ version: at(5), ...offer('c') }]);
  await store.write(target, [], at(5));
  expect(await seen()).toEqual([1, 3]);
  // Another process does not know of them.
  const other = openElasticsearch(url);
  await other.write(target, [], at(6));
  expect(await seen()).toEqual([1, 3]);
  // Another generation was not refreshed yet.
  const next = await store.create(OFFERS);
  const wanted = { collection: OFFERS.name, generation: next.number };
  await store.finish(next);
  await store.write(wanted, [{ version: at(1), ...offer('d') }], at(6));
  await store.swap(next);
  expect(await seen()).toEqual([1, 1]);
  // Nobody has read the checkpoint of what is announced, and there may be none without documents.
  await store.write(target, [{ version: at(7), ...offer('e') }], at(7));
  const before = proxy.asked.length;
  await reader.refresh(target, at(7));
  expect([refreshesSince(before), await reader.count(target, EVERYTHING)]).toEqual([1, 2]);
  await reader.refresh(target, at(8));
  expect(refreshesSince(before)).toBe(1);
  await reader.refresh(target);
  expect(refreshesSince(before)).toBe(2);
  for (const one of [reader, other]) await one.close();
});

test('an index that cannot be written fails its own checkpoint only', async () => {
  const { number } = await live(store, OFFERS);
  const others = { ...OFFERS, name: 'others' };
  await live(store, others);
  const hasty = openElasticsearch(url, { retryMs: { write: 100 } });
  const write = (checkpoint: number) =>
    Promise.allSettled(
      [OFFERS.name, others.name, 'missing'].map((collection) =>
        hasty.write({ collection }, [], at(checkpoint)),
      ),
    );
  await write(6);
  await server.indices.putSettings({
    index: `${new URL(url).pathname.slice(1)}.${OFFERS.name}.${number}`,
    settings: { 'index.blocks.write': true },
  });
  const [blocked, other, missing] = await write(7);
  expect(blocked).toMatchObject({ status: 'rejected', reason: { name: 'EngineUnavailable' } });
  expect(other).toMatchObject({ status: 'fulfilled' });
  expect(missing).toMatchObject({ status: 'rejected', reason: { name: 'NoGeneration' } });
  expect(await store.checkpoint({ collection: others.name })).toBe(at(7));
  expect(await store.checkpoint(target)).toBe(at(6));
  await hasty.close();
});

test('an unreadable index fails its own checkpoint only', async () => {
  const { number } = await live(store, OFFERS);
  const others = { ...OFFERS, name: 'others' };
  await live(store, others);
  await store.write({ collection: others.name }, [], at(7));
  const hasty = openElasticsearch(url, { retryMs: { read: 100 } });
  const checkpoints = () =>
    Promise.allSettled(
      [OFFERS.name, others.name, 'missing'].map((collection) => hasty.checkpoint({ collection })),
    );
  await checkpoints();
  await server.indices.close({ index: `${new URL(url).pathname.slice(1)}.${OFFERS.name}.${number}` });
  const [closed, other, missing] = await checkpoints();
  expect(closed).toMatchObject({ status: 'rejected', reason: { name: 'EngineUnavailable' } });
  expect(other).toEqual({ status: 'fulfilled', value: at(7) });
  expect(missing).toMatchObject({ status: 'rejected', reason: { name: 'NoGeneration' } });
  await hasty.close();
});
