import { compareWithLive } from '../../src/projector/compare';
import { buildGenerations } from '../../src/projector/fill';
import { type GenerationProjector } from '../../src/projector/generation-projector';
import { products } from '../../projections/products';
import { offerId } from '../../src/domain/products/offer';
import { type Position } from '../../src/kernel/event';
import { type Found } from '../../src/kernel/query';
import { type Generation, type ReadStore, type Target, targetOf } from '../../src/kernel/read-store';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { delisted, FEED_ID, listed } from './sample-events';
import { PROJECTIONS, World } from './world';

/** Its pauses are over at once. */
const HASTY = Object.assign(Object.create(SYSTEM_CLOCK) as typeof SYSTEM_CLOCK, {
  pause: async () => undefined,
});

let world: World;
let live: Generation;
let rebuilt: GenerationProjector;

beforeEach(async () => {
  world = await World.open();
  const runner = world.runner({}, PROJECTIONS);
  await runner.start();
  await world.emit(listed('a'), listed('b'), listed('c'));
  await world.settled();
  await runner.stop();
  [live] = (await world.store.generations('products')) as [Generation];
  const until = await world.log.head();
  rebuilt = await built(until);
  await world.store.finish(rebuilt.generation);
});
afterEach(() => world.end());

async function built(until: Position): Promise<GenerationProjector> {
  const options = { code: 'test', until, onBatch: async () => undefined };
  const [projector] = await buildGenerations(world.log, world.store, [products], options);
  return projector!;
}

/** The store with a hook before each batch of a scan, and the number of open scans. */
function withHook(onBatch: (target: Target) => Promise<void>): { store: ReadStore; open: () => number } {
  let open = 0;
  async function* scan(...args: Parameters<ReadStore['scan']>): AsyncGenerator<readonly Found[]> {
    open += 1;
    try {
      for await (const found of world.store.scan(...args)) {
        await onBatch(args[0]);
        yield found;
      }
    } finally {
      open -= 1;
    }
  }
  const store = new Proxy(world.store, {
    get(target, name) {
      if (name === 'scan') return scan;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  return { store, open: () => open };
}

test('comparing closes its scans', async () => {
  const { store, open } = withHook(async () => undefined);
  expect(await compareWithLive(SYSTEM_CLOCK, world.log, store, live, rebuilt)).toMatchObject({
    differing: 0,
  });
  expect(open()).toBe(0);
});

test('a failed comparison closes its scans', async () => {
  const { store, open } = withHook(async ({ generation }) => {
    if (generation === live.number) await world.store.drop(rebuilt.generation);
  });
  await expect(compareWithLive(SYSTEM_CLOCK, world.log, store, live, rebuilt)).rejects.toMatchObject({
    name: 'NoGeneration',
  });
  expect(open()).toBe(0);
});

test('what an interrupted projector has written beyond its checkpoint is compared as of then', async () => {
  await world.emit(listed('d'));
  const { generation } = await built(await world.log.head());
  const id = offerId(FEED_ID, 'd');
  const [found] = await world.store.get(targetOf(generation), [id]);
  const put = { id, fields: { feedId: 1, groupId: id }, body: found!.body };
  await world.store.write(targetOf(live), [{ version: found!.version, put }]);
  const compare = () => compareWithLive(HASTY, world.log, world.store, live, rebuilt);
  expect(await compare()).toMatchObject({ differing: 0, position: found!.version });
  await world.store.write(targetOf(live), [{ version: found!.version, put: { ...put, body: '{}' } }]);
  expect(await compare()).toMatchObject({ differing: 1, differences: [{ id, live: '{}' }] });
});

test('what an interrupted projector has removed beyond its checkpoint is compared as of then', async () => {
  await world.emit(delisted('b'));
  const version = await world.log.head();
  await world.store.write(targetOf(live), [{ version, remove: offerId(FEED_ID, 'b') }]);
  const compare = () => compareWithLive(HASTY, world.log, world.store, live, rebuilt);
  expect(await compare()).toMatchObject({ differing: 0, position: version });
  // The log does not say so.
  await world.store.write(targetOf(live), [{ version, remove: offerId(FEED_ID, 'c') }]);
  expect(await compare()).toMatchObject({ differing: 1, differences: [{ id: offerId(FEED_ID, 'c') }] });
});

test('ids are merged in the order of stores: by UTF-8 bytes', async () => {
  // JavaScript compares UTF-16 code units: there the second one comes first.
  const ids = ['\uffee', '😀', 'a'];
  const writes = ids.map((id) => ({
    version: rebuilt.checkpoint,
    put: { id, fields: { feedId: 1, groupId: id }, body: '{}' },
  }));
  await world.store.write(targetOf(live), writes);
  await world.store.write(targetOf(rebuilt.generation), writes.slice(1));
  const { differing, differences } = await compareWithLive(
    SYSTEM_CLOCK,
    world.log,
    world.store,
    live,
    rebuilt,
  );
  expect([differing, differences]).toEqual([1, [{ id: '\uffee', fields: [], live: '{}' }]]);
});
