import { Client } from '@elastic/elasticsearch';
import { TestClock } from '../support/clock';
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
  const clock = new TestClock(() => time);
  const [one, other] = [0, 1].map(() => openElasticsearch(url, { clock })) as [ReadStore, ReadStore];
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

test('leases hold whatever the system clocks of machines say, and end when their owner is silent', async () => {
  let monotonic = 5_000;
  const [hour, ttl] = [3_600_000, 1_000];
  const opened = [0, -hour, hour].map((aheadMs) => {
    const wall = (): number => 1_800_000_000_000 + aheadMs + monotonic;
    const clock = new TestClock(wall, () => monotonic);
    return { wall, store: openElasticsearch(url, { clock }) };
  });
  const [right, behind, ahead] = opened as [(typeof opened)[0], (typeof opened)[0], (typeof opened)[0]];
  const asks = ({ store, wall }: (typeof opened)[0], owner: string) =>
    store.lease('rebuild', owner, wall, ttl);
  // Each in turn has it, for five times as long as it lasts.
  for (const holder of [right, behind, ahead]) {
    const others = opened.filter((one) => one !== holder);
    for (let turn = 0; turn < 20; turn += 1) {
      expect(await asks(holder, 'holder')).toMatchObject({ owner: 'holder', expires: holder.wall() + ttl });
      for (const other of others) expect(await asks(other, 'other')).toBeUndefined();
      // From the second look on: by the first one, its clock is all there is.
      for (const { store, wall } of turn > 1 ? others : [])
        expect(await store.holder('rebuild', wall(), ttl)).toBe('holder');
      monotonic += ttl / 4;
    }
    // It is silent from now on.
    monotonic += ttl;
    for (const { store, wall } of others) {
      expect(await store.holder('rebuild', wall(), ttl)).toBeUndefined();
      const lease = await asks({ store, wall }, 'next');
      expect(lease).toMatchObject({ owner: 'next' });
      await store.release(lease!);
    }
  }
  await Promise.all(opened.map(({ store: one }) => one.close()));
});

test('a removed index of leases is created again, and no generation number is reused', async () => {
  const first = await live(store, OFFERS);
  await put(store, target, generatedDocuments(60));
  await server.indices.delete({ index: `${new URL(url).pathname.slice(1)}.control` });
  await expect(store.lease('projector', 'a', () => 0, 1_000)).rejects.toThrow(EngineUnavailable);
  expect(await store.lease('projector', 'a', () => 0, 1_000)).toMatchObject({ owner: 'a' });
  expect((await store.create(OFFERS)).number).toBeGreaterThan(first.number);
  expect(await store.count(target, EVERYTHING)).toBe(60);
});
