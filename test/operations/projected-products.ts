import { PROJECTIONS } from '../../projections';
import { products as productsProjection } from '../../projections/products';
import { offerId } from '../../src/domain/products/offer';
import { type Generation, targetOf } from '../../src/kernel/read-store';
import { Directory } from '../../src/network/directory';
import { readModelStates } from '../../src/operations/projections';
import { type Projection } from '../../src/projector/projection';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { FEED_ID, listed } from '../projector/sample-events';
import { World } from '../projector/world';

export const all: readonly Projection[] = PROJECTIONS;
export const a = offerId(FEED_ID, 'a');

/** A world in which all read models follow the log, which lists the products a, b and c. */
export let world: World;
beforeEach(async () => {
  world = await World.open();
  await world.runner({}, all).start();
  await world.emit(listed('a', 1), listed('b', 2), listed('c', 3));
  await world.settled(all);
});
afterEach(() => world.end());

export const stateOf = async (name: string) => (await readModelStates(world, SYSTEM_CLOCK, [name]))[0]!;
export const generationsOf = async (name: string) =>
  (await stateOf(name)).generations.map(({ number, state }) => [number, state]);

/** The live generation of the products. */
export const live = async (): Promise<Generation> =>
  (await world.store.generations('products')).find(({ state }) => state === 'live')!;
export const priceOf = async (id: string, generation?: number) =>
  ((await world.documents('products', generation))[id] as { readonly price?: number } | undefined)?.price;

/** Writes another price to a product of the live generation, as a bug or a damaged disk does. */
export async function plantPrice(id: string): Promise<void> {
  const target = targetOf(await live());
  const [found] = await world.store.get(target, [id]);
  const { fields } = productsProjection.describe(JSON.parse(found!.body) as never, id, new Directory());
  const put = { id, fields, body: found!.body.replace('"price":', '"price":9') };
  await world.store.write(target, [{ version: found!.version, put }]);
}
