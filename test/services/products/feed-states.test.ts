import { randomUUID } from 'node:crypto';
import { MOST_VERSIONS } from '../../../projections/feeds';
import { NO_STREAM, streamOf } from '../../../src/kernel/event';
import { rebuild } from '../../../src/projector/rebuild';
import { PROJECTIONS } from '../../../projections';
import { type FeedEvent } from '../../../src/domain/products/feed';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { FeedStates } from '../../../src/services/products/feed.queries';
import { FEEDS, NETWORK } from '../../api/network';
import { TestApp } from '../../support/app';
import { pauseCall } from '../../support/pause-call';

const { german, swedish } = FEEDS;
const MINUTE = 60_000;

let now = 0;
let app: TestApp;
let states: FeedStates;
beforeEach(async () => {
  now = 0;
  app = await TestApp.start({ network: NETWORK, now: () => new Date(now) });
  states = new FeedStates(SYSTEM_CLOCK, app.engines.store, app.follower);
});
afterEach(() => app.close());

const timeOf = (minute: number) => new Date(minute * MINUTE).toISOString();

/** Appends events to a feed, as early versions of the loader did: nothing in them says to which load they belong. */
async function append(feedId: number, minute: number, ...all: readonly Partial<FeedEvent>[]): Promise<void> {
  const { log } = app.engines;
  const stream = streamOf('feed', feedId);
  let revision = NO_STREAM;
  for await (const events of log.readStream(stream, { backwards: true, limit: 1 }))
    revision = events[0]?.revision ?? revision;
  const events = all.map(({ type = '', data }) => {
    return { id: randomUUID(), type, data: JSON.stringify({ ...data, at: timeOf(minute) }), meta: '{}' };
  });
  await log.append(stream, revision, events);
}

type Change = Partial<FeedEvent>;

/** What happens to a product that has one category, posted by these. */
const posted = (type: 'ProductListed' | 'ProductRevised', id: string, category: object): Change => ({
  type,
  data: {
    sourceProductId: id,
    price: 100,
    at: '',
    product: {
      name: 'Lamp',
      description: 'A lamp',
      productUrl: 'https://shop.example/lamp',
      productImage: { url: 'https://img.example/lamp.png' },
      categories: [category],
    },
  },
});
const listed = (id = 'a', category: object = { name: 'Anything' }) => posted('ProductListed', id, category);
const revised = (id = 'a', category: object = { name: 'Anything' }) => posted('ProductRevised', id, category);
const repriced = (price: number): Change => ({
  type: 'ProductRepriced',
  data: { sourceProductId: 'a', price, at: '' },
});
const delisted: Change = { type: 'ProductDelisted', data: { sourceProductId: 'a', at: '' } };
const deleted: Change = { type: 'ProductsDeleted', data: { removed: 1, at: '' } };
const NOTHING = { new: 0, revised: 0, repriced: 0, unchanged: 0, removed: 0, refused: 0 };
/** The end of a load; its counts are of no account. */
const imported = (): Change => ({
  type: 'FeedImported',
  data: { importId: randomUUID(), mode: 'update', durationMs: 0, ...NOTHING, faults: [], at: '' },
});

const feedEvents = (minute: number, ...events: readonly Change[]) => append(german, minute, ...events);

/** Changes the network: what the feed maps, and the categories. */
async function network(
  minute: number,
  changes: { readonly names?: readonly string[]; readonly categories?: readonly object[] },
) {
  const { names = [], categories = NETWORK.categories } = changes;
  now = minute * MINUTE;
  const mappings = [
    ...NETWORK.mappings,
    ...names.map((name) => ({ feedId: german, name, categoryId: '12' })),
  ];
  await app.import({ ...NETWORK, categories, mappings }, { prune: true });
}
const maps = (minute: number, ...names: readonly string[]) => network(minute, { names });
const renamed = (id: string, en: string) =>
  NETWORK.categories.map((one) => (one.id === id ? { ...one, names: { ...one.names, en } } : one));

async function state() {
  await app.settled();
  const [found] = await states.of([german]);
  return found!;
}

/** The time of the version, as a minute. */
async function published(): Promise<number | undefined> {
  const { version } = await state();
  return version && Date.parse(version.at) / MINUTE;
}

describe('the version of a feed (decisions P18, P19, X62)', () => {
  test('is published by the end of each load or deletion that finds products changed', async () => {
    await feedEvents(1, imported());
    expect(await published()).toBeUndefined();
    await feedEvents(2, listed());
    expect(await published()).toBeUndefined();
    await feedEvents(3, imported());
    expect(await published()).toBe(3);
    await append(swedish, 4, listed(), imported());
    await feedEvents(5, imported());
    expect(await published()).toBe(3);
    await feedEvents(6, delisted);
    expect(await published()).toBe(3);
    await feedEvents(7, deleted);
    expect(await published()).toBe(7);
  });

  test('is published, after a load was broken off, by the next one that ends though that finds all unchanged', async () => {
    await feedEvents(1, listed(), imported());
    await feedEvents(2, repriced(7));
    expect(await published()).toBe(1);
    await feedEvents(3, imported());
    expect(await published()).toBe(3);
  });

  test('is published by a mapping of a name that a product has, and by no other', async () => {
    await maps(1, 'Anything');
    await feedEvents(2, listed('a', { name: 'Lamps' }), listed('b', { name: 'Radios' }));
    expect(await published()).toBeUndefined();
    await feedEvents(3, imported());
    await maps(4, 'Anything', 'Nobody');
    expect(await published()).toBe(3);
    await maps(5, 'Lamps', 'Nobody');
    expect(await published()).toBe(5);
    await maps(6, 'Lamps', 'Radios');
    expect(await published()).toBe(6);
    await maps(7, 'Lamps', 'Radios', 'Nobody either');
    expect(await published()).toBe(6);
    await feedEvents(8, delisted, deleted);
    expect(await published()).toBe(8);
    await maps(9, 'Radios');
    expect(await published()).toBe(8);
  });

  test('is published by a change of the category tree that concerns products, and by no other', async () => {
    await feedEvents(
      1,
      listed('a', { id: '11' }),
      listed('b', { name: 'x', tdCategoryName: 'Leuchten' }),
      imported(),
    );
    await network(2, { categories: renamed('2', 'Household') });
    expect(await published()).toBe(1);
    await network(3, { categories: renamed('11', 'Headsets') });
    expect(await published()).toBe(3);
    // Of two categories of this name one remains.
    await network(4, { categories: renamed('11', 'Headsets').filter(({ id }) => id !== '22') });
    expect(await published()).toBe(4);
    await network(5, { categories: renamed('11', 'Headsets') });
    expect(await published()).toBe(5);
    await network(6, {
      categories: [...renamed('11', 'Headsets'), { id: '9', parentId: null, names: { en: 'New' } }],
    });
    expect(await published()).toBe(5);
  });

  test('is published by a change of more than 100 categories, and by mappings after it', async () => {
    await feedEvents(1, listed('a', { name: 'Lamps' }), imported());
    const added = Array.from({ length: 101 }, (_, at) => {
      return { id: String(500 + at), parentId: null, names: { en: `Added ${at}` } };
    });
    await network(2, { categories: [...NETWORK.categories, ...added.slice(1)] });
    expect(await published()).toBe(1);
    await network(3, { categories: [...NETWORK.categories, ...added] });
    expect(await published()).toBe(3);
    await network(4, { categories: [...NETWORK.categories, ...added], names: ['Lamps'] });
    expect(await published()).toBe(4);
  });

  test('stays the same while a load is under way, whatever categories products get by it', async () => {
    await feedEvents(1, listed('a', { name: 'Lamps' }), imported());
    await maps(2, 'Lamps', 'Shelves');
    expect(await published()).toBe(2);
    await feedEvents(3, revised('a', { name: 'Nowhere' }));
    expect(await published()).toBe(2);
    await maps(4, 'Lamps', 'Shelves', 'Nobody');
    expect(await published()).toBe(2);
    await feedEvents(5, imported());
    expect(await published()).toBe(5);
  });

  test('is never an earlier one again because a request that began earlier is answered later', async () => {
    await feedEvents(1, listed('a', { name: 'Lamps' }), listed('b', { name: 'Shelves' }), imported());
    await maps(2, 'Lamps');
    await app.settled();
    const held = pauseCall(app.engines.store, 'search', 1, ({ collection }) => collection === 'products');
    const early = states.of([german]);
    await held.reached;
    await maps(3, 'Lamps', 'Shelves');
    expect(await published()).toBe(3);
    held.release();
    await early;
    // By a load that is under way, no product is left that the last mapping concerned.
    await feedEvents(4, revised('b', { name: 'Nowhere' }));
    expect(await published()).toBe(3);
  });

  test('is one that was published before, as long as the products are behind the feed', async () => {
    await feedEvents(1, listed(), imported());
    expect(await published()).toBe(1);
    const held = pauseCall(app.engines.store, 'write', 1, ({ collection }) => collection === 'products');
    for (let minute = 2; minute <= MOST_VERSIONS; minute += 1)
      await feedEvents(minute, repriced(minute), imported());
    await held.reached;
    const [behind] = await states.of([german]);
    expect(behind?.version?.at).toBe(timeOf(1));
    held.release();
    expect(await published()).toBe(MOST_VERSIONS);
    expect((await state()).key).not.toBe(behind?.key);
  });
});

test('the key of a feed’s content changes with each event of its products and each mapping, and with nothing else (decisions P17)', async () => {
  const keys = [(await state()).key];
  const isNew = async (): Promise<boolean> => {
    const { key } = await state();
    return !keys.includes(key) && keys.push(key) > 0;
  };
  await feedEvents(1, listed());
  expect(await isNew()).toBe(true);
  await feedEvents(2, imported());
  await append(swedish, 3, listed(), imported());
  expect(await isNew()).toBe(false);
  await maps(4, 'Anything');
  expect(await isNew()).toBe(true);
  await feedEvents(5, imported());
  expect(await isNew()).toBe(false);
  await network(6, { categories: renamed('2', 'Household'), names: ['Anything'] });
  expect(await isNew()).toBe(true);
});

test('rebuilt read models are those that followed the log, and states of feeds are the same', async () => {
  await maps(1, 'Lamps', 'Shelves');
  await feedEvents(2, listed('a', { name: 'Lamps' }), listed('b', { id: '21' }), imported());
  await maps(3, 'Shelves');
  await feedEvents(4, repriced(7), listed('c', { name: 'x', tdCategoryName: 'Leuchten' }), imported());
  await maps(5, 'Lamps');
  await network(6, { categories: renamed('21', 'Luminaires').filter(({ id }) => id !== '22') });
  await feedEvents(7, delisted);
  const before = await state();
  const { log, store } = app.engines;
  const rebuilt = await rebuild(log, store, PROJECTIONS, {
    clock: SYSTEM_CLOCK,
    owner: 'test',
    code: 'test',
  });
  for (const { comparison } of rebuilt) expect(comparison?.differing).toBe(0);
  states = new FeedStates(SYSTEM_CLOCK, store, app.follower);
  expect(await state()).toEqual(before);
});
