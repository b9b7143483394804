import { products as productsProjection } from '../../projections/products';
import { EVERYTHING, type Search } from '../../src/kernel/query';
import { discardGenerations, rebuildProjections, swapProjections } from '../../src/operations/rebuild';
import { catchUp } from '../../src/projector/fill';
import { GenerationProjector } from '../../src/projector/generation-projector';
import { Sweeper } from '../../src/projector/generations';
import { listed, repriced } from '../projector/sample-events';
import { TestClock } from '../support/clock';
import { pauseCall } from '../support/pause-call';
import { a, all, generationsOf, live, priceOf, world } from './projected-products';

const products = { collection: 'products' };

describe('a rollback (decisions X126)', () => {
  test('makes the former generation live, which has all that came since', async () => {
    const before = await live();
    await rebuildProjections(world, ['products']);
    const after = await live();
    await world.emit(repriced('a', 7), listed('d', 4));
    await world.settled(all);
    const began = performance.now();
    await swapProjections(world, ['products'], 'kept');
    expect(performance.now() - began).toBeLessThan(1_000);
    expect((await live()).number).toBe(before.number);
    expect(await priceOf(a)).toBe(7);
    await world.emit(repriced('a', 8));
    await world.settled(all);
    expect(await priceOf(a)).toBe(8);
    // And forward again.
    await swapProjections(world, ['products'], 'kept');
    expect((await live()).number).toBe(after.number);
    expect(await priceOf(a)).toBe(8);
  });

  test('without a projector reads what came since by itself', async () => {
    await rebuildProjections(world, ['products']);
    const [kept] = (await generationsOf('products')) as [[number, string]];
    await world.stopRunners();
    const head = await world.emit(repriced('a', 7));
    // Only the live one is followed.
    const { log, store } = world;
    await catchUp(
      log,
      await GenerationProjector.open(log, store, productsProjection, await live(), 'test'),
      head,
    );
    expect(await priceOf(a, kept[0])).toBe(1);
    await swapProjections(world, ['products'], 'kept');
    expect((await live()).number).toBe(kept[0]);
    expect(await priceOf(a)).toBe(7);
  });

  test('leaves a search that pages by cursor complete', async () => {
    const names = Array.from({ length: 40 }, (_, at) => `s${String(at).padStart(2, '0')}`);
    await world.emit(...names.map((name) => listed(name, 100)));
    await world.settled(all);
    await rebuildProjections(world, ['products']);
    const wanted: Search = {
      filter: EVERYTHING,
      order: [{ field: 'price' }],
      offset: 0,
      size: 5,
      after: null,
    };
    const seen: string[] = [];
    let { found, next } = await world.store.search(products, wanted);
    for (;;) {
      seen.push(...found.map(({ id }) => id));
      if (next === undefined) break;
      await swapProjections(world, ['products'], 'kept');
      ({ found, next } = await world.store.search(products, { ...wanted, after: next }));
    }
    expect(seen).toEqual([...new Set(seen)]);
    expect(seen).toHaveLength(43);
  });

  test('is refused if there is nothing to go back to, and nothing that is ready', async () => {
    await expect(swapProjections(world, ['products'], 'kept')).rejects.toThrow(
      'products has no former generation that is kept',
    );
    await expect(swapProjections(world, ['products'], 'ready')).rejects.toThrow(
      '`affilog rebuild products --no-swap` builds one',
    );
    await rebuildProjections(world, ['products'], { retainMs: 0 });
    expect((await generationsOf('products')).map(([, state]) => state)).toEqual(['live']);
  });

  test('is possible until the former generation is swept, or discarded', async () => {
    await rebuildProjections(world, ['products']);
    const hours = (count: number) => () => Date.now() + count * 3_600_000;
    const sweep = (now: () => number) => new Sweeper(new TestClock(now), world.store, all, 'x').sweep();
    await sweep(hours(23));
    expect(await generationsOf('products')).toHaveLength(2);
    await sweep(hours(25));
    expect((await generationsOf('products')).map(([, state]) => state)).toEqual(['live']);
    await rebuildProjections(world, ['products']);
    expect(await discardGenerations(world, ['products', 'vouchers'])).toEqual([
      expect.stringMatching(/^products-g\d+$/),
    ]);
    await expect(swapProjections(world, ['products'], 'kept')).rejects.toMatchObject({ name: 'SwapRefused' });
    await world.emit(repriced('a', 9));
    await world.settled(all);
    expect(await priceOf(a)).toBe(9);
  });

  test.each([
    ['a rollback', () => swapProjections(world, ['products'], 'kept')],
    ['a rebuild', () => rebuildProjections(world, ['products'])],
    ['a swap', () => swapProjections(world, ['products'], 'ready')],
  ])('is possible after %s was killed before it made a generation live', async (what, work) => {
    await rebuildProjections(world, ['products']);
    if (what === 'a swap') await rebuildProjections(world, ['products'], { then: 'keep' });
    const before = await generationsOf('products');
    const [[former]] = before as [[number, string]];
    const killed = pauseCall(world.store, 'swap', 1, ({ collection }) => collection === 'products');
    const working = work();
    await killed.reached;
    killed.release(new Error('killed'));
    await expect(working).rejects.toThrow('killed');
    killed.release();
    expect(await generationsOf('products')).toEqual(expect.arrayContaining(before));
    await swapProjections(world, ['products'], 'kept');
    expect((await live()).number).toBe(former);
    // Only the one that was live is kept then.
    expect((await generationsOf('products')).filter(([, state]) => state === 'kept')).toHaveLength(1);
  });

  test('while the former generation is being swept is possible, and can be rolled back', async () => {
    await rebuildProjections(world, ['products']);
    const [[former], [latter]] = (await generationsOf('products')) as [[number, string], [number, string]];
    await world.stopRunners();
    const { store } = world;
    const get = store.get.bind(store);
    store.get = async (target, ids, options) => {
      const found = await get(target, ids, options);
      if (!ids.includes('kept products')) return found;
      store.get = get;
      await swapProjections(world, ['products'], 'kept', { retainMs: 48 * 3_600_000 });
      return found;
    };
    const later = new TestClock(() => Date.now() + 24.5 * 3_600_000);
    await new Sweeper(later, store, all, 'x').sweep();
    expect(await generationsOf('products')).toEqual([
      [former, 'live'],
      [latter, 'kept'],
    ]);
    await swapProjections(world, ['products'], 'kept');
    expect((await live()).number).toBe(latter);
  });
});
