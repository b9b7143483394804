import { Client } from '@elastic/elasticsearch';
import { EventEmitter, once } from 'node:events';
import { inspect } from 'node:util';
import { openElasticsearch } from '../../src/engines/elasticsearch/open-store';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { EVERYTHING } from '../../src/kernel/query';
import { type ReadStore, type Write } from '../../src/kernel/read-store';
import { PROJECTIONS } from '../../projections';
import { listParked } from '../../src/projector/parked';
import { waitForPosition } from '../../src/projector/wait';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { generatedDocuments, OFFERS } from '../contracts/read-store/documents';
import { at, live, put } from '../contracts/read-store/subject';
import { listed } from '../projector/sample-events';
import { World } from '../projector/world';
import { FaultyElasticsearch } from '../support/faulty-elasticsearch';
import { ownStore, serverUrl } from './server';

const target = { collection: OFFERS.name };
const documents = generatedDocuments(60);
const puts = (version: number): Write[] =>
  documents.map((document) => ({ put: { ...document, body: String(version) }, version: at(version) }));

let proxy: FaultyElasticsearch;
let url: string;
let remove: () => Promise<void>;
let store: ReadStore;
const server = new Client({ node: serverUrl() });

beforeEach(async () => {
  proxy = await FaultyElasticsearch.start(new URL('/', serverUrl()).origin);
  const own = ownStore();
  url = new URL(new URL(own.url).pathname, proxy.url).href;
  remove = own.remove;
  store = openElasticsearch(url);
});
afterEach(async () => {
  proxy.fault = () => undefined;
  await store.close();
  await proxy.stop();
  await remove();
});
afterAll(() => server.close());

/** A fault for the next requests to a path, as many as given; none afterwards. */
function times(count: number, path: string, fault: Parameters<typeof faultOf>[0]): () => number {
  let left = count;
  proxy.fault = (asked) => {
    if (!asked.path.includes(path) || left === 0) return undefined;
    left -= 1;
    return faultOf(fault);
  };
  return () => left;
}
function faultOf(fault: ReturnType<FaultyElasticsearch['fault']>) {
  return fault;
}

async function everything(): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  await store.refresh(target);
  for await (const batch of store.scan(target, EVERYTHING))
    for (const { id, body } of batch) found.set(id, body);
  return found;
}
const written = (version: number) => new Map(documents.map(({ id }) => [id, String(version)]));

test.each([
  ['that are refused one by one', { busy: (place: number) => place % 3 !== 0 }, 4],
  ['of which a request is refused as a whole', { status: 429, error: 'es_rejected_execution_exception' }, 3],
  ['whose connection is cut', 'cut', 3],
  ['whose answer is lost', 'lost', 3],
  ['while a node behind a proxy is gone', { status: 503 }, 3],
] as const)('writes %s are repeated until all are there', async (_, fault, count) => {
  await live(store, OFFERS);
  await store.write(target, puts(1), at(1));
  const left = times(count, '_bulk', fault);
  const writes = puts(2).map((write, n): Write =>
    n % 5 === 0 ? { remove: documents[n]!.id, version: at(2) } : write,
  );
  await store.write(target, writes, at(2));
  expect(left()).toBe(0);
  expect(await store.checkpoint(target)).toBe(at(2));
  expect(await everything()).toEqual(new Map([...written(2)].filter((_, n) => n % 5 !== 0)));
});

test('the checkpoint is written after all documents', async () => {
  await live(store, OFFERS);
  times(3, '_bulk', { busy: (place) => place > 10 });
  await store.write(target, puts(1), at(1));
  const bulks = proxy.asked.filter(({ path }) => path.includes('_bulk'));
  expect(bulks.map(({ body }) => body.includes('"_id":"checkpoint"'))).toEqual([
    ...Array.from({ length: bulks.length - 1 }, () => false),
    true,
  ]);

  const hasty = openElasticsearch(url, { retryMs: { write: 100 } });
  proxy.fault = ({ path }) => (path.includes('_bulk') ? { busy: (place) => place === 0 } : undefined);
  await expect(hasty.write(target, puts(2), at(2))).rejects.toThrow(EngineUnavailable);
  await hasty.close();
  expect(await store.checkpoint(target)).toBe(at(1));
});

test('a document that the server refuses raises an error, and the checkpoint does not advance', async () => {
  await live(store, OFFERS);
  times(1, '_bulk', { status: 400, error: 'document_parsing_exception' });
  const failure = await store.write(target, puts(1), at(1)).catch((error: unknown) => error);
  expect(failure).not.toBeInstanceOf(EngineUnavailable);
  expect(String(failure)).toContain('document_parsing_exception');
  expect(await store.checkpoint(target)).toBe(at(0));
});

test('an unreachable server is named without its address, and work continues when it is back', async () => {
  const secret = openElasticsearch(url.replace('//', '//somebody:secret@'), {
    retryMs: { read: 0, write: 200 },
  });
  await live(store, OFFERS);
  await secret.write(target, puts(1), at(1));
  await proxy.stop();
  for (const work of [
    () => secret.write(target, puts(2), at(2)),
    () => secret.get(target, ['a']),
    () => secret.lease('projector', 'a', () => 0, 1_000),
  ]) {
    const failure = await work().catch((error: unknown) => error);
    expect(failure).toMatchObject({
      name: 'EngineUnavailable',
      message: expect.stringContaining('cannot be reached (ECONN'),
    });
    expect(inspect(failure, { depth: 10, showHidden: true })).not.toMatch(/127\.0\.0\.1|secret|somebody/);
  }
  await proxy.resume();
  await secret.write(target, puts(2), at(2));
  expect(await everything()).toEqual(written(2));
  await secret.close();
});

test('a write waits for a server that returns in time', async () => {
  await live(store, OFFERS);
  await proxy.stop();
  const writing = store.write(target, puts(1), at(1));
  await new Promise(setImmediate);
  await proxy.resume();
  await writing;
  expect(await everything()).toEqual(written(1));
});

test.each([
  ['silent', 'silence', 'does not answer in time'],
  ['overloaded', { status: 429 }, 'overloaded'],
  ['broken', { status: 500, error: 'io_exception' }, 'io_exception'],
  ['closed to us', { status: 403, error: 'security_exception' }, 'access is denied'],
] as const)('searches in a server that is %s end soon, and say why', async (_, fault, why) => {
  await live(store, OFFERS);
  await put(store, target, documents);
  const hasty = openElasticsearch(url, { retryMs: { read: 100 }, timeoutMs: 200 });
  await hasty.count(target, EVERYTHING);
  proxy.fault = () => fault;
  const page = { filter: EVERYTHING, order: [], offset: 0, size: 10 };
  for (const query of [
    () => hasty.search(target, page),
    () => hasty.searchGroups(target, { ...page, groupBy: 'groupId', within: [], members: 1 }),
    () => hasty.count(target, EVERYTHING),
    () => hasty.scan(target, EVERYTHING)[Symbol.asyncIterator]().next(),
  ])
    await expect(query()).rejects.toMatchObject({
      name: 'EngineUnavailable',
      message: expect.stringContaining(why),
    });
  proxy.fault = () => undefined;
  expect((await hasty.search(target, page)).total).toBe(documents.length);
  await hasty.close();
});

test('a nearly full disk blocks writes but not searches; writes continue when it has room', async () => {
  const { number } = await live(store, OFFERS);
  await put(store, target, documents);
  const index = `${new URL(url).pathname.slice(1)}.${OFFERS.name}.${number}`;
  const block = async (value: boolean | null) => {
    await server.indices.putSettings({ index, settings: { 'blocks.read_only_allow_delete': value } });
  };
  const hasty = openElasticsearch(url, { retryMs: { write: 100 } });
  await block(true);
  await expect(hasty.write(target, puts(2), at(2))).rejects.toMatchObject({
    name: 'EngineUnavailable',
    message: expect.stringContaining('the disk is nearly full'),
  });
  expect(await store.count(target, EVERYTHING)).toBe(documents.length);
  expect(await store.checkpoint(target)).toBe(at(1));
  await block(null);
  await hasty.write(target, puts(2), at(2));
  expect(await everything()).toEqual(written(2));
  await hasty.close();
});

test('an older write does not undo a removal even after the server has forgotten the deletion', async () => {
  const { number } = await live(store, OFFERS);
  const index = `${new URL(url).pathname.slice(1)}.${OFFERS.name}.${number}`;
  await server.indices.putSettings({ index, settings: { gc_deletes: '0ms' } });
  await store.write(target, puts(1), at(1));
  await store.write(
    target,
    documents.map(({ id }) => ({ remove: id, version: at(3) })),
    at(3),
  );
  await server.indices.forcemerge({ index, max_num_segments: 1, flush: true });
  await store.write(target, puts(2), at(2));
  expect(await everything()).toEqual(new Map());
  expect(await store.checkpoint(target)).toBe(at(3));
});

test('the runner recovers after a server was busy, silent, full and unreachable: nothing is lost or parked', async () => {
  const world = await World.open();
  const hasty = openElasticsearch(url, { retryMs: { read: 50, write: 50 }, timeoutMs: 3_000 });
  const failures = new EventEmitter();
  try {
    const report = (failure: unknown) => failures.emit('failure', failure);
    const runner = world.runner({ report }, PROJECTIONS, { log: world.log, store: hasty });
    await runner.start();
    let emitted = 0;
    for (const [fault, why] of [
      [{ status: 429 }, 'it is overloaded'],
      ['silence', 'it does not answer in time'],
      [
        { status: 403, error: 'cluster_block_exception' },
        'its indices are read-only, possibly because the disk is nearly full',
      ],
      [{ busy: () => true }, 'it is overloaded'],
      ['cut', 'it cannot be reached'],
    ] as const) {
      proxy.fault = ({ path }) => (path.includes('_bulk') ? fault : undefined);
      const failed = once(failures, 'failure');
      await world.emit(listed(`p${emitted++}`), listed(`p${emitted++}`));
      expect(await failed).toEqual([expect.any(EngineUnavailable)]);
      expect(runner.trouble()).toContain(why);
      proxy.fault = () => undefined;
    }
    const position = await world.emit(listed(`p${emitted++}`));
    expect(await waitForPosition(SYSTEM_CLOCK, hasty, PROJECTIONS, position, 30_000)).toBe(true);
    expect(await hasty.count({ collection: 'products' }, EVERYTHING)).toBe(emitted);
    expect(await listParked(hasty)).toEqual([]);
  } finally {
    await world.end();
    await hasty.close();
  }
});

test('writes that fill a generation retry through two minutes of 429, live writes do not (a second for a minute)', async () => {
  const scaled = openElasticsearch(url, { retryMs: { write: 4_000 / 60, fill: 120_000 / 60 } });
  const first = await scaled.create(OFFERS);
  let until = Infinity;
  proxy.fault = ({ path }) => {
    if (!path.includes('_bulk') || performance.now() > until) return undefined;
    until = Math.min(until, performance.now() + 1_000);
    return { status: 429 };
  };
  await scaled.write({ ...target, generation: first.number }, puts(1), at(1));
  await scaled.finish(first);
  await scaled.swap(first);
  expect(await everything()).toEqual(written(1));
  until = Infinity;
  await expect(scaled.write(target, puts(2), at(2))).rejects.toThrow(EngineUnavailable);
  await scaled.close();
});

test('a page beyond the end of a random order is empty without sorting the documents', async () => {
  await live(store, OFFERS);
  await put(store, target, documents);
  const order = [{ shuffled: 'price', seed: 7 }];
  const page = { filter: EVERYTHING, order, offset: documents.length, size: 10 };
  expect(await store.search(target, page)).toEqual({ total: documents.length, found: [] });
  expect((await store.search(target, { ...page, offset: documents.length - 1 })).found).toHaveLength(1);
  const sorted = proxy.asked.filter(({ body }) => body.includes('_shard_doc'));
  // The last page consists of its keys and then its documents.
  expect(sorted).toHaveLength(2);
});

test('closing ends a waiting write', async () => {
  await live(store, OFFERS);
  const other = openElasticsearch(url, { retryMs: { write: 600_000 } });
  const waits = new Promise<void>((resolve) => {
    proxy.fault = ({ path }) => {
      if (!path.includes('_bulk')) return undefined;
      resolve();
      return { status: 429 };
    };
  });
  const writing = other.write(target, puts(1), at(1));
  await waits;
  const ended = expect(writing).rejects.toThrow(EngineUnavailable);
  await other.close();
  await ended;
  await expect(other.count(target, EVERYTHING)).rejects.toThrow(EngineUnavailable);
});
