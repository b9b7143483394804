import fc from 'fast-check';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { type Generation } from '../../src/kernel/read-store';
import { GenerationFold } from '../../src/projector/generation-fold';
import { LogPass } from '../../src/projector/log-pass';
import { prepareParked } from '../../src/projector/parked';
import { type PriceEntry } from '../../projections/price-history';
import { rebuild } from '../../src/projector/rebuild';
import { failing } from './failing';
import { late } from './late';
import { expectedAfter, histories, interleaved } from './histories';
import { PROJECTIONS, type Documents, World } from './world';

const batchSizes = fc.integer({ min: 1, max: 7 });
const RUNS = { numRuns: 12 };

/** A property of a world of its own. */
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

async function openPass(
  { log, store }: World,
  generations: readonly Generation[],
  through = store,
): Promise<LogPass> {
  const folds: GenerationFold[] = [];
  for (const [at, projection] of PROJECTIONS.entries()) {
    folds.push(await GenerationFold.open(log, through, projection, generations[at]!, 'test'));
  }
  return await LogPass.open(log, folds);
}

/** Reads on, to the end or some batches. */
async function readOn({ log }: World, pass: LogPass, batchSize: number, batches = Infinity): Promise<void> {
  let left = batches;
  for await (const batch of log.readAll({ after: pass.position, prefixes: pass.prefixes, batchSize })) {
    if (left === 0) break;
    await pass.take(batch);
    left -= 1;
  }
  await pass.written();
}

async function documentsOf(world: World, generations: readonly Generation[]): Promise<readonly Documents[]> {
  const [products, prices] = generations;
  return [
    await world.documents('products', products?.number),
    withoutPositions(await world.documents('price-history', prices?.number)),
  ];
}

/** Histories without the places in the log, which are others when streams are written beside each other differently. */
function withoutPositions(histories: Documents): Documents {
  const documents = Object.entries(histories as Readonly<Record<string, { prices: PriceEntry[] }>>);
  return Object.fromEntries(
    documents.map(([id, { prices }]) => [id, { prices: prices.map(([price, since]) => [price, since]) }]),
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
  test('are what the history comes to, however it is cut into batches', () =>
    law(fc.tuple(histories, batchSizes), async (world, history, batchSize) => {
      await world.happen(...history);
      const generations = await newGenerations(world);
      await readOn(world, await openPass(world, generations), batchSize);
      expect(await documentsOf(world, generations)).toEqual(expectedAfter(history));
    }));

  test('are the same when each batch is folded while the one before is being written', () =>
    law(fc.tuple(histories, batchSizes, fc.nat(20)), async (world, history, batchSize, turns) => {
      await world.happen(...history);
      const generations = await newGenerations(world);
      await readOn(world, await openPass(world, generations, late(world.store, turns)), batchSize);
      expect(await documentsOf(world, generations)).toEqual(expectedAfter(history));
    }));

  test('are the same in whatever order streams have been written beside each other', () =>
    law(fc.tuple(histories.chain(interleaved), batchSizes), async (world, [history, other], batchSize) => {
      await world.happen(...other);
      const generations = await newGenerations(world);
      await readOn(world, await openPass(world, generations), batchSize);
      const [products, prices] = await documentsOf(world, generations);
      const [expected, expectedPrices] = expectedAfter(history);
      expect([withoutChanges(products!), prices]).toEqual([withoutChanges(expected), expectedPrices]);
    }));

  test('are the same when a second projector does it all again, ahead or behind', () =>
    law(
      fc.tuple(histories, batchSizes, batchSizes, fc.nat(5)),
      async (world, history, one, other, batches) => {
        await world.happen(...history);
        const generations = await newGenerations(world);
        const [first, second] = [await openPass(world, generations), await openPass(world, generations)];
        await readOn(world, first, one, batches);
        await readOn(world, second, other);
        await readOn(world, first, one);
        expect(await documentsOf(world, generations)).toEqual(expectedAfter(history));
      },
    ));

  test('are the same after a crash between any two steps', () =>
    law(
      fc.tuple(histories, batchSizes, fc.integer({ min: 1, max: 60 })),
      async (world, history, batchSize, step) => {
        await world.happen(...history);
        const generations = await newGenerations(world);
        const crash = new EngineUnavailable('killed');
        const broken = failing(late(world.store, step % 5), 'write', (call) => call === step, crash);
        await readOn(world, await openPass(world, generations, broken), batchSize).catch((error: unknown) => {
          expect(error).toBe(crash);
        });
        await readOn(world, await openPass(world, generations), batchSize);
        expect(await documentsOf(world, generations)).toEqual(expectedAfter(history));
      },
    ));

  test('are the same rebuilt as live, which goes on meanwhile', () =>
    law(fc.tuple(histories, histories, batchSizes), async (world, before, after, batchSize) => {
      await world.happen(...before);
      const live = await newGenerations(world);
      await readOn(world, await openPass(world, live), batchSize);
      for (const generation of live) await world.store.swap(generation);
      await world.happen(...after);
      const rebuilt = await rebuild(world.log, world.store, PROJECTIONS, { owner: 'test', code: 'test' });
      expect(rebuilt.map(({ comparison }) => comparison?.differing)).toEqual([0, 0]);
      const expected = expectedAfter([...before, ...after]);
      expect(await documentsOf(world, [])).toEqual(expected);
      expect(rebuilt.map(({ documents }) => documents)).toEqual(
        expected.map((all) => Object.keys(all).length),
      );
    }));
});
