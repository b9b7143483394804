import { offerId } from '../../src/products/offer-id';
import { listParked } from '../../src/projector/parked';
import { products } from '../../projections/products';
import { type Projection } from '../../src/projector/projection';
import {
  rebuild,
  type RebuildOptions,
  type RebuildProgress,
  RebuildRefused,
} from '../../src/projector/rebuild';
import { FEED_ID, listed, repriced } from './sample-events';
import { PROJECTIONS, type Documents, World } from './world';

let world: World;
let before: Documents;
beforeEach(async () => {
  world = await World.open();
  await world.runner().start();
  await world.happen(listed('a', 1), listed('b', 2), listed('c', 3));
  await world.settled();
  before = await world.documents('products');
});
afterEach(() => world.end());

const again = (projections: readonly Projection[], options: Partial<RebuildOptions> = {}) =>
  rebuild(world.log, world.store, projections, { owner: 'operator', code: 'test', ...options });

const states = async () => (await world.store.generations('products')).map(({ state }) => state);

/** The products as other code would make them. */
function changed(over: Partial<Projection>): Projection {
  return { ...(products as Projection), ...over };
}

const pricesDoubled: Projection['describe'] = (document, id, directory) => {
  const { fields, document: offer } = products.describe(document as never, id, directory);
  return { fields, document: { ...offer, price: offer.price * 2 } };
};

describe('a rebuild', () => {
  test('puts the same documents in a new generation and keeps the old one', async () => {
    const rebuilt = await again(PROJECTIONS);
    expect(rebuilt.map(({ documents, comparison }) => [documents, comparison?.differing])).toEqual([
      [3, 0],
      [3, 0],
    ]);
    expect(await world.documents('products')).toEqual(before);
    expect(await states()).toEqual(['retired', 'live']);
  });

  test('keeps no more than the generation before', async () => {
    for (let round = 0; round < 3; round += 1) await again([products]);
    expect(await states()).toEqual(['retired', 'live']);
  });

  test('has what happens while it goes on', async () => {
    let appended = Promise.resolve('');
    const onProgress = ({ phase }: RebuildProgress) => {
      if (phase === 'index') appended = world.happen(repriced('a', 9), listed('d'));
    };
    await again([products], { onProgress });
    await appended;
    await world.settled();
    expect(await world.documents('products')).toMatchObject({
      ...before,
      [offerId(FEED_ID, 'a')]: { price: 9 },
      [offerId(FEED_ID, 'd')]: {},
    });
  });

  test('tells how far it is', async () => {
    const told: RebuildProgress[] = [];
    await again(PROJECTIONS, { onProgress: (progress) => told.push(progress) });
    expect(told[0]).toMatchObject({ phase: 'project', events: 3, total: 3, secondsLeft: 0 });
    expect([...new Set(told.map(({ phase }) => phase))]).toEqual(['project', 'index', 'compare', 'swap']);
  });

  test('refuses what is not as the live generation, and says what differs', async () => {
    const refusal = again([changed({ describe: pricesDoubled })]);
    await expect(refusal).rejects.toThrow(RebuildRefused);
    await expect(refusal).rejects.toThrow(offerId(FEED_ID, 'a'));
    expect(await world.documents('products')).toEqual(before);
  });

  test('takes it all the same when it is told to', async () => {
    const [rebuilt] = await again([changed({ describe: pricesDoubled })], { force: true });
    expect(rebuilt?.comparison).toMatchObject({ differing: 3 });
    expect(await world.documents('products', rebuilt?.generation.number)).toMatchObject({
      [offerId(FEED_ID, 'a')]: { price: 2 },
    });
  });

  test('does not compare with a generation of another version', async () => {
    const collection = { ...products.collection, version: products.collection.version + 1 };
    const [rebuilt] = await again([changed({ collection, describe: pricesDoubled })]);
    expect(rebuilt?.comparison).toBeUndefined();
    expect(await world.documents('products', rebuilt?.generation.number)).toMatchObject({
      [offerId(FEED_ID, 'b')]: { price: 4 },
    });
  });

  test('refuses to leave out what cannot be folded', async () => {
    const fold: Projection['fold'] = () => {
      throw new Error('no');
    };
    const collection = { ...products.collection, version: products.collection.version + 1 };
    await expect(again([changed({ collection, fold })])).rejects.toThrow('3 documents');
    expect(await world.documents('products')).toEqual(before);
  });

  test('leaves everything as it was when it is given up, and the next one removes the rest', async () => {
    const giveUp = new AbortController();
    const onProgress = () => {
      giveUp.abort();
    };
    await expect(again(PROJECTIONS, { signal: giveUp.signal, onProgress })).rejects.toThrow();
    expect(await states()).toEqual(['live', 'building']);
    expect(await world.documents('products')).toEqual(before);
    await again(PROJECTIONS);
    expect(await states()).toEqual(['retired', 'live']);
    expect(await listParked(world.store)).toEqual([]);
  });

  test('waits for another that is under way', async () => {
    const both = await Promise.all([
      again([products], { owner: 'one' }),
      again([products], { owner: 'other' }),
    ]);
    const numbers = both.map(([rebuilt]) => rebuilt!.generation.number);
    expect(numbers[0]).not.toBe(numbers[1]);
    expect(await states()).toEqual(['retired', 'live']);
  });
});
