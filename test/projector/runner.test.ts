import { setImmediate as turn } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { offerId } from '../../src/domain/products/offer';
import { GenerationProjector } from '../../src/projector/generation-projector';
import { discardBeside } from '../../src/projector/generations';
import { ProjectionGroup } from '../../src/projector/projection-group';
import { listParked, prepareParked } from '../../src/projector/parked';
import { products } from '../../projections/products';
import { delistings } from '../../projections/feeds';
import { priceHistory, pricesOf } from '../../projections/price-history';
import { DOMAIN_LOG, type Projection } from '../../src/projector/projection';
import { rebuild } from '../../src/projector/rebuild';
import { toNewEvent } from '../../src/kernel/decider';
import { START } from '../../src/kernel/event';
import { EngineUnavailable, type EventLog } from '../../src/kernel/event-log';
import { type Generation, type Target, targetOf } from '../../src/kernel/read-store';
import { type Clock, SYSTEM_CLOCK, SystemClock } from '../../src/runtime/clock';
import { newPromise } from '../../src/runtime/concurrency';
import { defined, delisted, FEED_ID, listed, mapped, repriced, unmapped } from './sample-events';
import { numberedByCollection } from '../support/numbered-store';
import { pauseCall } from '../support/pause-call';
import { failing } from './failing';
import { PROJECTIONS, World } from './world';

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world.end());

const a = offerId(FEED_ID, 'a');
const b = offerId(FEED_ID, 'b');

const ids = async () => Object.keys(await world.documents('products')).sort();

describe('the runner', () => {
  test('builds missing generations before the start completes', async () => {
    await world.emit(listed('a'));
    await world.runner().start();
    expect(await ids()).toEqual([a]);
  });

  test('keeps read models that take no loads up to date while others cannot be written (decisions X154)', async () => {
    const others: Projection = {
      collection: { name: 'others', version: 1, fields: {} },
      streams: ['voucher-'],
      handles: ['VoucherWithdrawn'],
      idOf: ({ stream }) => stream,
      fold: (_, { position }) => ({ position }),
      describe: (document) => ({ fields: {}, document }),
    };
    const both = [...PROJECTIONS, others];
    const { promise: released, resolve: release } = newPromise();
    const { promise: stuck, resolve: isStuck } = newPromise();
    const isProducts = ({ collection }: Target): boolean => collection === 'products';
    let isLate = false;
    const store = new Proxy(world.store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        if (name !== 'write') return value.bind(target) as unknown;
        return async (...args: readonly unknown[]): Promise<unknown> => {
          if (isLate && isProducts(args[0] as Target)) {
            isStuck();
            await released;
          }
          return (await Reflect.apply(value, target, args)) as unknown;
        };
      },
    });
    await world.runner({}, both, { log: world.log, store }).start();
    await world.settled(both);
    isLate = true;
    await world.emit(listed('a'));
    await stuck;
    await world.emit(listed('b'));
    const withdrawn = { type: 'VoucherWithdrawn', data: {} } as const;
    await world.append('voucher-1', toNewEvent(withdrawn, randomUUID()));
    await world.settled([others]);
    expect(await world.documents('products')).toEqual({});
    release();
    await world.settled(both);
    expect(await ids()).toEqual([a, b].sort());
  });

  test('writes together what happens while it rests (decisions X148)', async () => {
    const { promise: rested, resolve: endRest } = newPromise();
    const restMs = 12_345;
    const rests: number[] = [];
    const clock = Object.assign(new SystemClock(), {
      pause: async (ms: number, signal?: AbortSignal) => {
        if (ms === restMs) rests.push(ms);
        await (ms === restMs ? rested : SYSTEM_CLOCK.pause(ms, signal));
      },
    });
    const written: number[] = [];
    const noting = (_: number, [target, documents]: readonly unknown[]): boolean => {
      const { length } = documents as readonly unknown[];
      if ((target as Target).collection === 'products' && length > 0) written.push(length);
      return false;
    };
    const store = failing(world.store, 'write', noting, new Error('never'));
    await world.runner({ clock, restMs }, PROJECTIONS, { log: world.log, store }).start();
    while (rests.length === 0) await turn();
    await world.emit(listed('a'), listed('b'), repriced('a', 5));
    await turn();
    expect(written).toEqual([]);
    endRest();
    await world.settled();
    expect(written).toEqual([2]);
  });

  test('builds a new version without waiting for the live one of the former, which nobody follows', async () => {
    const first = world.runner({}, [products]);
    await first.start();
    await first.stop();
    await world.emit(...Array.from({ length: 8 }, (_, at) => listed(`p${at}`)));
    const { collection } = products;
    const next = { ...products, collection: { ...collection, version: collection.version + 1 } };
    const own = world.log.readAll.bind(world.log);
    world.log.readAll = async function* (options) {
      for await (const batch of own({ ...options, batchSize: 1 })) {
        yield batch;
        await SYSTEM_CLOCK.pause(100);
      }
    };
    const began = performance.now();
    await world.runner({}, [next]).start();
    // A rebuild beside live read models waits up to five seconds at a time.
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(await ids()).toHaveLength(8);
  });

  test('projects later events', async () => {
    await world.runner().start();
    expect(await ids()).toEqual([]);
    await world.emit(listed('a', 100), listed('b', 200), delisted('b'));
    await world.settled();
    expect(await ids()).toEqual([a]);
    expect([...(await pricesOf(world.store, [a, b])).keys()].sort()).toEqual([a, b].sort());
  });

  test('continues from the checkpoint of another runner', async () => {
    const first = world.runner();
    await first.start();
    await world.emit(listed('a', 100));
    await world.settled();
    await first.stop();
    await world.emit(repriced('a', 50));
    await world.runner().start();
    await world.settled();
    expect((await pricesOf(world.store, [a])).get(a)?.map(([price]) => price)).toEqual([50, 100]);
  });

  test('takes over when the active runner stops', async () => {
    const [first, second] = [world.runner(), world.runner()];
    await first.start();
    await second.start();
    await first.stop();
    await world.emit(listed('a'));
    await world.settled();
    expect(await ids()).toEqual([a]);
  });

  test('updates mapped products when the directory changes (decisions P13)', async () => {
    await world.runner().start();
    const mappedTo = async () => {
      await world.settled();
      return (await world.documents('products'))[a];
    };
    await world.emit(listed('a', 1, { categories: [{ name: 'Audio' }] }), listed('b'));
    expect(await mappedTo()).toMatchObject({ mapped: [null] });
    await world.emit(mapped(FEED_ID, 'Audio', '11'), defined('11', 'Headphones'));
    expect(await mappedTo()).toMatchObject({ mapped: ['11'] });
    await world.emit(unmapped(FEED_ID, 'Audio'));
    expect(await mappedTo()).toMatchObject({ mapped: [null] });
  });

  test('updates all of many mapped products, even after an interruption', async () => {
    const many = Array.from({ length: 2200 }, (_, at) => toNewEvent(listed(`p${at}`), randomUUID()));
    for (let at = 0; at < many.length; at += 400) {
      await world.log.append(`feed-${FEED_ID}`, at - 1, many.slice(at, at + 400));
    }
    let pages = 0;
    const isSecondPage = (_: number, [, writes, checkpoint]: readonly unknown[]): boolean =>
      checkpoint === undefined && Array.isArray(writes) && writes.length > 1 && (pages += 1) === 2;
    const store = failing(world.store, 'write', isSecondPage, new EngineUnavailable('killed'));
    await world.runner({}, [products], { log: world.log, store }).start();
    await world.emit(defined('11', 'Headphones'), mapped(FEED_ID, 'Audio', '11'));
    await world.settled([products]);
    expect(world.reports).toHaveLength(1);
    expect(await world.store.count({ collection: 'products' }, { field: 'tdCategoryId', in: ['11'] })).toBe(
      2200,
    );
  });

  test('continues with a generation that a rebuild has swapped in', async () => {
    await world.runner().start();
    await world.emit(listed('a'));
    await world.settled();
    await rebuild(world.log, world.store, [products], {
      clock: SYSTEM_CLOCK,
      owner: 'operator',
      code: 'test',
    });
    await world.emit(listed('b'));
    await world.settled();
    expect(await ids()).toEqual([a, b].sort());
  });

  test('retries while an engine is unavailable, reports the reason, and parks nothing', async () => {
    const reported = new Set<string | undefined>();
    const log = failing(world.log, 'subscribe', (call) => call < 3, new EngineUnavailable('gone'));
    const store = failing(
      world.store,
      'write',
      (call) => [3, 5, 8].includes(call),
      new EngineUnavailable('full'),
    );
    const report = (): unknown => reported.add(runner.trouble());
    const runner = world.runner({ report }, [products, priceHistory], { log, store });
    await runner.start();
    await world.emit(listed('a'), listed('b'));
    await world.settled();
    expect(await ids()).toEqual([a, b].sort());
    expect(reported).toEqual(new Set(['gone', 'full']));
    while (runner.trouble() !== undefined) await turn();
    expect(await listParked(world.store)).toEqual([]);
  });
});

describe('generations beside the live ones', () => {
  const again = (store = world.store) =>
    rebuild(world.log, store, PROJECTIONS, { clock: SYSTEM_CLOCK, owner: 'operator', code: 'test' });
  /** Counts how often the log was subscribed to. */
  const subscriptions = (): (() => number) => {
    const own = world.log.subscribe.bind(world.log);
    let count = 0;
    world.log.subscribe = (options) => {
      count += 1;
      return own(options);
    };
    return () => count;
  };

  test('are told apart where each collection has numbers of its own, as in Elasticsearch', async () => {
    const store = numberedByCollection(world.store);
    const first = world.runner({}, undefined, { log: world.log, store });
    await first.start();
    const numbers = (await store.generations('products', 'price-history')).map(({ number }) => number);
    expect(numbers).toEqual([1, 1]);
    await again(store);
    await first.stop();
    const count = subscriptions();
    await world.runner({}, undefined, { log: world.log, store }).start();
    await SYSTEM_CLOCK.pause(1_500);
    // One for the live ones, and one for those that are kept.
    expect(count()).toBe(2);
    expect(world.reports).toEqual([]);
  });

  test('are dropped while they are written to: the runner continues at once and reports nothing', async () => {
    await world.emit(listed('a', 1));
    await world.runner().start();
    await again();
    const [kept, live] = (await world.store.generations('products')) as [Generation, Generation];
    await world.emit(repriced('a', 2));
    while ((await world.store.checkpoint(targetOf(kept))) !== (await world.log.head())) await turn();
    const isKept = (target: Target): boolean => target.generation === kept.number;
    const written = pauseCall(world.store, 'write', 1, isKept);
    await world.emit(repriced('a', 3));
    await written.reached;
    await discardBeside(world.store, 'products', {
      clock: SYSTEM_CLOCK,
      owner: 'operator',
      source: DOMAIN_LOG,
    });
    const count = subscriptions();
    written.release();
    while (count() === 0) await turn();
    await world.emit(repriced('a', 4));
    await world.settled();
    expect(await world.documents('products')).toMatchObject({ [a]: { price: 4 } });
    expect(await world.store.generations('products')).toEqual([live]);
    expect(world.reports).toEqual([]);
  });
});

describe('the checkpoint of a read model that events do not change', () => {
  const both = [products, delistings] as const;

  test('is stored by the end of all batches, not with each', async () => {
    const stored: string[] = [];
    const store = failing(
      world.store,
      'write',
      (_, [target, , checkpoint]) => {
        stored.push(`${(target as Target).collection} ${checkpoint as string}`);
        return false;
      },
      new Error(),
    );
    await prepareParked(store);
    const projectors = await Promise.all(
      both.map(async (projection) => {
        const generation = await store.create(projection.collection);
        return GenerationProjector.open(world.log, store, projection, generation, 'test');
      }),
    );
    const group = await ProjectionGroup.open(world.log, projectors);
    const [first, second] = [await world.emit(listed('a')), await world.emit(listed('b'))];
    stored.length = 0;
    for await (const batch of world.log.readAll({ after: START, prefixes: group.prefixes, batchSize: 1 }))
      await group.apply(batch);
    expect(stored).toEqual([`products ${first}`, `products ${second}`]);
    await group.flush();
    await group.flush();
    expect(stored).toEqual([`products ${first}`, `products ${second}`, `delistings ${second}`]);
  });

  test('is stored each second while the runner is behind', async () => {
    const log = new Proxy(world.log, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (name !== 'subscribe')
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        return async function* (options: Parameters<EventLog['subscribe']>[0]) {
          for await (const batch of target.subscribe(options)) yield { ...batch, caughtUp: false };
        };
      },
    });
    let passed = 0;
    const clock = Object.create(SYSTEM_CLOCK, {
      monotonic: { value: () => passed },
    }) as Clock;
    await world.runner({ clock }, both, { log, store: world.store }).start();
    await world.emit(listed('a'));
    await world.settled([products]);
    const checkpoint = () => world.store.checkpoint({ collection: 'delistings' });
    expect(await checkpoint()).toBe(START);
    passed = 1_000;
    const position = await world.emit(repriced('a', 50));
    await world.settled([delistings]);
    expect(await checkpoint()).toBe(position);
  });
});
