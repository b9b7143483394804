import fc from 'fast-check';
import { type Generation } from '../../src/kernel/read-store';
import { GenerationProjector } from '../../src/projector/generation-projector';
import { ProjectionGroup } from '../../src/projector/projection-group';
import { prepareParked } from '../../src/projector/parked';
import { type PriceEntry } from '../../projections/price-history';
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
): Promise<ProjectionGroup> {
  const projectors: GenerationProjector[] = [];
  for (const [at, projection] of PROJECTIONS.entries()) {
    projectors.push(await GenerationProjector.open(log, store, projection, generations[at]!, 'test'));
  }
  return await ProjectionGroup.open(log, projectors);
}

/** Applies all events. */
async function applyEvents({ log }: World, group: ProjectionGroup, batchSize: number): Promise<void> {
  for await (const batch of log.readAll({ after: group.position, prefixes: group.prefixes, batchSize }))
    await group.apply(batch);
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

/** What crashes, rebuilds and second projectors do to them: test/world. */
describe('documents', () => {
  test('match the history with any batch size', () =>
    law(fc.tuple(histories, batchSizes), async (world, history, batchSize) => {
      await world.emit(...history);
      const generations = await newGenerations(world);
      await applyEvents(world, await openGroup(world, generations), batchSize);
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
});
