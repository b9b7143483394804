import { pauseReadModels, resumeReadModels } from '../../src/operations/projections';
import {
  lastVerification,
  rebuildProjections,
  swapProjections,
  verifyProjections,
} from '../../src/operations/rebuild';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { repriced } from '../projector/sample-events';
import { pauseCall } from '../support/pause-call';
import { a, all, plantPrice, priceOf, stateOf, world } from './projected-products';

const pause = () => pauseReadModels(world, ['products'], SYSTEM_CLOCK, 'user alice');

describe('what a comparison has found can be read afterwards (decisions X150)', () => {
  test('also of a rebuild that leaves its generation ready', async () => {
    await plantPrice(a);
    const { generation: live } = await stateOf('products');
    const [rebuilt] = await rebuildProjections(world, 'products', { then: 'keep', force: true });
    expect(await lastVerification(world, 'products')).toMatchObject({
      ...{ live, rebuilt: rebuilt?.generation.number, documents: 3, sample: 1 },
      ...{ differing: 1, differences: [{ id: a, fields: ['price'] }] },
    });
  });

  test('also of a rebuild that was refused, which names the command', async () => {
    await plantPrice(a);
    await expect(rebuildProjections(world, 'products')).rejects.toThrow(
      '`affilog projections verification products` shows both',
    );
    expect(await lastVerification(world, 'products')).toMatchObject({ differences: [{ id: a }] });
  });

  test('of all documents, also after one of a sample', async () => {
    await verifyProjections(world, ['products']);
    const whole = await lastVerification(world, 'products');
    await verifyProjections(world, ['products'], { most: 1 });
    expect(await lastVerification(world, 'products')).toEqual(whole);
    expect(await lastVerification(world, 'products', true)).toMatchObject({ sample: 3 });
  });

  test('says if there was only one of a sample', async () => {
    await verifyProjections(world, ['products'], { most: 1 });
    await expect(lastVerification(world, 'products')).rejects.toThrow(
      'products has not been compared yet, a sample of it has: --sample, or sample=true',
    );
  });
});

describe('a rebuild of a read model that is paused (decisions X151)', () => {
  test('is refused before it begins, says since when, and what to do', async () => {
    await pause();
    await world.emit(repriced('a', 7));
    await expect(rebuildProjections(world, ['vouchers', 'products'])).rejects.toThrow(
      /^products is paused since \S+Z by user alice, and a swap would change what it shows: `affilog projections resume products`/,
    );
    expect((await stateOf('products')).generations).toHaveLength(1);
    expect(await priceOf(a)).toBe(1);
  });

  test('is not swapped in if it was paused meanwhile', async () => {
    const finishing = pauseCall(world.store, 'finish', 1, ({ collection }) => collection === 'products');
    const rebuilding = rebuildProjections(world, 'products');
    await finishing.reached;
    const { generation } = await stateOf('products');
    await pause();
    finishing.release();
    await expect(rebuilding).rejects.toThrow('products is paused');
    expect(await stateOf('products')).toMatchObject({ state: 'paused', generation });
  });

  test('leaves a generation ready without a swap, and is compared, as any other', async () => {
    await pause();
    const { position } = await stateOf('products');
    await rebuildProjections(world, 'products', { then: 'keep' });
    expect(await verifyProjections(world, ['products'])).toMatchObject([{ differing: 0 }]);
    expect(await stateOf('products')).toMatchObject({ state: 'paused', position });
  });

  test('is swapped in with force, or by a swap, and stays paused', async () => {
    await pause();
    await world.emit(repriced('a', 7));
    await rebuildProjections(world, 'products', { force: true });
    expect(await stateOf('products')).toMatchObject({ state: 'paused' });
    expect(await priceOf(a)).toBe(7);
    await world.emit(repriced('a', 8));
    await rebuildProjections(world, 'products', { then: 'keep' });
    expect(await priceOf(a)).toBe(7);
    await swapProjections(world, ['products'], 'ready');
    expect(await stateOf('products')).toMatchObject({ state: 'paused' });
    expect(await priceOf(a)).toBe(8);
    await resumeReadModels(world, ['products']);
    await world.settled(all);
    expect((await stateOf('products')).paused).toBeUndefined();
  });
});
