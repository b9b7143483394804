import { offerId } from '../../src/domain/products/offer';
import { RebuildUnderWay } from '../../src/projector/generations';
import { listParked } from '../../src/projector/parked';
import { products } from '../../projections/products';
import { DOMAIN_LOG, type Projection } from '../../src/projector/projection';
import {
  rebuild,
  type RebuildParts,
  type RebuildProgress,
  RebuildRefused,
} from '../../src/projector/rebuild';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { pauseCall } from '../support/pause-call';
import { FEED_ID, listed, repriced } from './sample-events';
import { PROJECTIONS, type Documents, World } from './world';

let world: World;
let before: Documents;
beforeEach(async () => {
  world = await World.open();
  await world.runner().start();
  await world.emit(listed('a', 1), listed('b', 2), listed('c', 3));
  await world.settled();
  before = await world.documents('products');
});
afterEach(() => world.end());

const rebuildAgain = (projections: readonly Projection[], options: Partial<RebuildParts> = {}) =>
  rebuild(world.log, world.store, projections, {
    clock: SYSTEM_CLOCK,
    owner: 'operator',
    code: 'test',
    ...options,
  });

const states = async () => (await world.store.generations('products')).map(({ state }) => state);

/** The products projection with changes. */
function changed(over: Partial<Projection>): Projection {
  return { ...(products as Projection), ...over };
}

const withDoubledPrices: Projection['describe'] = (document, id, directory) => {
  const { fields, document: offer } = products.describe(document as never, id, directory);
  return { fields, document: { ...offer, price: offer.price * 2 } };
};

describe('a rebuild', () => {
  test('creates a new generation with the same documents and retains the old one', async () => {
    const rebuilt = await rebuildAgain(PROJECTIONS);
    expect(rebuilt.map(({ documents, comparison }) => [documents, comparison?.differing])).toEqual([
      [3, 0],
      [3, 0],
    ]);
    expect(await world.documents('products')).toEqual(before);
    expect(await states()).toEqual(['retired', 'live']);
  });

  test('retains only the previous generation', async () => {
    for (let round = 0; round < 3; round += 1) await rebuildAgain([products]);
    expect(await states()).toEqual(['retired', 'live']);
  });

  test('includes events appended during the rebuild', async () => {
    let appended = Promise.resolve('');
    const onProgress = ({ phase }: RebuildProgress) => {
      if (phase === 'index') appended = world.emit(repriced('a', 9), listed('d'));
    };
    await rebuildAgain([products], { onProgress });
    await appended;
    await world.settled();
    expect(await world.documents('products')).toMatchObject({
      ...before,
      [offerId(FEED_ID, 'a')]: { price: 9 },
      [offerId(FEED_ID, 'd')]: {},
    });
  });

  test('reports its progress', async () => {
    const reported: RebuildProgress[] = [];
    await rebuildAgain(PROJECTIONS, { onProgress: (progress) => reported.push(progress) });
    expect(reported[0]).toMatchObject({ phase: 'project', events: 3, total: 3 });
    expect([...new Set(reported.map(({ phase }) => phase))]).toEqual(['project', 'index', 'compare', 'swap']);
  });

  test('folds the next events while a batch is written', async () => {
    await world.emit(...Array.from({ length: 10 }, (_, at) => listed(`s${at}`, at + 1)));
    await world.settled();
    const writing = pauseCall(world.store, 'write', 1, ({ collection }) => collection === 'products');
    let folded = 0;
    const fold: Projection['fold'] = (document, event) => {
      folded += 1;
      if (folded > 5) writing.release();
      return products.fold(document as never, event as never);
    };
    const [rebuilt] = await rebuildAgain([changed({ fold })], { batchSize: 5 });
    expect(rebuilt).toMatchObject({ documents: 13, comparison: { differing: 0 } });
    expect(folded).toBe(13);
  });

  test('refuses a generation that differs from the live one, and names the differences', async () => {
    const refusal = rebuildAgain([changed({ describe: withDoubledPrices })]);
    await expect(refusal).rejects.toThrow(RebuildRefused);
    await expect(refusal).rejects.toThrow(offerId(FEED_ID, 'a'));
    expect(await world.documents('products')).toEqual(before);
  });

  test('swaps in a different generation with force', async () => {
    const [rebuilt] = await rebuildAgain([changed({ describe: withDoubledPrices })], { force: true });
    expect(rebuilt?.comparison).toMatchObject({ differing: 3 });
    expect(await world.documents('products', rebuilt?.generation.number)).toMatchObject({
      [offerId(FEED_ID, 'a')]: { price: 2 },
    });
  });

  test('does not compare with a generation of another version', async () => {
    const collection = { ...products.collection, version: products.collection.version + 1 };
    const [rebuilt] = await rebuildAgain([changed({ collection, describe: withDoubledPrices })]);
    expect(rebuilt?.comparison).toBeUndefined();
    expect(await world.documents('products', rebuilt?.generation.number)).toMatchObject({
      [offerId(FEED_ID, 'b')]: { price: 4 },
    });
  });

  test('refuses a generation with parked documents', async () => {
    const fold: Projection['fold'] = () => {
      throw new Error('no');
    };
    const collection = { ...products.collection, version: products.collection.version + 1 };
    await expect(rebuildAgain([changed({ collection, fold })])).rejects.toThrow('3 documents');
    expect(await world.documents('products')).toEqual(before);
  });

  test('changes nothing when it is cancelled; the next one removes its generation', async () => {
    const cancel = new AbortController();
    const onProgress = () => {
      cancel.abort();
    };
    await expect(rebuildAgain(PROJECTIONS, { signal: cancel.signal, onProgress })).rejects.toThrow();
    expect(await states()).toEqual(['live', 'building']);
    expect(await world.documents('products')).toEqual(before);
    await rebuildAgain(PROJECTIONS);
    expect(await states()).toEqual(['retired', 'live']);
    expect(await listParked(world.store)).toEqual([]);
  });

  test('waits for a running rebuild', async () => {
    const both = await Promise.all([
      rebuildAgain([products], { owner: 'one' }),
      rebuildAgain([products], { owner: 'other' }),
    ]);
    const numbers = both.map(([rebuilt]) => rebuilt!.generation.number);
    expect(numbers[0]).not.toBe(numbers[1]);
    expect(await states()).toEqual(['retired', 'live']);
  });

  test('gives up what another one has continued and completed meanwhile (decisions X128)', async () => {
    const finish = pauseCall(world.store, 'finish', 1);
    const one = rebuildAgain([products], { owner: 'one', force: true });
    await finish.reached;
    const rebuildLease = { ...DOMAIN_LOG.rebuildLease, name: 'rebuild by another clock' };
    const [continued] = await rebuildAgain([products], {
      ...{ owner: 'other', source: { ...DOMAIN_LOG, rebuildLease } },
    });
    finish.release();
    await expect(one).rejects.toThrow(RebuildUnderWay);
    const all = await world.store.generations('products');
    expect(all.map(({ state }) => state)).toEqual(['retired', 'live']);
    expect(all.at(-1)?.number).toBe(continued?.generation.number);
  });

  test('begins again if it was interrupted when it had more than the live one (decisions X127)', async () => {
    await world.stopRunners();
    const version = await world.emit(repriced('a', 9));
    const id = offerId(FEED_ID, 'a');
    const write = pauseCall(world.store, 'write', 1, ({ collection }, [one]) => {
      return collection === 'products' && one?.version === version;
    });
    const interrupted = rebuildAgain([products], { owner: 'one' });
    await write.reached;
    write.release(new Error('its process is killed'));
    await expect(interrupted).rejects.toThrow('killed');
    write.release();
    // What it has written before its checkpoint.
    const [building] = (await world.store.generations('products')).filter(
      ({ state }) => state === 'building',
    );
    const put = {
      id,
      fields: { feedId: FEED_ID, groupId: id },
      body: JSON.stringify({ ...Object(before[id]), price: 9 }),
    };
    const target = { collection: 'products', generation: building!.number };
    await world.store.write(target, [{ version, put }]);
    const [rebuilt] = await rebuildAgain([products], { owner: 'other', force: true });
    expect(rebuilt?.comparison?.differing).toBe(0);
    expect(rebuilt?.generation.number).not.toBe(building!.number);
  });

  test('keeps what another one makes live after all, whose lease did not count any more', async () => {
    const swap = pauseCall(world.store, 'swap', 1, ({ collection }) => collection === 'products');
    const one = rebuildAgain([products], { owner: 'one' });
    await swap.reached;
    const drop = pauseCall(world.store, 'drop', 1);
    const rebuildLease = { ...DOMAIN_LOG.rebuildLease, name: 'rebuild by another clock' };
    const own = { owner: 'other', code: 'other', source: { ...DOMAIN_LOG, rebuildLease } };
    const other = rebuildAgain([products], own);
    await drop.reached;
    swap.release();
    const first = await one;
    drop.release();
    for (const [rebuilt] of [first, await other])
      expect(rebuilt).toMatchObject({ documents: 3, comparison: { differing: 0 } });
    expect(await world.documents('products')).toEqual(before);
    expect(await states()).toEqual(['retired', 'live']);
  });
});
