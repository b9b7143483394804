import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Directory } from '../../../src/network/directory';
import { openLog } from '../../../src/engines/embedded/log/open-log';
import { START } from '../../../src/kernel/event';
import { type EventLog } from '../../../src/kernel/event-log';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { FingerprintCache } from '../../../src/services/products/load/fingerprint-cache';
import { Loader } from '../../../src/services/products/load/loader';
import { TestClock } from '../../support/clock';
import { overrideLog } from '../../support/temporary-log';

let log: EventLog;
let folder: string;
let feeds: FingerprintCache;
let loader: Loader;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'affilog-'));
  ({ log } = await openLog(join(folder, 'log.sqlite'), false));
  loader = makeLoader();
});

afterEach(async () => {
  await loader.close();
  await log.close();
  await rm(folder, { recursive: true });
});

function makeLoader(over = log): Loader {
  return new Loader({
    log: over,
    fingerprints: (feeds = new FingerprintCache(SYSTEM_CLOCK, over, join(folder, 'cache'))),
    spoolFolder: join(folder, 'spool'),
    directory: new Directory(),
    reached: async () => true,
    clock: new TestClock(() => new Date('2026-05-01T12:00:00Z')),
  });
}

function product(sourceProductId: string, change: object = {}): object {
  return {
    sourceProductId,
    name: `Lamp ${sourceProductId}`,
    description: 'A lamp',
    productUrl: 'https://shop.example/lamp',
    price: 12.5,
    productImage: { url: 'https://img.example/lamp.png' },
    categories: [{ name: 'Lamps' }],
    ...change,
  };
}

async function load(products: readonly object[], mode: 'update' | 'replace' = 'update', feedId = 22) {
  const id = await loader.open({ feedId, mode, format: 'json', directoryPosition: START });
  const body = Buffer.from(JSON.stringify({ products }));
  for (let at = 0; at < body.length; at += 65_536) await loader.write(id, body.subarray(at, at + 65_536));
  return loader.finish(id);
}

async function events(feedId = 22): Promise<string[]> {
  const found: string[] = [];
  for await (const batch of log.readStream(`feed-${feedId}`)) {
    for (const { type, data } of batch) {
      const { sourceProductId, price } = JSON.parse(data) as { sourceProductId?: string; price?: number };
      found.push([type, sourceProductId, price].filter((part) => part !== undefined).join(' '));
    }
  }
  return found;
}

async function imports(): Promise<object[]> {
  const found: object[] = [];
  for await (const batch of log.readStream('feed-22')) {
    found.push(
      ...batch.filter(({ type }) => type === 'FeedImported').map(({ data }) => JSON.parse(data) as object),
    );
  }
  return found;
}

describe('a load (Document 1, Behaviour rules for posting)', () => {
  test('lists new products, revises changed ones, reprices, and writes nothing for unchanged ones', async () => {
    await load([product('a'), product('b'), product('c')]);
    const { faults, changes } = await load([
      product('a'),
      product('b', { price: 9 }),
      product('c', { name: 'New' }),
    ]);
    expect([faults, changes]).toEqual([[], 2]);
    expect(await events()).toEqual([
      'ProductListed a 1250',
      'ProductListed b 1250',
      'ProductListed c 1250',
      'FeedImported',
      'ProductRepriced b 900',
      'ProductRevised c 1250',
      'FeedImported',
    ]);
    expect((await imports())[1]).toMatchObject({
      mode: 'update',
      new: 0,
      revised: 1,
      repriced: 1,
      unchanged: 1,
      removed: 0,
    });
  });

  test('counts products that it recognises while others are being appended (decisions P30)', async () => {
    let turns = 0;
    await loader.close();
    loader = makeLoader(
      overrideLog(log, {
        async append(stream, expected, events) {
          for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
          return await log.append(stream, expected, events);
        },
      }),
    );
    const products = Array.from({ length: 4000 }, (_, at) => product(`p${at}`));
    await load(products);
    turns = 50;
    await load(products.map((posted, at) => (at < 3000 ? { ...posted, price: 9 } : posted)));
    expect((await imports())[1]).toMatchObject({ repriced: 3000, unchanged: 1000 });
  });

  test('recognises an unchanged product in different bytes', async () => {
    await load([product('a', { price: 10 })]);
    const { changes } = await load([
      { ...Object.fromEntries(Object.entries(product('a', { price: 10.0, extra: 1 })).reverse()) },
    ]);
    expect(changes).toBe(0);
  });

  test('leaves products that it does not contain', async () => {
    await load([product('a'), product('b')]);
    await load([product('c')]);
    expect((await events()).filter((event) => event.startsWith('ProductDelisted'))).toEqual([]);
  });

  test('with mode=replace delists all other products, after everything posted has been appended', async () => {
    await load([product('a'), product('b'), product('c')]);
    await load([product('d'), product('b')], 'replace');
    expect((await events()).slice(4)).toEqual([
      'ProductListed d 1250',
      'ProductDelisted a',
      'ProductDelisted c',
      'FeedImported',
    ]);
  });

  test('with mode=replace and an empty list empties the feed (decisions P27)', async () => {
    await load([product('a')]);
    expect(await load([], 'replace')).toMatchObject({ changes: 1 });
  });

  test('with mode=replace keeps the old version of a product that was posted but refused (decisions P1)', async () => {
    await load([product('a'), product('b')]);
    const { faults } = await load([product('a', { price: 'x' }), product('b')], 'replace');
    expect(faults).toMatchObject([{ code: 'PF_280', sourceProductId: 'a' }]);
    expect((await events()).slice(3)).toEqual(['FeedImported']);
  });

  test('stores the last valid product of each id and reports every refusal (decisions P1)', async () => {
    const { faults } = await load([
      product('a', { price: 1 }),
      product('a', { price: 2 }),
      product('a', { price: 'x' }),
      product('b', { price: 'y' }),
    ]);
    expect(faults.map(({ sourceProductId }) => sourceProductId)).toEqual(['a', 'b']);
    expect(await events()).toEqual(['ProductListed a 200', 'FeedImported']);
    // Also when an earlier one is what the feed has already.
    await load([product('a', { price: 2 }), product('a', { price: 3 }), product('a', { price: 2 })]);
    expect((await events()).slice(2)).toEqual(['FeedImported']);
  });

  test('lists a delisted product again', async () => {
    await load([product('a')]);
    await loader.remove(22, ['a', 'never']);
    await load([product('a')]);
    expect(await events()).toEqual([
      'ProductListed a 1250',
      'FeedImported',
      'ProductDelisted a',
      'ProductsDeleted',
      'ProductListed a 1250',
      'FeedImported',
    ]);
  });

  test('reports what it uses: what it spools to disk, and the ids that it knows (decisions X100)', async () => {
    const id = await loader.open({ feedId: 22, mode: 'update', format: 'json', directoryPosition: START });
    await loader.write(id, Buffer.from('{"products":['));
    const write = async (from: number, change: object) => {
      const products = Array.from({ length: 2_000 }, (_, at) => product(`p${from + at}`, change));
      return await loader.write(id, Buffer.from(`${JSON.stringify(products).slice(1, -1)},`));
    };
    const before = await write(0, {});
    const after = await write(2_000, { description: 'x'.repeat(2_000) });
    expect(before.space).toBeLessThan(1_500_000);
    expect(after.space - before.space).toBeGreaterThan(2_000_000);
    expect(after.memory - before.memory).toBeGreaterThan(2_000 * 12);
    await loader.abort(id);
  });

  test('of a malformed body stores nothing (decisions P1)', async () => {
    const id = await loader.open({ feedId: 22, mode: 'update', format: 'json', directoryPosition: START });
    await loader.write(id, Buffer.from(`{"products":[${JSON.stringify(product('a'))},`));
    await expect(loader.finish(id)).rejects.toMatchObject({ code: 'PF_210' });
    expect(await events()).toEqual([]);
  });

  test('stores as many long faults as fit into the event that closes it (decisions X2)', async () => {
    const long = (at: number): object =>
      product('漢'.repeat(320) + String(at), { name: '', description: '', price: 'x'.repeat(200) });
    const good = Array.from({ length: 4 }, (_, at) =>
      product(`p${at}`, { description: 'x'.repeat(190_000) }),
    );
    const refused = Array.from({ length: 400 }, (_, at) => long(at));
    expect(await load([...good, ...refused])).toMatchObject({ changes: 4 });
    const [{ faults }] = (await imports()) as [{ faults: readonly object[] }];
    expect(faults.length).toBeGreaterThan(50);
    expect(faults.length).toBeLessThan(1200);
  });

  test('that a stop breaks off fails as unavailable, even with nothing to write (decisions A12)', async () => {
    const products = Array.from({ length: 5000 }, (_, at) =>
      product(`p${at}`, { description: 'x'.repeat(900) }),
    );
    await load(products);
    const stopped = load(products).then(
      () => 'stored',
      (error: unknown) => (error as Error).name,
    );
    await new Promise((resolve) => setImmediate(resolve));
    await loader.close();
    expect(['stored', 'EngineUnavailable']).toContain(await stopped);
    await expect(load([product('a')])).rejects.toMatchObject({ name: 'EngineUnavailable' });
    loader = makeLoader();
    expect(await load(products)).toMatchObject({ changes: 0 });
  });

  test('continues after what another process has written meanwhile', async () => {
    await load([product('a')]);
    const other = makeLoader();
    const mine = loader;
    loader = other;
    await load([product('a', { price: 5 }), product('b')]);
    await other.close();
    loader = mine;
    await load([product('a'), product('b')]);
    expect((await events()).slice(2)).toEqual([
      'ProductRepriced a 500',
      'ProductListed b 1250',
      'FeedImported',
      'ProductRepriced a 1250',
      'FeedImported',
    ]);
  });

  test('of 5,000 products, in memory and on disk, makes one event for each; repeated, it makes none', async () => {
    const products = Array.from({ length: 5000 }, (_, at) =>
      product(`p${at}`, { description: 'x'.repeat(900) }),
    );
    await load(products);
    expect((await events()).length).toBe(5001);
    expect(await load(products, 'replace')).toMatchObject({ changes: 0 });
    loader = makeLoader();
    expect(await load(products, 'replace')).toMatchObject({ changes: 0 });
  });

  test('waits for earlier loads of the same feed', async () => {
    const loads = await Promise.all(
      Array.from({ length: 5 }, (_, at) => load([product('a', { price: at })])),
    );
    expect(loads.map(({ faults }) => faults.length)).toEqual([0, 0, 0, 0, 0]);
    expect((await events()).filter((event) => event.startsWith('ProductListed'))).toHaveLength(1);
  });

  test('waits neither for loads of other feeds nor for a body that is still being received', async () => {
    const coming = await loader.open({
      feedId: 22,
      mode: 'update',
      format: 'json',
      directoryPosition: START,
    });
    await loader.write(coming, Buffer.from('{"products":['));
    let endTurn = (): void => undefined;
    const turn = new Promise<void>((resolve) => (endTurn = resolve));
    const held = feeds.use(22, () => turn);
    const waiting = load([product('a')]);

    expect(await load([product('a')], 'update', 23)).toMatchObject({ changes: 1 });
    expect(await events(22)).toEqual([]);

    endTurn();
    await Promise.all([held, waiting]);
    await loader.write(coming, Buffer.from(`${JSON.stringify(product('b'))}]}`));
    await loader.finish(coming);
    expect(await events(22)).toEqual([
      'ProductListed a 1250',
      'FeedImported',
      'ProductListed b 1250',
      'FeedImported',
    ]);
  });
});
