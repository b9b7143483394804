import fc from 'fast-check';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { type Generation } from '../../src/kernel/read-store';
import { GenerationProjector } from '../../src/projector/generation-projector';
import { ProjectionGroup } from '../../src/projector/projection-group';
import { prepareParked } from '../../src/projector/parked';
import { type PriceEntry } from '../../projections/price-history';
import { rebuild } from '../../src/projector/rebuild';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { failing } from './failing';
import { withSlowWrites } from './slow-writes';
import { expectedAfter, histories, interleaved, recorded } from './histories';
import { PROJECTIONS, type Documents, World } from './world';

const batchSizes = fc.integer({ min: 1, max: 7 });
const RUNS = { numRuns: 12 };

/** Checks a property, each time in a new world. */
function law<Args extends unknown[]>(
  arbitrary: fc.Arbitrary<Args>,
  check: (world: World, ...args: Args) => Promise<void>,
): Promise<void> {
  return fc.assert(
    fc.asyncProperty(arbitrary, async (args) => {
      const world = await World.open();
      try {
        await prepareParked(world.store);
        await check(world, ...args);
      } finally {
        await world.end();
      }
    }),
    RUNS,
  );
}

async function newGenerations({ store }: World): Promise<readonly Generation[]> {
  const generations: Generation[] = [];
  for (const { collection } of PROJECTIONS) {
    const generation = await store.create(collection);
    await store.finish(generation);
    generations.push(generation);
  }
  return generations;
}

async function openGroup(
  { log, store }: World,
  generations: readonly Generation[],
  through = store,
): Promise<ProjectionGroup> {
  const projectors: GenerationProjector[] = [];
  for (const [at, projection] of PROJECTIONS.entries()) {
    projectors.push(await GenerationProjector.open(log, through, projection, generations[at]!, 'test'));
  }
  return await ProjectionGroup.open(log, projectors);
}

/** Applies events to the end, or a number of batches. */
async function applyEvents(
  { log }: World,
  group: ProjectionGroup,
  batchSize: number,
  batches = Infinity,
): Promise<void> {
  let left = batches;
  for await (const batch of log.readAll({ after: group.position, prefixes: group.prefixes, batchSize })) {
    if (left === 0) break;
    await group.apply(batch);
    left -= 1;
  }
  await group.flush();
}

async function documentsOf(world: World, generations: readonly Generation[]): Promise<readonly Documents[]> {
  const [products, prices] = generations;
  return [
    await world.documents('products', products?.number),
    withoutPositions(await world.documents('price-history', prices?.number)),
  ];
}

/** Price histories without log positions, which depend on how streams are interleaved. */
function withoutPositions(histories: Documents): Documents {
  const documents = Object.entries(
    histories as Readonly<Record<string, { feedId: number; prices: PriceEntry[] }>>,
  );
  return Object.fromEntries(
    documents.map(([id, { feedId, prices }]) => [
      id,
      { feedId, prices: prices.map(([price, since, , currency]) => [price, since, currency]) },
    ]),
  );
}

/** Products without the places in the log of their last changes. */
function withoutChanges(products: Documents): Documents {
  return Object.fromEntries(
    Object.entries(products as Readonly<Record<string, object>>).map(([id, product]) => [
      id,
      { ...product, changed: 0, remapped: null },
    ]),
  );
}

describe('documents', () => {
  test('match the history with any batch size', () =>
    law(fc.tuple(histories, batchSizes), async (world, history, batchSize) => {
      await world.emit(...history);
      const generations = await newGenerations(world);
      await applyEvents(world, await openGroup(world, generations), batchSize);
      expect(await documentsOf(world, generations)).toEqual(expectedAfter(history));
    }));

  test('are the same when a batch is folded while the previous one is being written', () =>
    law(fc.tuple(histories, batchSizes, fc.nat(20)), async (world, history, batchSize, iterations) => {
      await world.emit(...history);
      const generations = await newGenerations(world);
      await applyEvents(
        world,
        await openGroup(world, generations, withSlowWrites(world.store, iterations)),
        batchSize,
      );
      expect(await documentsOf(world, generations)).toEqual(expectedAfter(history));
    }));

  test('are the same with any interleaving of the streams', () =>
    law(
      fc.tuple(histories.map(recorded).chain(interleaved), batchSizes),
      async (world, [history, other], batchSize) => {
        await world.emit(...other);
        const generations = await newGenerations(world);
        await applyEvents(world, await openGroup(world, generations), batchSize);
        const [products, prices] = await documentsOf(world, generations);
        const [expected, expectedPrices] = expectedAfter(history);
        expect([withoutChanges(products!), prices]).toEqual([withoutChanges(expected), expectedPrices]);
      },
    ));

  test('are the same when a second projector applies the same events, ahead or behind', () =>
    law(
      fc.tuple(histories, batchSizes, batchSizes, fc.nat(5)),
      async (world, history, one, other, batches) => {
        await world.emit(...history);
        const generations = await newGenerations(world);
        const [first, second] = [await openGroup(world, generations), await openGroup(world, generations)];
        await applyEvents(world, first, one, batches);
        await applyEvents(world, second, other);
        await applyEvents(world, first, one);
        expect(await documentsOf(world, generations)).toEqual(expectedAfter(history));
      },
    ));

  test('are the same after a crash between any two writes', () =>
    law(
      fc.tuple(histories, batchSizes, fc.integer({ min: 1, max: 60 })),
      async (world, history, batchSize, step) => {
        await world.emit(...history);
        const generations = await newGenerations(world);
        const crash = new EngineUnavailable('killed');
        const broken = failing(
          withSlowWrites(world.store, step % 5),
          'write',
          (call) => call === step,
          crash,
        );
        await applyEvents(world, await openGroup(world, generations, broken), batchSize).catch(
          (error: unknown) => {
            expect(error).toBe(crash);
          },
        );
        await applyEvents(world, await openGroup(world, generations), batchSize);
        expect(await documentsOf(world, generations)).toEqual(expectedAfter(history));
      },
    ));

  test('are the same rebuilt as live, with new events meanwhile', () =>
    law(fc.tuple(histories, histories, batchSizes), async (world, before, after, batchSize) => {
      await world.emit(...before);
      const live = await newGenerations(world);
      await applyEvents(world, await openGroup(world, live), batchSize);
      for (const generation of live) await world.store.swap(generation);
      await world.emit(...after);
      const rebuilt = await rebuild(world.log, world.store, PROJECTIONS, {
        clock: SYSTEM_CLOCK,
        owner: 'test',
        code: 'test',
      });
      expect(rebuilt.map(({ comparison }) => comparison?.differing)).toEqual([0, 0]);
      const expected = expectedAfter([...before, ...after]);
      expect(await documentsOf(world, [])).toEqual(expected);
      expect(rebuilt.map(({ documents }) => documents)).toEqual(
        expected.map((all) => Object.keys(all).length),
      );
    }));
});
