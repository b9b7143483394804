import { randomUUID } from 'node:crypto';
import { setImmediate as nextRound } from 'node:timers/promises';
import fc from 'fast-check';
import { delistings, feedChanges, feeds } from '../../projections/feeds';
import { priceHistory } from '../../projections/price-history';
import { products } from '../../projections/products';
import { offerId } from '../../src/domain/products/offer';
import { NO_STREAM, type Position, START } from '../../src/kernel/event';
import { type EventBatch, type EventLog } from '../../src/kernel/event-log';
import { toNewEvent } from '../../src/kernel/decider';
import { EVERYTHING } from '../../src/kernel/query';
import { type ReadStore, targetOf } from '../../src/kernel/read-store';
import { AheadOfLoads, AheadWait } from '../../src/projector/ahead';
import { GenerationProjector } from '../../src/projector/generation-projector';
import { listNotes, writeNote } from '../../src/projector/notes';
import { prepareParked } from '../../src/projector/parked';
import { type Projection } from '../../src/projector/projection';
import { ProjectionGroup } from '../../src/projector/projection-group';
import { refuseOtherLog } from '../../src/projector/origin';
import { SYSTEM_CLOCK, SystemClock } from '../../src/runtime/clock';
import { newPromise } from '../../src/runtime/concurrency';
import { MemoryCollections } from '../world/memory-collections';
import { MemoryStore } from '../world/memory-store';
import { histories } from './histories';
import { delisted, FEED_ID, listed, mapped, repriced } from './sample-events';
import { type SampleEvent, World } from './world';

const PROJECTIONS: readonly Projection[] = [products, priceHistory, delistings, feeds];
const [LARGE, SMALL] = [FEED_ID, 7];
const STREAM = `feed-${SMALL}`;

/** A clock that moves on by a second for each look, so that every one is due. */
class LookClock extends SystemClock {
  private at = 0;

  override monotonic(): number {
    return this.at;
  }

  async look(ahead: AheadOfLoads, group: ProjectionGroup): Promise<void> {
    this.at += 1_000;
    await ahead.look(group);
  }
}

const inSmall = (id: string, price = 1): SampleEvent => ({ feedId: SMALL, event: listed(id, price) });
const small = (id: string): string => offerId(SMALL, id);

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world.end());

function withMethods<T extends object>(original: T, methods: Partial<T>): T {
  return new Proxy(original, {
    get(target, name) {
      const value: unknown = Reflect.get(name in methods ? methods : target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** A log whose subscribers get batches of one event, and none after a position until `release` is called. */
function gated(log: EventLog, until: Position): { readonly log: EventLog; readonly release: () => void } {
  const { promise, resolve: release } = newPromise();
  async function* subscribe(options: Parameters<EventLog['subscribe']>[0]): AsyncGenerator<EventBatch> {
    for await (const batch of log.subscribe({ ...options, batchSize: 1 })) {
      if (batch.position > until) await promise;
      yield batch;
    }
  }
  return { log: withMethods(log, { subscribe }), release };
}

/**
 * Two products of the large feed are projected, of two, when `after` is appended; then a runner waits to be released.
 */
async function stuckWith(...after: readonly SampleEvent[]) {
  await world.runner({}, PROJECTIONS).start();
  await world.stopRunners();
  const until = await world.emit(listed('a'));
  await world.emit(listed('b'), listed('c'));
  const position = await world.emit(...after);
  const wait = new AheadWait(SYSTEM_CLOCK, world.log, world.store, PROJECTIONS);
  await writeNote(world.store, 'awaited', STREAM, { position });
  const { log, release } = gated(world.log, until);
  await world.runner({}, PROJECTIONS, { log, store: world.store }).start();
  return { position, wait, release };
}

const never = new Promise<boolean>(() => undefined);
const productIds = async () => Object.keys(await world.documents('products')).sort();

describe('A small feed while a large one is projected (docs/adr/0072, decisions X155)', () => {
  test('is visible ahead of the checkpoint, which stays behind', async () => {
    const { position, wait, release } = await stuckWith(inSmall('x'), inSmall('y'));
    expect(await wait.orShown(never, STREAM, position)).toBe(true);
    expect(await productIds()).toEqual([offerId(LARGE, 'a'), small('x'), small('y')].sort());
    expect((await world.store.checkpoint({ collection: 'products' })) < position).toBe(true);
    release();
    await world.settled(PROJECTIONS);
    expect(await productIds()).toHaveLength(5);
  });

  test('is shown by whoever asks for it, and waits for the checkpoint otherwise', async () => {
    const { wait, release } = await stuckWith(inSmall('x'));
    const later = await world.emit(inSmall('y'));
    expect(await wait.orShown(Promise.resolve(false), STREAM, later)).toBe(false);
    expect(await wait.orShown(Promise.resolve(true), STREAM, later)).toBe(true);
    release();
    await world.settled(PROJECTIONS);
  });

  test('is looked for once for all who wait', async () => {
    const { position, release } = await stuckWith(inSmall('x'));
    let looks = 0;
    const get: ReadStore['get'] = async (...args) => {
      looks += 1;
      return await world.store.get(...args);
    };
    const store = withMethods<ReadStore>(world.store, { get });
    const wait = new AheadWait(SYSTEM_CLOCK, world.log, store, PROJECTIONS);
    const all = Array.from({ length: 1_000 }, () => wait.orShown(never, STREAM, position));
    expect(new Set(await Promise.all(all))).toEqual(new Set([true]));
    expect(looks).toBeLessThan(all.length);
    release();
    await world.settled(PROJECTIONS);
  });

  test('is asked for beside 31 others at most', async () => {
    const { position, release } = await stuckWith(inSmall('x'));
    const wait = new AheadWait(SYSTEM_CLOCK, world.log, world.store, PROJECTIONS);
    let show: (isShown: boolean) => void = () => undefined;
    const shown = new Promise<boolean>((resolve) => (show = resolve));
    const all = Array.from({ length: 100 }, (_, at) => wait.orShown(shown, `feed-${at + 7_000}`, position));
    while ((await listNotes(world.store, 'awaited')).size <= 32) await nextRound();
    show(true);
    await Promise.all(all);
    // With that of the small feed.
    expect((await listNotes(world.store, 'awaited')).size).toBeLessThanOrEqual(33);
    release();
    await world.settled(PROJECTIONS);
  });

  test('makes the store one of a log with its events, which an older copy is not (decisions X31)', async () => {
    const { position, wait, release } = await stuckWith(inSmall('x'));
    expect(await wait.orShown(never, STREAM, position)).toBe(true);
    async function* readStream(...args: Parameters<EventLog['readStream']>) {
      for await (const events of world.log.readStream(...args))
        yield events.filter((event) => event.position < position);
    }
    const older = withMethods(world.log, { readStream });
    await expect(refuseOtherLog(older, world.store, PROJECTIONS)).rejects.toThrow('missing from EVENT_LOG');
    release();
    await world.settled(PROJECTIONS);
  });
});

test('Changes of feeds are folded from both of their streams when a parked one is retried (decisions X47)', async () => {
  let isBroken = true;
  const flawed: typeof feedChanges = {
    ...feedChanges,
    fold: (stored, event) => {
      if (isBroken && event.type === 'FeedImported') throw new Error('flawed');
      return feedChanges.fold(stored, event);
    },
  };
  const imported = { type: 'FeedImported', data: { at: '2026-04-17T15:57:00.000Z' } } as const;
  const recorded = { type: 'FeedChangesRecorded', data: { at: imported.data.at, upTo: 1 } } as const;
  await world.emit(listed('a'));
  await world.append(`feed-${FEED_ID}`, toNewEvent(imported, randomUUID()));
  await world.append(`feedchanges-${FEED_ID}`, toNewEvent(recorded, randomUUID()));
  await world.runner({ code: 'flawed' }, [flawed]).start();
  await world.settled([flawed]);
  await world.stopRunners();
  expect(await world.documents('feed-changes')).toEqual({});
  isBroken = false;
  await world.runner({ code: 'mended' }, [flawed]).start();
  expect(await world.documents('feed-changes')).toMatchObject({ [FEED_ID]: { last: 1, recorded: 1 } });
});

/** A projector that has got as far as `until`, over one of the two kinds of stores. */
async function groupOver(store: World['store'], { log }: World): Promise<ProjectionGroup> {
  await prepareParked(store);
  const projectors: GenerationProjector[] = [];
  for (const projection of PROJECTIONS) {
    const generation = await store.create(projection.collection);
    await store.finish(generation);
    await store.swap(generation);
    projectors.push(await GenerationProjector.open(log, store, projection, generation, 'test'));
  }
  return await ProjectionGroup.open(log, projectors);
}

async function documentsIn(store: World['store'], group: ProjectionGroup): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  for (const generation of group.generations)
    for await (const page of store.scan(targetOf(generation), EVERYTHING))
      for (const { id, version, body } of page) all.push([generation.collection, id, version, body]);
  return all;
}

const STORES = [
  ['the embedded store', (own: World) => own.store],
  ['a store in memory', () => new MemoryStore(new MemoryCollections(), () => performance.now())],
] as const;

type History = readonly SampleEvent[];

const BOTH: History = [
  listed('a', 1),
  inSmall('x', 1),
  listed('b', 2),
  { feedId: SMALL, event: repriced('x', 2) },
  listed('c', 3),
  { feedId: SMALL, event: delisted('x') },
  repriced('a', 4),
  inSmall('x', 3),
  delisted('b'),
  { feedId: SMALL, event: repriced('x', 5) },
  mapped(SMALL, 'Audio', '1'),
  inSmall('y', 4),
];

/** First what changes the network: then nothing keeps products from being projected ahead. */
function settled(history: History): History {
  const isOfFeed = (sample: SampleEvent): boolean => 'event' in sample;
  return [...history.filter((one) => !isOfFeed(one)), ...history.filter(isOfFeed)];
}

describe.each(STORES)('Documents that are projected ahead, over %s', (_, storeOf) => {
  /** How often something was projected ahead. */
  let begun = 0;

  /** The same log, projected with and without looking ahead. */
  async function project(own: World, batchSize: number, looks: readonly boolean[]) {
    const store = storeOf(own);
    const group = await groupOver(store, own);
    const clock = new LookClock();
    const ahead = new AheadOfLoads(clock, own.log, store, async () => void (begun += 1));
    const head = await own.log.head();
    let at = 0;
    for await (const batch of own.log.readAll({ after: START, prefixes: group.prefixes, batchSize })) {
      await group.apply(batch);
      if (looks[(at += 1) % looks.length] !== true) continue;
      for (const feed of [SMALL, LARGE])
        if (feed === SMALL || at % 2 === 0)
          await writeNote(store, 'awaited', `feed-${feed}`, { position: head });
      await clock.look(ahead, group);
    }
    await group.flush();
    return await documentsIn(store, group);
  }

  test('are in the end as if they had not been, whatever happens to feeds, categories and currencies', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc
          .tuple(histories, fc.boolean())
          .map(([history, isSettled]) => (isSettled ? settled(history) : history)),
        fc.integer({ min: 1, max: 7 }),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
        async (history, batchSize, looks) => {
          const [one, other] = [await World.open(), await World.open()];
          try {
            await one.emit(...history);
            await other.emit(...history);
            expect(await project(one, batchSize, looks)).toEqual(await project(other, batchSize, [false]));
          } finally {
            await one.end();
            await other.end();
          }
        },
      ),
      // Where both feeds have something ahead, and what is ahead is removed, and listed again.
      {
        numRuns: 15,
        examples: [
          [BOTH, 1, [true]],
          [BOTH, 3, [true, true, false]],
        ],
      },
    );
    expect(begun).toBeGreaterThan(0);
  });

  /** The products there are when a stream is waited for, after `first` was projected and the others appended. */
  async function productsAfter(first: Position, stream: string, others: () => Promise<Position>) {
    const store = storeOf(world);
    const group = await groupOver(store, world);
    for await (const batch of world.log.readAll({ after: START, prefixes: group.prefixes }))
      await group.apply(batch);
    expect(group.position).toBe(first);
    await writeNote(store, 'awaited', stream, { position: await others() });
    const clock = new LookClock();
    await clock.look(new AheadOfLoads(clock, world.log, store, async () => undefined), group);
    await group.written();
    const found: string[] = [];
    for await (const page of store.scan({ collection: 'products' }, EVERYTHING))
      found.push(...page.map(({ id }) => id));
    return found.sort();
  }

  test('are those of the stream that is waited for', async () => {
    const first = await world.emit(listed('a'));
    const found = await productsAfter(first, STREAM, () => world.emit(inSmall('x'), listed('b')));
    expect(found).toEqual([offerId(LARGE, 'a'), small('x')].sort());
  });

  test('are none behind a change of the network, which decides how they are described', async () => {
    const first = await world.emit(listed('a'));
    const others = () => world.emit(mapped(SMALL, 'Audio', '1'), inSmall('x'));
    expect(await productsAfter(first, STREAM, others)).toEqual([offerId(LARGE, 'a')]);
  });

  test('cost no second look for changes of the network where there was none, nor for one that was found', async () => {
    const store = storeOf(world);
    const first = await world.emit(listed('a'));
    const group = await groupOver(store, world);
    for await (const batch of world.log.readAll({ after: START, prefixes: group.prefixes }))
      await group.apply(batch);
    const readAfter: Position[] = [];
    const readAll: EventLog['readAll'] = (options) => {
      readAfter.push(options.after);
      return world.log.readAll(options);
    };
    const clock = new LookClock();
    const log = withMethods(world.log, { readAll });
    const ahead = new AheadOfLoads(clock, log, store, async () => undefined);
    const look = async (position: Position): Promise<readonly string[]> => {
      await writeNote(store, 'awaited', STREAM, { position });
      await clock.look(ahead, group);
      await group.written();
      const found: string[] = [];
      for await (const page of store.scan({ collection: 'products' }, EVERYTHING))
        found.push(...page.map(({ id }) => id));
      return found.sort();
    };

    const second = await world.emit(listed('b'), inSmall('x'));
    await look(second);
    const third = await world.emit(inSmall('y'));
    const shown = [offerId(LARGE, 'a'), small('x'), small('y')].sort();
    expect(await look(third)).toEqual(shown);
    const changed = await world.emit(mapped(SMALL, 'Audio', '1'), inSmall('z'));
    expect(await look(changed)).toEqual(shown);
    expect(await look(await world.emit(inSmall('w')))).toEqual(shown);
    // From where the look before has ended; not at all behind the change.
    expect(readAfter).toEqual([first, second, third]);
  });

  test('are none of a stream with more than 2,000 events', async () => {
    const first = await world.emit(listed('a'));
    const append = async (): Promise<Position> => {
      let at = { revision: NO_STREAM, position: START };
      for (let batch = 0; batch <= 4; batch += 1) {
        const count = batch === 4 ? 1 : 500;
        const events = Array.from({ length: count }, (_unused, id) =>
          toNewEvent(listed(`${batch}-${id}`), randomUUID()),
        );
        at = await world.log.append('feed-9', at.revision, events);
      }
      return at.position;
    };
    expect(await productsAfter(first, 'feed-9', append)).toEqual([offerId(LARGE, 'a')]);
  });
});
