import { setImmediate as turn } from 'node:timers/promises';
import { offerId } from '../../src/domain/products/offer';
import { GenerationProjector } from '../../src/projector/generation-projector';
import { ProjectionGroup } from '../../src/projector/projection-group';
import { listParked, prepareParked, requestRetry } from '../../src/projector/parked';
import { products } from '../../projections/products';
import { type Projection } from '../../src/projector/projection';
import { START } from '../../src/kernel/event';
import { defined, FEED_ID, listed, mapped, repriced } from './sample-events';
import { withSlowWrites } from './slow-writes';
import { World } from './world';

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world.end());

const a = offerId(FEED_ID, 'a');
const b = offerId(FEED_ID, 'b');

const ids = async () => Object.keys(await world.documents('products')).sort();

describe('an event that cannot be folded', () => {
  let isFixed = false;
  beforeEach(() => {
    isFixed = false;
  });

  /** The products, projected by code that fails at a price of 13 until it is fixed. */
  const picky: Projection = {
    ...(products as Projection),
    fold(document, event) {
      if (!isFixed && (event.data as { price?: number }).price === 13) throw new Error('thirteen');
      return products.fold(document as never, event as never);
    },
  };

  /** The products, one of which has a field that is not declared. */
  const wrong: Projection = {
    ...picky,
    describe(document, id, directory) {
      const described = products.describe(document as never, id, directory);
      return id === a ? { ...described, fields: { ...described.fields, colour: 'red' } } : described;
    },
  };

  test('parks its document including later events, while others continue', async () => {
    const runner = world.runner({}, [picky]);
    await runner.start();
    await world.emit(listed('a', 1), repriced('a', 13), listed('b', 2), repriced('a', 3), repriced('b', 4));
    await world.settled([picky]);
    expect(await world.documents('products')).toMatchObject({ [a]: { price: 1 }, [b]: { price: 4 } });
    expect(await listParked(world.store)).toMatchObject([{ document: a, stream: `feed-${FEED_ID}` }]);
    await runner.stop();
    const message = expect.stringMatching(/^1 documents of products-g\d+ could not be folded/) as string;
    expect(world.reports[0]).toMatchObject({ name: 'DocumentsParked', message });
  });

  test('is folded after a requested retry, with all later events', async () => {
    await world.runner({}, [picky]).start();
    await world.emit(defined('11', 'Audio'), listed('a', 13), repriced('a', 3));
    await world.settled([picky]);
    await world.emit(mapped(FEED_ID, 'Audio', '11'));
    await world.settled([picky]);
    isFixed = true;
    await requestRetry(world.store, await listParked(world.store));
    await untilNothingParked();
    expect(await world.documents('products')).toMatchObject({ [a]: { price: 3, mapped: ['11'] } });
  });

  test('is retried automatically when other code runs', async () => {
    const before = world.runner({}, [picky]);
    await before.start();
    await world.emit(listed('a', 13));
    await world.settled([picky]);
    await before.stop();
    isFixed = true;
    await world.runner({ code: 'fixed' }, [picky]).start();
    expect(await world.documents('products')).toMatchObject({ [a]: { price: 13 } });
    expect(await listParked(world.store)).toEqual([]);
  });

  test('stays parked when it fails again', async () => {
    const before = world.runner({}, [picky]);
    await before.start();
    await world.emit(listed('a', 13), listed('b'));
    await world.settled([picky]);
    await before.stop();
    await world.runner({ code: 'no better' }, [picky]).start();
    expect(await listParked(world.store)).toMatchObject([{ document: a, code: 'no better' }]);
  });

  test('is parked when the store refuses the document', async () => {
    await world.runner({}, [wrong]).start();
    await world.emit(listed('a'), listed('b'));
    await world.settled([wrong]);
    expect(await ids()).toEqual([b]);
    expect(await listParked(world.store)).toMatchObject([{ document: a }]);
  });

  test('is parked at the refused event, even if later events have been folded', async () => {
    await prepareParked(world.store);
    const generation = await world.store.create(wrong.collection);
    await world.store.finish(generation);
    const projector = await GenerationProjector.open(
      world.log,
      withSlowWrites(world.store, 20),
      wrong,
      generation,
      'test',
    );
    const group = await ProjectionGroup.open(world.log, [projector]);
    const first = await world.emit(listed('a', 1));
    const head = await world.emit(listed('b', 2), repriced('a', 13), repriced('b', 3));
    for await (const batch of world.log.readAll({ after: START, prefixes: group.prefixes, batchSize: 1 }))
      await group.apply(batch);
    await group.flush();
    expect(await world.documents('products', generation.number)).toMatchObject({ [b]: { price: 3 } });
    expect(await listParked(world.store)).toMatchObject([{ document: a, position: first }]);
    expect(await world.store.checkpoint({ collection: 'products', generation: generation.number })).toBe(
      head,
    );
  });

  test('is parked by itself when it names no document', async () => {
    const withoutId: Projection = {
      ...picky,
      idOf(event) {
        if (!isFixed && (event.data as { price?: number }).price === 13) throw new Error('thirteen');
        return products.idOf(event as never);
      },
    };
    const before = world.runner({}, [withoutId]);
    await before.start();
    await world.emit(listed('a', 13), listed('b', 13), repriced('b', 2));
    await world.settled([withoutId]);
    expect(await ids()).toEqual([]);
    await before.stop();
    isFixed = true;
    await world.runner({ code: 'fixed' }, [withoutId]).start();
    expect(await world.documents('products')).toMatchObject({ [a]: { price: 13 }, [b]: { price: 2 } });
    expect(await listParked(world.store)).toEqual([]);
  });

  async function untilNothingParked(): Promise<void> {
    while ((await listParked(world.store)).length > 0) await turn();
  }
});
