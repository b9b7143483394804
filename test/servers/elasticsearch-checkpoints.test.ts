import { Client } from '@elastic/elasticsearch';
import { openElasticsearch } from '../../src/engines/elasticsearch/open-store';
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
