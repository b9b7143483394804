import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { delistings } from '../../projections/feeds';
import { products } from '../../projections/products';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { makeLoader } from '../../src/services/products/load/loader';
import { buildGenerations } from '../../src/projector/fill';
import { type Response, TestApp } from '../support/app';
import { TestClock } from '../support/clock';
import { type PausedCall, pauseCall, pauseRendering } from '../support/pause-call';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, type FoundProduct, outcome, product } from './posted';

const { german } = FEEDS;
const HOUR = 3_600_000;

let now = Date.parse('2026-05-01T12:00:00Z');
let app: TestApp;
const { post, search } = clientOf(() => app);
beforeAll(async () => {
  const settings = { PRICE_HISTORY: 'always' };
  app = await TestApp.start({ network: NETWORK, now: () => new Date(now), settings });
  await post(german, [product('a')]);
  // The first download begins the days of grace, which are over when the tests begin.
  await get();
  now += 6 * 24 * HOUR;
});
afterAll(() => app.close());

const get = (keys = '', headers = {}) =>
  app.get(`/1.0/productsUnlimited;fid=${german}${keys}`, { token: TOKENS.preisblick, headers });

interface Download {
  readonly products: readonly FoundProduct[];
  readonly removed?: readonly string[];
}
const idOf = ({ offers }: FoundProduct) => offers[0]!.sourceProductId;
const idsIn = (answer: Response) => answer.json<Download>().products.map(idOf).sort();
const nextOf = ({ headers }: Response) => String(headers['x-next-since']);
const removedIn = (answer: Response) => answer.json<Download>().removed;

/**
 * The first answer with changes to a client that follows the feed, and asks again when a download is refused or broken
 * off: a read model may take longer to be back than a download waits, on a busy machine.
 */
async function changesSince(value: string): Promise<Response> {
  let since = value;
  for (;;) {
    const answer = await get(`;since=${since}`).catch(() => undefined);
    if (answer?.statusCode === 200) {
      if (idsIn(answer).length > 0 || removedIn(answer)?.length !== 0) return answer;
      since = nextOf(answer);
    }
    // The next day: a version may be downloaded so many times.
    now += 24 * HOUR;
    await pause(100);
  }
}

/** The time of the last update, as both places tell it. */
async function updated(): Promise<readonly (string | null)[]> {
  const told = await app.get(`/1.0/productsUnlimited/lastUpdated;fid=${german}`, {
    token: TOKENS.preisblick,
  });
  const list = await app.get(`/1.0/productFeeds/${german}`, { token: TOKENS.preisblick });
  const { feeds } = list.json<{ feeds: { lastModifiedTime: string | null }[] }>();
  return [told.json<{ lastUpdatedTime: string | null }>().lastUpdatedTime, feeds[0]!.lastModifiedTime];
}
const timesOf = (at: number) => {
  const text = new Date(at).toISOString().slice(0, -1);
  return [text, `${text}+0000`];
};

/** So large that an append takes three of them. */
const large = (name: string) => product(name, { description: name.repeat(200_000) });
const IDS = ['p', 'q', 'r', 's', 't', 'u'];

/** Replaces the feed, and waits between the first append and the second until that is released. */
async function halfPosted(): Promise<{ readonly posting: Promise<Response>; readonly held: PausedCall }> {
  const held = pauseCall(app.engines.log, 'append', 2, (stream) => stream === `feed-${german}`);
  const posting = post(german, IDS.map(large), { keys: ';mode=replace' });
  await held.reached;
  await app.settled();
  return { posting, held };
}

describe('while a load is in progress', () => {
  it('a copy can be made, and since returns the rest, by date and by X-Next-Since (decisions P28, X51, X62)', async () => {
    const { posting, held } = await halfPosted();
    now += HOUR;
    const copy = await get();
    const had = idsIn(copy);
    expect([had.includes('a'), had.length < 7, had.length > 1]).toEqual([true, true, true]);
    const date = new Date(now).toISOString();
    now += HOUR;
    held.release();
    expect(outcome(await posting)).toBe('200');
    await app.settled();
    const byDate = await get(`;since=${date}`);
    expect([idsIn(byDate), removedIn(byDate)]).toEqual([IDS, ['a']]);
    const next = await get(`;since=${String(copy.headers['x-next-since'])}`);
    expect(idsIn(next)).toEqual(IDS.filter((id) => !had.includes(id)));
    expect(removedIn(next)).toEqual(['a']);
  });

  it('nothing is published: lastUpdated, the feed list and the quota are those of finished loads (decisions P18, P19, X62)', async () => {
    const started = now;
    await post(german, [product('a')], { keys: ';mode=replace' });
    const before = await get();
    now += HOUR;
    const { posting, held } = await halfPosted();
    const half = await get();
    expect(half.headers.etag).not.toBe(before.headers.etag);
    expect(await updated()).toEqual(timesOf(started));
    expect([outcome(await get()), outcome(await get())]).toEqual(['200', '429 429']);
    now += HOUR;
    held.release();
    await posting;
    await app.settled();
    expect(await updated()).toEqual(timesOf(now));
    const headers = { 'if-none-match': String(half.headers.etag) };
    const after = await get('', headers);
    expect([outcome(after), idsIn(after)]).toEqual(['200', IDS]);
    expect([outcome(await get()), outcome(await get()), outcome(await get())]).toEqual([
      '200',
      '200',
      '429 429',
    ]);
  });

  it('neither is a load that is stored completely but visible only in part (decisions X62)', async () => {
    const started = now;
    await post(german, [product('a', { price: 11 })], { keys: ';mode=replace' });
    expect(outcome(await get())).toBe('200');
    now += HOUR;
    // So many that the answer does not wait until they are shown (decisions X8).
    const many = Array.from({ length: 1_001 }, (_, at) => `m${String(at).padStart(4, '0')}`);
    const held = pauseCall(app.engines.log, 'append', 2, (stream) => stream === `feed-${german}`);
    const posting = post(
      german,
      many.map((id) => product(id)),
      { keys: ';mode=replace' },
    );
    await held.reached;
    await app.settled();
    const shown = pauseCall(app.engines.store, 'write', 1, ({ collection }) => collection === 'products');
    now += HOUR;
    held.release();
    expect(outcome(await posting)).toBe('200');
    const half = await get();
    expect([idsIn(half).includes('a'), idsIn(half).length]).toEqual([true, 500]);
    expect(await updated()).toEqual(timesOf(started));
    expect([outcome(await get()), outcome(await get())]).toEqual(['200', '429 429']);
    shown.release();
    await app.settled();
    expect(await updated()).toEqual(timesOf(now));
    const since = await get(`;since=${String(half.headers['x-next-since'])}`);
    expect([idsIn(since).length, removedIn(since)]).toEqual([502, ['a']]);
    expect(idsIn(await get())).toEqual(many);
  });

  it('it may be broken off: its stored products are visible, and published when the same is posted again (decisions A12, X62)', async () => {
    await post(german, [product('a')], { keys: ';mode=replace' });
    const whole = now;
    now += HOUR;
    const { posting, held } = await halfPosted();
    held.release(new EngineUnavailable('the log is gone'));
    expect(outcome(await posting)).toBe('500 5');
    held.release();
    const copy = await get();
    const had = idsIn(copy);
    expect([had.length > 1, had.length < 7]).toEqual([true, true]);
    const ifChanged = { 'if-none-match': String(copy.headers.etag) };
    expect((await get('', ifChanged)).statusCode).toBe(304);
    expect(await updated()).toEqual(timesOf(whole));
    const since = `;since=${String(copy.headers['x-next-since'])}`;
    expect(idsIn(await get(since))).toEqual([]);
    now += HOUR;
    const posted = now;
    expect(outcome(await post(german, IDS.map(large), { keys: ';mode=replace' }))).toBe('200');
    await app.settled();
    expect(await updated()).toEqual(timesOf(posted));
    expect([idsIn(await get(since)), removedIn(await get(since))]).toEqual([
      IDS.filter((id) => !had.includes(id)),
      ['a'],
    ]);
  });
});

describe.each(['', ';priceHistory=true'])('products and their prices with "%s" (decisions P10)', (keys) => {
  const change = async (): Promise<void> => {
    now += HOUR;
    await post(german, [product('a', { price: 99 }), product('new')]);
    await app.delete(`/1.0/products;fid=${german};spId=gone`, { token: TOKENS.nord });
    await app.settled();
  };
  beforeEach(async () => {
    now += HOUR;
    await post(german, [product('a', { price: 7 }), product('gone')], { keys: ';mode=replace' });
  });

  it('a download is consistent', async () => {
    const before = (await get(keys)).body;
    const held = pauseRendering(app.exporter, 2);
    const sent = get(keys);
    await held.reached;
    await change();
    held.release();
    expect((await sent).body).toBe(before);
    expect((await get(keys)).body).toContain('"value":"99.00"');
  });

  it('each offer of a search is consistent', async () => {
    const find = () => app.get(`/1.0/products;fid=${german}${keys}`, { token: TOKENS.preisblick });
    const before = (await find()).body;
    const held = pauseCall(app.engines.store, 'get', 1, ({ collection }) => collection === 'price-history');
    const sent = find();
    await held.reached;
    await change();
    held.release();
    expect((await sent).body).toBe(before);
    expect((await find()).body).toContain('"value":"99.00"');
  });
});

it('a price that the history does not have yet comes from the offer (decisions P10)', async () => {
  await post(german, [product('late', { price: 7 })]);
  const before = now;
  now += HOUR;
  const held = pauseCall(app.engines.store, 'write', 1, ({ collection }) => collection === 'price-history');
  // It waits for both read models.
  const posting = post(german, [product('late', { price: 8 })]);
  await held.reached;
  const find = async () =>
    (await search(`;fid=${german};spId=late;priceHistory=true`)).products[0]?.offers[0];
  let found = await find();
  while (found?.price !== 8) found = await find();
  held.release();
  await posting;
  const priceHistory = [
    { price: { value: '8.00' }, date: now },
    { price: { value: '7.00' }, date: before },
  ];
  expect(found).toMatchObject({ priceHistory });
});

it('a price is included even if its clock was ahead of that of the next price (decisions P10)', async () => {
  await post(german, [product('ahead', { price: 7 })]);
  const first = now;
  const late = () => new Date(first - 60_000);
  const loader = makeLoader(new TestClock(late), app.engines.log, app.follower, join(app.folder, 'late'));
  const other = await app.again({ loader, clock: new TestClock(late) });
  await other.inject({
    method: 'POST',
    url: `/1.0/products;fid=${german}?token=${TOKENS.nord}`,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    payload: { products: [product('ahead', { price: 8 })] },
  });
  await app.settled();
  const priceHistory = [
    { price: { value: '8.00' }, date: late().getTime() },
    { price: { value: '7.00' }, date: first },
  ];
  const { products } = await search(`;fid=${german};spId=ahead;priceHistory=true`);
  const download = (await get(';priceHistory=true')).json<Download>();
  for (const found of [products, download.products.filter((one) => idOf(one) === 'ahead')])
    expect(found[0]?.offers).toMatchObject([{ price: 8, priceHistory }]);
  await other.close();
  await loader.close();
});

describe('while a rebuild replaces a read model by one that has still to catch up', () => {
  it.each([
    ['products', products],
    ['delistings', delistings],
  ] as const)(
    'of %s, no download is older than its X-Next-Since (decisions X51)',
    async (name, projection) => {
      const { log, store } = app.engines;
      await post(german, [product('gone'), product('changed')]);
      await app.settled();
      const next = nextOf(await get());
      const until = await log.head();
      await post(german, [product('changed', { price: 77 })]);
      await app.delete(`/1.0/products;fid=${german};spId=gone`, { token: TOKENS.nord });
      await app.settled();
      const [older] = await buildGenerations(log, store, [projection], {
        code: 'test',
        until,
        onBatch: async () => undefined,
      });
      await store.finish(older!.generation);
      const planned = pauseCall(app.exporter, 'render', 1);
      const download = changesSince(next);
      await planned.reached;
      const catchingUp = pauseCall(store, 'write', 1, ({ collection }) => collection === name);
      await store.swap(older!.generation);
      planned.release();
      await catchingUp.reached;
      catchingUp.release();
      const answer = await download;
      expect([idsIn(answer), removedIn(answer)]).toEqual([['changed'], ['gone']]);
    },
  );
});
