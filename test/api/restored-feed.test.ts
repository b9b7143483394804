import fc from 'fast-check';
import { DELIVERY_PROJECTIONS, PROJECTIONS } from '../../projections';
import { EngineUnavailable, type EventLog } from '../../src/kernel/event-log';
import { rebuildProjections } from '../../src/operations/rebuild';
import { loadHistory, undoLoad, undoPlan } from '../../src/operations/undo-load';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { IMPORT_REPORT, type ReportedImport } from '../../src/domain/products/import-report';
import { type Restored } from '../../src/services/products/load/restore';
import { type Response, TestApp } from '../support/app';
import { TestClock } from '../support/clock';
import { answerIn } from '../support/openapi';
import { cases } from '../support/size';
import { overrideLog } from '../support/temporary-log';
import { FEEDS, NETWORK, OTHER_TOKENS, TOKENS } from './network';
import { clientOf, product } from './posted';

const { german, swedish } = FEEDS;
const token = TOKENS.nord;

let app: TestApp;
let now = Date.parse('2026-03-01T12:00:00Z');
const { post, search } = clientOf(() => app);
beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK, now: () => new Date((now += 1000)) });
});
afterAll(() => app.close());
beforeEach(() => remove(';deleteAll=true'));

const remove = (keys: string, fid = german): Promise<Response> =>
  app.delete(`/1.0/products;fid=${fid}${keys}`, { token });

const idOf = ({ headers }: Response): string => String(headers['x-load-id']);

interface Restoring {
  readonly log?: EventLog;
  readonly feedId?: number;
  readonly signal?: AbortSignal;
}

async function restore(loadId: string, options: Restoring = {}): Promise<Restored> {
  const { log = app.engines.log, feedId = german, signal = new AbortController().signal } = options;
  const engines = { log, leases: app.engines.leases };
  const load = { feedId, loadId };
  const history = await loadHistory(SYSTEM_CLOCK, engines, load);
  const restored = await undoLoad(engines, load, history, {
    dataDir: app.folder,
    signal,
    clock: new TestClock(() => (now += 1000)),
  });
  await app.settled();
  return restored;
}

/** The feed as searches show it: without when it was modified. */
async function listed(feedId: number = german): Promise<Readonly<Record<string, readonly unknown[]>>> {
  const { products } = await search(`;fid=${feedId};pageSize=1000;orderBy=priceAsc`);
  const states = products.map(
    ({ offers, brand, name }) => [offers[0]?.sourceProductId ?? '', [offers[0]?.price, brand, name]] as const,
  );
  return Object.fromEntries(states);
}

async function report(): Promise<readonly ReportedImport[]> {
  const answer = await app.get(`/1.0/products/imports;fid=${german}`, { token });
  return answerIn(IMPORT_REPORT, answer.json()).imports;
}

const replaced = { keys: ';mode=replace' };

/** Rebuilds all read models: a difference to the live ones would be refused. */
async function expectRebuiltEqualsLive(): Promise<void> {
  const rebuilt = await rebuildProjections(app.engines, 'all');
  expect(rebuilt).toHaveLength(PROJECTIONS.length + DELIVERY_PROJECTIONS.length);
}

describe('restoring a feed (decisions X89)', () => {
  it('is by operators in the history of a product (decisions X109)', async () => {
    await post(german, [product('h', { brand: 'Old' })]);
    const bad = await post(german, [product('h', { brand: 'New' })]);
    await restore(idOf(bad));
    await post(german, [product('h', { brand: 'Other' })]);
    await app.settled();
    const path = `/ops/1.0/history/product/${german}/h`;
    const entries = (await app.get(path, { token: OTHER_TOKENS.operator })).json<readonly { by: string }[]>();
    const owner = 'advertiser 1';
    expect(entries.map(({ by }) => by)).toEqual([owner, owner, 'operator', owner]);
  });

  it('brings back what a replacement removed, changed and added, and publishes a version', async () => {
    await post(german, [product('a', { brand: 'Old' }), product('b'), product('c'), product('d')]);
    await post(german, [product('b', { price: 7 })]);
    const before = await listed();
    const bad = await post(
      german,
      [product('a', { brand: 'New', price: 2 }), product('b', { price: 8 }), product('x')],
      replaced,
    );
    const { tally, loadId } = await restore(idOf(bad));
    expect(tally).toMatchObject({ new: 2, revised: 1, repriced: 1, removed: 1, unchanged: 0 });
    expect(await listed()).toEqual(before);
    const [last] = await report();
    expect(last).toMatchObject({ importId: loadId, restores: idOf(bad), mode: 'update', status: 'done' });
    expect(last).toMatchObject({ new: 2, revised: 1, repriced: 1, removed: 1, refused: 0 });
    const updated = await app.get(`/1.0/productsUnlimited/lastUpdated;fid=${german}`, { token });
    expect(`${updated.json<{ lastUpdatedTime: string }>().lastUpdatedTime}Z`).toBe(last?.time);
    await expectRebuiltEqualsLive();
  });

  it('continues price histories: a price that is back is a new entry', async () => {
    await post(german, [product('kept', { price: 10 }), product('gone', { price: 5 })]);
    const bad = await post(german, [product('kept', { price: 11 })], replaced);
    await restore(idOf(bad));
    const { products } = await search(`;fid=${german};priceHistory=true;orderBy=priceDesc`);
    const prices = products.map(({ offers }) =>
      (offers[0] as unknown as { priceHistory: { price: { value: string } }[] }).priceHistory.map(
        ({ price }) => price.value,
      ),
    );
    expect(prices).toEqual([['10.00', '11.00', '10.00'], ['5.00']]);
  });

  it('is harmless when repeated, and can itself be undone', async () => {
    await post(german, [product('a'), product('b')]);
    const bad = await post(german, [product('c')], replaced);
    const after = await listed();
    const { loadId = '' } = await restore(idOf(bad));
    const head = await app.engines.log.head();
    expect((await restore(idOf(bad))).loadId).toBeUndefined();
    expect(await app.engines.log.head()).toBe(head);
    await restore(loadId);
    expect(await listed()).toEqual(after);
  });

  it('undoes a deletion', async () => {
    await post(german, [product('a'), product('b')]);
    const before = await listed();
    const deleted = await remove(';spId=a');
    expect((await restore(idOf(deleted))).tally).toMatchObject({ new: 1 });
    expect(await listed()).toEqual(before);
  });

  it('leaves alone what later loads have changed, and names it', async () => {
    await post(german, [product('a'), product('b'), product('c'), product('d')]);
    const bad = await post(german, [product('a', { price: 1 }), product('b', { price: 1 })], replaced);
    await post(german, [product('a', { price: 2 }), product('c', { brand: 'Later' }), product('e')]);
    const history = await loadHistory(SYSTEM_CLOCK, app.engines, { feedId: german, loadId: idOf(bad) });
    const named = [...history.differences()]
      .filter(({ product }) => history.hasChangedSince(product))
      .map(({ sourceProductId }) => sourceProductId);
    expect(named).toEqual(['a', 'c']);
    await restore(idOf(bad));
    expect(await listed()).toEqual({
      a: [2, undefined, 'Product a'],
      b: [10, undefined, 'Product b'],
      c: [10, 'Later', 'Product c'],
      d: [10, undefined, 'Product d'],
      e: [10, undefined, 'Product e'],
    });
  });

  it('does not count a product as changed since whose state is as before the load again', async () => {
    await post(german, [product('a'), product('b')]);
    const bad = await post(german, [product('a')], replaced);
    await post(german, [product('b')]);
    const history = await loadHistory(SYSTEM_CLOCK, app.engines, { feedId: german, loadId: idOf(bad) });
    expect([...history.differences()]).toEqual([]);
  });

  it('is planned as long as somebody waits for it, of feeds that are not too large', async () => {
    const bad = await post(german, [product('planned')]);
    const load = { feedId: german, loadId: idOf(bad) };
    const gone = AbortSignal.abort(new Error('gone'));
    const reading = loadHistory(SYSTEM_CLOCK, app.engines, load, { signal: gone });
    await expect(reading).rejects.toThrow('gone');
    const history = await loadHistory(SYSTEM_CLOCK, app.engines, load);
    await expect(undoPlan(SYSTEM_CLOCK, history, gone)).rejects.toThrow('gone');
    await expect(loadHistory(SYSTEM_CLOCK, app.engines, load, { most: 1 })).rejects.toThrow(
      `feed ${german} has more than 1 events: run \`affilog feeds restore`,
    );
  });

  it('is planned for one request at a time', async () => {
    const bad = await post(german, [product('planned', { price: 7 })]);
    const { log } = app.engines;
    const own = log.readStream.bind(log);
    let begin = (): void => undefined;
    let end = (): void => undefined;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const ended = new Promise<void>((resolve) => (end = resolve));
    log.readStream = async function* (...args) {
      begin();
      await ended;
      yield* own(...args);
    };
    const plan = () =>
      app.get(`/ops/1.0/feeds/${german}/loads/${idOf(bad)}`, { token: OTHER_TOKENS.operator });
    const first = plan();
    await begun;
    expect((await plan()).statusCode).toBe(503);
    end();
    expect((await first).statusCode).toBe(200);
    expect((await plan()).statusCode).toBe(200);
    log.readStream = own;
  });

  it('has the server recognise nothing by bytes that were posted before', async () => {
    await post(german, [product('a', { price: 10 })]);
    const bad = await post(german, [product('a', { price: 11 })]);
    await restore(idOf(bad));
    const again = await post(german, [product('a', { price: 11 })]);
    expect(again.headers['x-load-counts']).toMatch(/repriced=1, unchanged=0/);
  });

  it('works on feeds of many appends, also when interrupted and repeated', async () => {
    const many = Array.from({ length: 1600 }, (_, at) => product(`p${at}`, { price: at + 1 }));
    await post(swedish, many);
    const bad = await post(swedish, [product('p7', { price: 1 })], replaced);
    let appends = 0;
    const failing = overrideLog(app.engines.log, {
      append: async (...append: Parameters<EventLog['append']>) => {
        if ((appends += 1) > 2) throw new EngineUnavailable('the disk is full');
        return await app.engines.log.append(...append);
      },
    });
    await expect(restore(idOf(bad), { log: failing, feedId: swedish })).rejects.toThrow(/disk is full/);
    const { tally } = await restore(idOf(bad), { feedId: swedish });
    expect(tally.new).toBeGreaterThan(0);
    expect(tally.new).toBeLessThan(1599);
    const { totalHits } = await search(`;fid=${swedish}`);
    expect(totalHits).toBe(1600);
    expect((await search(`;fid=${swedish};spId=p7,p1599;orderBy=priceAsc`)).products).toMatchObject([
      { offers: [{ price: 8 }] },
      { offers: [{ price: 1600 }] },
    ]);
    await expectRebuiltEqualsLive();
  });

  it('stops at a stop signal, between two appends', async () => {
    await post(german, [product('a')]);
    const bad = await post(german, [], replaced);
    const stopped = AbortSignal.abort();
    await expect(restore(idOf(bad), { signal: stopped })).rejects.toThrow(EngineUnavailable);
    expect(await listed()).toEqual({});
  });

  it('decides again when the server changes the feed meanwhile, and leaves that alone', async () => {
    await post(german, [product('a'), product('b'), product('c')]);
    const bad = await post(german, [], replaced);
    let isFirst = true;
    const overtaken = overrideLog(app.engines.log, {
      append: async (...append: Parameters<EventLog['append']>) => {
        if (isFirst) {
          isFirst = false;
          await post(german, [product('b', { price: 99 })]);
        }
        return await app.engines.log.append(...append);
      },
    });
    const { tally } = await restore(idOf(bad), { log: overtaken });
    expect(tally).toMatchObject({ new: 2, revised: 0, repriced: 0 });
    const found = Object.entries(await listed()).map(([id, state]) => [id, state[0]]);
    expect(Object.fromEntries(found)).toEqual({ a: 10, b: 99, c: 10 });
    await expectRebuiltEqualsLive();
  });
});

/** Loads of a feed of few products, each with its price and brand, or deletions of some. */
const load = fc.record({
  mode: fc.constantFrom('', ';mode=replace', 'delete'),
  products: fc.uniqueArray(
    fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.nat(2), fc.constantFrom('X', 'Y')),
    {
      selector: ([id]) => id,
      maxLength: 4,
    },
  ),
});
type State = Readonly<Record<string, string>>;

const differ = (id: string, one: State = {}, other: State = {}): boolean => one[id] !== other[id];

it('brings back exactly the products that the load changed and no later one did, for any loads (decisions X89)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(load, { minLength: 1, maxLength: 6 }), fc.nat(), async (loads, pick) => {
      await remove(';deleteAll=true');
      const states: State[] = [{}];
      const done: { readonly id: string; readonly at: number }[] = [];
      for (const { mode, products } of loads) {
        const answer =
          mode === 'delete'
            ? await remove(`;spId=${['none', ...products.map(([id]) => id)].join(',')}`)
            : await post(
                german,
                products.map(([id, price, brand]) => product(id, { price, brand })),
                { keys: mode },
              );
        if (answer.headers['x-load-id'] !== undefined) done.push({ id: idOf(answer), at: states.length - 1 });
        states.push(stateOf(await listed()));
      }
      const chosen = done[pick % Math.max(1, done.length)];
      if (chosen === undefined) return;
      await restore(chosen.id);
      const expected = new Map(Object.entries(states.at(-1) ?? {}));
      for (const id of ['a', 'b', 'c', 'd']) {
        const [before, after, ...later] = states.slice(chosen.at);
        const isChanged = differ(id, before, after);
        const isChangedSince = later.some((state, at) => differ(id, state, [after, ...later][at]));
        if (!isChanged || isChangedSince) continue;
        const then = before?.[id];
        if (then === undefined) expected.delete(id);
        else expected.set(id, then);
      }
      expect(stateOf(await listed())).toEqual(Object.fromEntries(expected));
    }),
    { numRuns: cases(60, 12) },
  );
  await expectRebuiltEqualsLive();
});

function stateOf(found: Readonly<Record<string, unknown>>): State {
  return Object.fromEntries(Object.entries(found).map(([id, state]) => [id, JSON.stringify(state)]));
}
