import { products as productsProjection } from '../../projections/products';
import { offerId } from '../../src/domain/products/offer';
import { type Position } from '../../src/kernel/event';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { targetOf } from '../../src/kernel/read-store';
import { readModelStates, Rebuilder } from '../../src/operations/projections';
import { listActions } from '../../src/operations/actions';
import { OperatorActions } from '../../src/operations/rest/actions.controller';
import { ProjectionsController } from '../../src/operations/rest/projections.controller';
import {
  lastVerification,
  type ProjectedEngines,
  rebuildProjections,
  swapProjections,
  verifyProjections,
} from '../../src/operations/rebuild';
import { catchUp, fillGenerations } from '../../src/projector/fill';
import { GenerationProjector } from '../../src/projector/generation-projector';
import { Sweeper } from '../../src/projector/generations';
import { readNotes } from '../../src/projector/notes';
import { type Projection } from '../../src/projector/projection';
import { rebuild, type RebuildProgress } from '../../src/projector/rebuild';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { FEED_ID, listed, repriced } from '../projector/sample-events';
import { World } from '../projector/world';
import { TestClock } from '../support/clock';
import { pauseCall } from '../support/pause-call';
import { a, all, generationsOf, live, plantPrice, priceOf, stateOf, world } from './projected-products';

describe('a comparison with what the log says (decisions X127)', () => {
  test('finds nothing if there is nothing, and leaves nothing behind', async () => {
    const before = await generationsOf('products');
    const [found] = await verifyProjections(world, ['products']);
    expect(found).toMatchObject({ name: 'products', documents: 3, differing: 0, differences: [], sample: 1 });
    expect(await generationsOf('products')).toEqual(before);
    expect(await lastVerification(world, 'products')).toMatchObject({ differing: 0 });
    await expect(lastVerification(world, 'vouchers')).rejects.toThrow('vouchers has not been compared yet');
  });

  test.each(['a', 'b', 'c'])('finds an error in document %s, with both bodies', async (name) => {
    const id = offerId(FEED_ID, name);
    await plantPrice(id);
    const [found] = await verifyProjections(world, ['products']);
    expect(found).toMatchObject({ differing: 1, differences: [{ id, fields: ['price'] }] });
    const [shown] = found!.differences;
    expect(priceIn(shown!.live!)).toBe(Number(`9${priceIn(shown!.rebuilt!)}`));
    expect(await lastVerification(world, 'products')).toMatchObject({ differences: [{ id }] });
  });

  const priceIn = (body: string) => (JSON.parse(body) as { readonly price: number }).price;

  test('finds documents that one of them lacks', async () => {
    const target = targetOf(await live());
    const [found] = await world.store.get(target, [a]);
    await world.store.write(target, [{ version: found!.version, remove: a }]);
    const [{ differences }] = (await verifyProjections(world, ['products'])) as [
      Awaited<ReturnType<typeof verifyProjections>>[number],
    ];
    expect(differences).toMatchObject([{ id: a, rebuilt: found!.body }]);
    expect(differences[0]).not.toHaveProperty('live');
  });

  test('of a sample looks at some documents only, and finds errors in these', async () => {
    await world.emit(...Array.from({ length: 200 }, (_, at) => listed(`s${at}`, at + 1)));
    await world.settled(all);
    const ids = Object.keys(await world.documents('products'));
    for (const id of ids) await plantPrice(id);
    const [found, few] = await verifyProjections(world, ['products', 'feeds'], { most: 20 });
    expect(found!.sample).toBe(10);
    // Of each read model by itself: one that is small is looked at as a whole.
    expect(few).toMatchObject({ name: 'feeds', sample: 1, documents: 1 });
    expect(found!.documents).toBeGreaterThan(2);
    expect(found!.documents).toBeLessThan(80);
    expect(found!.differing).toBe(found!.documents);
  });
});

describe('a rebuild (decisions X128)', () => {
  test('of read models of several logs says of which part its progress is, and of all read models in it', async () => {
    const seen: RebuildProgress[] = [];
    const onProgress = (one: RebuildProgress) => {
      seen.push(one);
    };
    const names = ['products', 'vouchers', 'receivers'];
    await rebuildProjections(world, names, { onProgress });
    const [first, second] = ['part 1 of 2, the event log', 'part 2 of 2, the delivery log'];
    expect(new Set(seen.map(({ part, readModels }) => `${part}: ${readModels}`))).toEqual(
      new Set([`${first}: 2`, `${second}: 1`]),
    );
    const steps = seen.filter(({ phase, part }) => phase !== 'project' && part === first);
    for (const step of ['index', 'compare', 'swap'])
      expect(
        new Set(steps.flatMap(({ phase, readModel }) => (phase === step && readModel ? [readModel] : []))),
      ).toEqual(
        new Set([
          { name: 'products', number: 1 },
          { name: 'vouchers', number: 2 },
        ]),
      );
    expect(seen.every(({ part, readModel }) => part === first || readModel === undefined)).toBe(true);
  });

  const again = (over: object = {}, options = {}) =>
    rebuild(world.log, world.store, [{ ...(productsProjection as Projection), ...over }], {
      clock: SYSTEM_CLOCK,
      owner: 'operator',
      code: 'test',
      ...options,
    });

  test('that was interrupted continues where it was', async () => {
    await world.emit(...Array.from({ length: 50 }, (_, at) => listed(`s${at}`, at + 1)));
    await world.settled(all);
    const stop = new AbortController();
    let reported = 0;
    const onProgress = () => {
      if ((reported += 1) === 5) stop.abort();
    };
    await expect(again({}, { signal: stop.signal, batchSize: 5, onProgress })).rejects.toThrow();
    const [, [begun]] = (await generationsOf('products')) as [unknown, [number]];
    expect((await stateOf('products')).rebuild).toMatchObject({ generation: begun, isRunning: false });
    const seen: RebuildProgress[] = [];
    // What comes meanwhile is included too.
    await world.emit(repriced('a', 70));
    const [rebuilt] = await again({}, { batchSize: 5, onProgress: (one: RebuildProgress) => seen.push(one) });
    expect(rebuilt).toMatchObject({ generation: { number: begun }, comparison: { differing: 0 } });
    const left = seen.find(({ phase }) => phase === 'index')!.events;
    expect(left).toBeLessThan(50);
    expect(Math.abs(seen[0]!.total - left)).toBeLessThan(5);
    await world.settled(all);
    expect(await priceOf(a)).toBe(70);
    expect((await stateOf('products')).rebuild).toBeUndefined();
  });

  test('that was killed continues where it was, also with read models that nothing happened to', async () => {
    await world.emit(...Array.from({ length: 50 }, (_, at) => listed(`s${at}`, at + 1)));
    let isDead = false;
    const store = new Proxy(world.store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        if (isDead) return () => Promise.reject(new EngineUnavailable('killed'));
        return value.bind(target) as unknown;
      },
    });
    const projections = all.filter(({ collection: { name } }) => name === 'products' || name === 'vouchers');
    const begun = await Promise.all(projections.map(({ collection }) => store.create(collection)));
    const projectors = await Promise.all(
      projections.map((one, at) => GenerationProjector.open(world.log, store, one, begun[at]!, 'test')),
    );
    const positions: Position[] = [];
    const onBatch = async (_: number, position: Position) => {
      positions.push(position);
      isDead ||= positions.length === 6;
    };
    const until = await world.log.head();
    await expect(fillGenerations(world.log, projectors, { until, onBatch, batchSize: 5 })).rejects.toThrow();
    const stored = await Promise.all(begun.map((one) => world.store.checkpoint(targetOf(one))));
    for (const one of stored) expect(one >= positions[4]!).toBe(true);
    for (const one of begun) await world.store.drop(one);
  });

  test('that was interrupted continues beyond what other read models have', async () => {
    const { log, store } = world;
    await world.stopRunners();
    const head = await world.emit(repriced('a', 7));
    const own = await live();
    await catchUp(log, await GenerationProjector.open(log, store, productsProjection, own, 'test'), head);
    expect((await store.checkpoint({ collection: 'vouchers' })) < head).toBe(true);
    const names = ['products', 'vouchers'];
    const stop = new AbortController();
    // It has caught up with the live one when it compares documents.
    const scanned = pauseCall(
      store,
      'refresh',
      1,
      ({ collection, generation = 0 }) => collection === 'products' && generation > own.number,
    );
    const killed = rebuildProjections(world, names, { signal: stop.signal });
    await scanned.reached;
    const begun = (await store.generations('products')).at(-1)!;
    expect(await store.checkpoint(targetOf(begun))).toBe(head);
    stop.abort();
    scanned.release();
    await expect(killed).rejects.toThrow();
    const rebuilt = await rebuildProjections(world, names);
    expect(rebuilt.find(({ generation }) => generation.collection === 'products')).toMatchObject({
      generation: { number: begun.number },
      comparison: { differing: 0 },
    });
    expect(await priceOf(a)).toBe(7);
  });

  /** A rebuild of products that is interrupted at once. */
  async function interrupted(): Promise<void> {
    const stop = new AbortController();
    const options = { signal: stop.signal, onProgress: () => stop.abort() };
    await expect(rebuildProjections(world, ['products'], options)).rejects.toThrow();
  }

  test('that was interrupted is not listed as running while another read model is rebuilt', async () => {
    await interrupted();
    const paused = pauseCall(world.store, 'finish', 1, ({ collection }) => collection === 'vouchers');
    const rebuilding = rebuildProjections(world, ['vouchers']);
    await paused.reached;
    expect((await stateOf('products')).rebuild).toMatchObject({ isRunning: false });
    expect((await stateOf('vouchers')).rebuild).toMatchObject({ isRunning: true, isComparison: false });
    paused.release();
    await rebuilding;
    expect((await stateOf('vouchers')).rebuild).toBeUndefined();
  });

  test('that was interrupted is listed until its generation is swept', async () => {
    await interrupted();
    expect((await stateOf('products')).rebuild).toMatchObject({ isRunning: false });
    let hours = 25;
    const sweeper = new Sweeper(new TestClock(() => Date.now() + hours * 3_600_000), world.store, all, 'x');
    await sweeper.sweep();
    hours += 1;
    await sweeper.sweep();
    expect((await generationsOf('products')).map(([, state]) => state)).toEqual(['live']);
    expect((await stateOf('products')).rebuild).toBeUndefined();
    expect((await readNotes(world.store, 'rebuild', ['products'])).size).toBe(0);
  });

  test('is not continued by other code', async () => {
    const stop = new AbortController();
    const onProgress = () => stop.abort();
    await expect(again({}, { signal: stop.signal, onProgress })).rejects.toThrow();
    const [, [begun]] = (await generationsOf('products')) as [unknown, [number]];
    const [rebuilt] = await again({}, { code: 'other' });
    expect(rebuilt!.generation.number).toBeGreaterThan(begun);
    expect((await generationsOf('products')).map(([, state]) => state)).toEqual(['kept', 'live']);
  });

  test('of all over another log leaves nothing of the former one that may be swapped in', async () => {
    await rebuildProjections(world, ['products', 'vouchers']);
    await rebuildProjections(world, ['products'], { then: 'keep' });
    const stop = new AbortController();
    await expect(again({}, { signal: stop.signal, onProgress: () => stop.abort() })).rejects.toThrow();
    await world.stopRunners();
    const other = await World.open();
    try {
      await other.emit(listed('x', 1), listed('y', 2));
      const engines = { log: other.log, deliveries: other.deliveries, store: world.store };
      await rebuildProjections(engines, 'all', { force: true });
      for (const { generations, rebuild } of await readModelStates(engines, SYSTEM_CLOCK)) {
        expect(generations.map(({ state }) => state)).toEqual(['live']);
        expect(rebuild).toBeUndefined();
      }
      for (const kind of ['ready', 'kept'] as const)
        await expect(swapProjections(engines, ['products'], kind)).rejects.toMatchObject({
          name: 'SwapRefused',
        });
      expect(Object.keys(await world.documents('products'))).toHaveLength(2);
    } finally {
      await other.end();
    }
  });

  test('that is not swapped in is followed until it is', async () => {
    const before = await live();
    const [rebuilt] = await rebuildProjections(world, ['products'], { then: 'keep' });
    const { number } = rebuilt!.generation;
    expect(await live()).toEqual(before);
    expect(await generationsOf('products')).toEqual([
      [before.number, 'live'],
      [number, 'ready'],
    ]);
    await world.emit(repriced('a', 5));
    await world.settled(all);
    await until(async () => (await priceOf(a, number)) === 5);
    const swapped = await swapProjections(world, ['products'], 'ready');
    expect(swapped).toEqual([{ collection: 'products', generation: number, replaced: before.number }]);
    expect(await generationsOf('products')).toEqual([
      [before.number, 'kept'],
      [number, 'live'],
    ]);
  });

  test('of several read models is one pass', async () => {
    const rebuilt = await rebuildProjections(world, ['products', 'vouchers', 'claims']);
    expect(rebuilt.map(({ generation }) => generation.collection)).toEqual([
      'products',
      'vouchers',
      'claims',
    ]);
  });

  test('says why it failed, until it succeeds', async () => {
    await plantPrice(a);
    await expect(rebuildProjections(world, ['products'])).rejects.toMatchObject({ name: 'RebuildRefused' });
    expect((await stateOf('products')).failure).toMatchObject({
      what: 'rebuild',
      reason: expect.stringContaining('1 documents of products-g') as string,
    });
    await rebuildProjections(world, ['products'], { force: true });
    expect((await stateOf('products')).failure).toBeUndefined();
    expect(await priceOf(a)).toBe(1);
  });
});

describe('failures of rebuilds and comparisons are listed (decisions X128)', () => {
  test.each([
    ['rebuild', (engines: ProjectedEngines) => rebuildProjections(engines, ['products'])],
    ['comparison', (engines: ProjectedEngines) => verifyProjections(engines, ['products'], { most: 5 })],
  ])('over another log: %s', async (what, work) => {
    const other = await World.open();
    try {
      await other.emit(listed('x', 1));
      const { log, deliveries } = other;
      await expect(work({ log, deliveries, store: world.store })).rejects.toMatchObject({ name: 'OtherLog' });
      expect((await stateOf('products')).failure).toMatchObject({
        what,
        reason: expect.stringContaining('EVENT_LOG') as string,
      });
    } finally {
      await other.end();
    }
  });

  test('of a log that cannot be opened', async () => {
    const { log, store } = world;
    const deliveries = () => Promise.reject(new EngineUnavailable('the disk is gone'));
    await expect(rebuildProjections({ log, store, deliveries }, ['deliveries'])).rejects.toThrow('gone');
    expect((await stateOf('deliveries')).failure).toMatchObject({
      what: 'rebuild',
      reason: 'the disk is gone',
    });
  });

  test('of documents that cannot be counted', async () => {
    const count = pauseCall(world.store, 'count', 1);
    const verifying = verifyProjections(world, ['products'], { most: 5 });
    await count.reached;
    count.release(new EngineUnavailable('no answer'));
    await expect(verifying).rejects.toThrow('no answer');
    count.release();
    expect((await stateOf('products')).failure).toMatchObject({ what: 'comparison', reason: 'no answer' });
  });
});

describe('rebuilds over HTTP (decisions X117, X128)', () => {
  const caller = {
    tokenHash: 'ab'.repeat(32),
    organisationId: 9,
    kind: 'operator',
    system: 'OPS',
  } as const;
  const keys = { name: ['vouchers'], reason: undefined, force: undefined, swap: undefined };
  const newController = (): ProjectionsController => {
    const { log, store, deliveries } = world;
    const parts = {
      deliveries,
      notifyKeep: 1e9,
      rollbackWithin: 0,
      rebuilding: new Rebuilder(world, SYSTEM_CLOCK),
    };
    return new ProjectionsController(
      log,
      store,
      parts,
      new OperatorActions(log, store, deliveries, SYSTEM_CLOCK),
    );
  };

  test('are recorded when they are accepted; those that wait when the process stops are not begun', async () => {
    const { log, store } = world;
    const controller = newController();
    const before = await generationsOf('vouchers');
    const first = pauseCall(store, 'create', 1, ({ name }) => name === 'vouchers');
    for (let asked = 0; asked < 3; asked += 1) await controller.act('rebuild', caller, keys);
    await first.reached;
    const listedActions = () => listActions(log, { actions: ['rebuild'], most: 10 });
    expect((await listedActions()).map(({ state }) => state)).toEqual(Array(3).fill('unfinished'));
    const stopped = controller.onModuleDestroy();
    first.release();
    await stopped;
    const actions = await listedActions();
    expect(actions.map(({ state }) => state)).toEqual(Array(3).fill('failed'));
    expect(actions.map(({ failure }) => failure).slice(0, 2)).toEqual(
      Array(2).fill('the server has stopped: ask for it again'),
    );
    // The first one was interrupted, and can be continued.
    expect(await generationsOf('vouchers')).toEqual([...before, [expect.any(Number), 'unfinished']]);
  });

  test('are listed with why they were refused; comparisons are listed too', async () => {
    await plantPrice(a);
    const controller = newController();
    const products = { ...keys, name: ['products'] };
    const ended = async (action: 'rebuild' | 'projections verify') => {
      const listed = async () => (await listActions(world.log, { actions: [action], most: 1 }))[0];
      await until(async () => (await listed())?.state !== 'unfinished');
      return await listed();
    };
    await controller.act('verify', caller, { ...products, sample: undefined, reason: 'prices look odd' });
    expect(await ended('projections verify')).toMatchObject({ state: 'done', reason: 'prices look odd' });
    await controller.act('rebuild', caller, products);
    expect(await ended('rebuild')).toMatchObject({
      state: 'failed',
      failure: expect.stringMatching(/^1 documents of products-g\d+ differ from the live generation: /),
    });
    await controller.onModuleDestroy();
  });

  test('that cannot be recorded are not accepted', async () => {
    const controller = newController();
    const appended = pauseCall(world.log, 'append', 1);
    const asked = controller.act('rebuild', caller, keys);
    await appended.reached;
    appended.release(new EngineUnavailable('the log is read-only'));
    await expect(asked).rejects.toThrow('the log is read-only');
    appended.release();
  });
});

/** Waits for something that is near. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await isSo()); tries += 1) {
    expect(tries).toBeLessThan(600);
    await SYSTEM_CLOCK.pause(50);
  }
}
