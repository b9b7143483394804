import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PROJECTIONS } from '../../projections';
import { layoutFolder } from '../../src/engines/embedded/store/registry';
import { type Position } from '../../src/kernel/event';
import { rebuildAsOf } from '../../src/operations/as-of';
import { Rebuilder, type Rebuilding } from '../../src/operations/projections';
import { rebuildProjections } from '../../src/operations/rebuild';
import { AsOfSweeper, listAsOf } from '../../src/projector/as-of';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { TestApp } from '../support/app';
import { TestClock } from '../support/clock';
import { fileClaims } from './claim-key-effects';
import { CLAIM_NETWORK, CLAIM_TOKENS } from './claim-network';
import { FEEDS, OTHER_TOKENS, TOKENS } from './network';
import { clientOf, product } from './posted';
import { CONVERSION_TOKENS, reportOf, transactionClientOf } from './transaction-network';
import { VOUCHER_TOKENS, voucherClientOf } from './voucher-network';

const DAY = 24 * 60 * 60 * 1000;
const BEGIN = Date.now() - 10 * DAY;
const { german } = FEEDS;

let now: Date;
let app: TestApp;
/** The time, and the position, at which the lists were as `then`. */
let time: string;
let position: Position;
let then: readonly unknown[];
const { post } = clientOf(() => app);
const { create } = voucherClientOf(() => app);
const { report } = transactionClientOf(() => app);
const day = (at: number): void => {
  now = new Date(BEGIN + at * DAY);
};

/** Lists as an organisation reads them, and how operators ask for the same as of a time. */
const LISTS = [
  [
    '/1.0/products',
    `;fid=${german};orderBy=priceAsc;facets=brand,feed,priceRange(20)`,
    TOKENS.preisblickAll,
    '/ops/1.0/products',
    ';publisher=11',
  ],
  ['/1.0/products', `;fid=${german};priceHistory=true`, TOKENS.nord, '/ops/1.0/products', ';advertiser=1'],
  ['/1.0/vouchers', '', VOUCHER_TOKENS.preisblickAll, '/ops/1.0/vouchers', ';publisher=11'],
  ['/1.0/vouchers', ';programId=101', VOUCHER_TOKENS.nord, '/ops/1.0/vouchers', ';advertiser=1'],
  ['/1.0/conversions/transactions', '', CONVERSION_TOKENS.nord, '/ops/1.0/transactions', ';advertiser=1'],
  ['/1.0/conversions/transactions', ';siteId=1101', CONVERSION_TOKENS.operator, '/ops/1.0/transactions', ''],
  [
    '/1.0/conversions/transactions/totals',
    ';groupBy=month,programId',
    CONVERSION_TOKENS.nord,
    '/ops/1.0/transactions/totals',
    ';advertiser=1',
  ],
  ['/ops/1.0/claims', ';statusId=2,202', OTHER_TOKENS.operator, '/ops/1.0/claims', ''],
] as const;

async function read(target: string, token: string): Promise<unknown> {
  const answer = await app.get(target, { token });
  if (answer.statusCode !== 200) throw new Error(`${target}: ${answer.body}`);
  return answer.json();
}

const present = (): Promise<readonly unknown[]> =>
  Promise.all(LISTS.map(([path, keys, token]) => read(path + keys, token)));
const past = (name: string): Promise<readonly unknown[]> =>
  Promise.all(
    LISTS.map(([, keys, , path, view]) => read(`${path}${keys}${view};asOf=${name}`, OTHER_TOKENS.operator)),
  );

const ops = (method: 'GET' | 'POST' | 'DELETE', target: string) =>
  app.request(method, `/ops/1.0/${target}`, { token: OTHER_TOKENS.operator });
const parts = () => ({ clock: SYSTEM_CLOCK, owner: randomUUID() });
const build = (name: string, projection = 'all') =>
  rebuildAsOf(app.engines, { name, projection, at: time }, parts());
const live = () => app.engines.store.generations(...PROJECTIONS.map(({ collection }) => collection.name));

beforeAll(async () => {
  day(0);
  app = await TestApp.start({ network: CLAIM_NETWORK, now: () => now });
  await post(german, [product('a', { price: 20 }), product('b', { price: 10 }), product('c', { price: 30 })]);
  await post(
    german,
    Array.from({ length: 1_200 }, (_, at) => product(`many-${at}`, { price: 50 + at })),
  );
  day(1);
  await post(german, [product('a', { price: 15 })]);
  const valid = { startDate: BEGIN, endDate: BEGIN + 9 * DAY };
  await create({ ...valid, sourceId: 'one', title: 'First' });
  await create({ ...valid, sourceId: 'soon', title: 'Ends', endDate: BEGIN + 3 * DAY });
  await report(reportOf('O-1', { timeOfEvent: BEGIN }));
  await fileClaims(app, () => undefined);
  day(2);
  await app.settled();
  time = now.toISOString();
  position = await app.engines.log.head();
  then = await present();
  day(4);
  await post(german, [product('a', { price: 99 }), product('d', { price: 1 })]);
  await app.delete(`/1.0/products;fid=${german};spId=b`, { token: TOKENS.nord });
  await create({ ...valid, sourceId: 'one', title: 'Second' });
  await report(reportOf('O-1', { timeOfEvent: BEGIN }));
  await report(reportOf('O-2', { timeOfEvent: BEGIN }));
  await app.import({
    ...CLAIM_NETWORK,
    programs: CLAIM_NETWORK.programs.map((program) => ({ ...program, name: 'Renamed' })),
  });
  now = new Date();
  await app.settled();
}, 120_000);
afterAll(() => app.close());
afterEach(async () => {
  for (const { name } of await listAsOf(app.engines.store)) await ops('DELETE', `asOf/${name}`);
});

describe('read models as of a time (decisions X111)', () => {
  it('answer the same queries as the live ones did then, with the reference data of then', async () => {
    const before = await live();
    const built = await build('then');
    expect(built).toMatchObject({ name: 'then', position, time });
    expect(await past('then')).toEqual(then);
    expect(await present()).not.toEqual(then);
    expect(await live()).toEqual(before);
    // Neither a rebuild nor what is posted later changes the past.
    await rebuildProjections(app.engines, 'products', { keepMs: DAY });
    await post(german, [product('a', { price: 7 })]);
    expect(await past('then')).toEqual(then);
  });

  it('of a position are those of the time of its event', async () => {
    const wanted = { name: 'there', projection: 'all', position };
    const built = await rebuildAsOf(app.engines, wanted, parts());
    expect([built.position, built.time <= time]).toEqual([position, true]);
    const [, , products] = await Promise.all([0, 1, 0].map(async (at) => (await past('there'))[at]));
    expect(products).toEqual(then[0]);
  });

  it('are built, listed and dropped by operators over REST', async () => {
    const asked = await ops('POST', `asOf;name=then;projection=products;at=${time}`);
    expect([asked.statusCode, asked.json()]).toEqual([200, expect.objectContaining({ name: 'then', time })]);
    let found = asked.json<{ complete: readonly { name: string }[]; unfinished: readonly string[] }>();
    while (found.unfinished.length > 0) {
      await SYSTEM_CLOCK.pause(20);
      [found] = (await ops('GET', 'asOf')).json<[typeof found]>();
    }
    expect(found).toMatchObject({
      name: 'then',
      position,
      complete: expect.arrayContaining([
        { name: 'products', documents: 1_203 },
        { name: 'price-history', documents: 1_203 },
      ]),
    });
    const search = `products;fid=${german};orderBy=priceAsc;facets=brand,feed,priceRange(20);publisher=11;asOf=`;
    expect((await ops('GET', `${search}then`)).json()).toEqual(then[0]);
    expect((await ops('DELETE', 'asOf/then')).statusCode).toBe(204);
    expect((await ops('GET', 'asOf')).json()).toEqual([]);
    expect((await ops('GET', `${search}then`)).json()).toMatchObject({
      errors: [{ code: '404', message: expect.stringContaining('then: expected the name of read models') }],
    });
  });

  it('are built by what a server runs in a thread of its own (decisions X143)', async () => {
    const asked: string[] = [];
    const own = new Rebuilder(app.engines, SYSTEM_CLOCK);
    const buildAsOf: Rebuilding['buildAsOf'] = async (request, ...rest) => {
      asked.push(request.name);
      await own.buildAsOf(request, ...rest);
    };
    const other = await app.again({
      rebuilding: Object.assign(Object.create(own) as Rebuilder, { buildAsOf }),
    });
    const url = `/ops/1.0/asOf;name=thread;projection=feeds;at=${time}?token=${OTHER_TOKENS.operator}`;
    expect((await other.inject({ method: 'POST', url })).statusCode).toBe(200);
    expect(asked).toEqual(['thread']);
    let built = false;
    while (!built)
      built = (await ops('GET', 'asOf'))
        .json<readonly { name: string; complete: readonly object[] }[]>()
        .some(({ name, complete }) => name === 'thread' && complete.length > 0);
    await other.close();
    expect((await ops('DELETE', 'asOf/thread')).statusCode).toBe(204);
  });

  it('continue where a build was interrupted, and are the same', async () => {
    const stop = new AbortController();
    const onProgress = (): void => stop.abort(new Error('killed'));
    const wanted = { name: 'then', projection: 'all', at: time };
    await expect(
      rebuildAsOf(app.engines, wanted, { ...parts(), onProgress, signal: stop.signal }),
    ).rejects.toThrow('killed');
    const building = await app.engines.store.generations('products--then');
    expect(building).toMatchObject([{ state: 'building' }]);
    expect(
      await app.engines.store.checkpoint({ collection: 'products--then', generation: building[0]!.number }),
    ).toMatch(/[1-9]/);
    expect((await ops('GET', `vouchers;asOf=then;publisher=11`)).json()).toMatchObject({
      errors: [
        {
          code: '409',
          message: expect.stringContaining('then has no complete vouchers: run `affilog rebuild'),
        },
      ],
    });
    let events = 0;
    const position = building[0]!.number;
    await rebuildAsOf(app.engines, wanted, { ...parts(), onProgress: () => void (events += 1) });
    expect(events).toBeGreaterThan(0);
    expect(await app.engines.store.generations('products--then')).toMatchObject([
      { state: 'live', number: position },
    ]);
    expect(await past('then')).toEqual(then);
  });

  it('free their space when they are dropped, after a day, and when a rebuild of everything is forced', async () => {
    const { store } = app.engines;
    const own = () => store.generations(...PROJECTIONS.map(({ collection }) => `${collection.name}--then`));
    await build('then', 'vouchers');
    expect(await own()).toHaveLength(1);
    const sweeper = (ahead: number) =>
      new AsOfSweeper(new TestClock(() => new Date(Date.now() + ahead)), store, randomUUID());
    await sweeper(DAY - 60_000).sweep();
    expect(await own()).toHaveLength(1);
    await sweeper(DAY + 60_000).sweep();
    expect([await own(), await listAsOf(store)]).toEqual([[], []]);

    await build('then', 'vouchers');
    await rebuildProjections(app.engines, 'all', { force: true });
    expect([await own(), await listAsOf(store)]).toEqual([[], []]);
    await store.sweep();
    const files = await readdir(layoutFolder(join(app.folder, 'read'))).catch(() => []);
    expect(files.filter((name) => name.includes('--'))).toEqual([]);
  });

  it.each([
    [
      'name=No;projection=products;at=2026-01-01',
      '400',
      'No: expected a name of up to 30 lower-case letters',
    ],
    ['name=a;projection=products', '400', 'expected either a time or a position'],
    ['name=a;projection=products;at=x', '400', 'at=x: expected a time'],
    ['name=a;projection=products;at=2999-01-01', '400', 'is in the future'],
    ['name=a;projection=products;position=9999999', '400', 'is after the end of the log'],
    ['name=a;projection=product;at=2026-01-01', '400', 'product: expected the name of a projection'],
    ['name=a;projection=deliveries;at=2026-01-01', '400', 'the delivery log forgets'],
  ])('refuse %s', async (keys, code, message) => {
    expect((await ops('POST', `asOf;${keys}`)).json()).toMatchObject({
      errors: [{ code, message: expect.stringContaining(message) }],
    });
    expect(await listAsOf(app.engines.store)).toEqual([]);
  });

  it('of a date include its day, up to the present (decisions A17)', async () => {
    const at = (ms: number) => new Date(ms).toISOString().slice(0, 10);
    const wanted = { name: 'day', projection: 'delistings', at: at(BEGIN + 4 * DAY) };
    const built = await rebuildAsOf(app.engines, wanted, parts());
    expect([built.time, built.position > position]).toEqual([`${wanted.at}T23:59:59.999Z`, true]);
    const today = { ...wanted, name: 'today', at: at(Date.now()) };
    const first = await rebuildAsOf(app.engines, today, parts());
    expect(Date.parse(first.time)).toBeLessThanOrEqual(Date.now());
    // The same request continues it.
    expect((await rebuildAsOf(app.engines, today, parts())).time).toBe(first.time);
  });

  it('are answered before their position is searched for, and dropping them stops the search', async () => {
    const { log } = app.engines;
    let reads = 0;
    const search = jest.spyOn(log, 'readAllBackwards').mockImplementation(async function* () {
      for (;;) {
        reads += 1;
        await SYSTEM_CLOCK.pause(5);
        yield [];
      }
    });
    try {
      const asked = await ops('POST', `asOf;name=then;projection=vouchers;at=${time}`);
      const begun = { name: 'then', time, complete: [], unfinished: ['vouchers'] };
      expect([asked.statusCode, asked.json()]).toEqual([200, begun]);
      expect((await ops('GET', 'asOf')).json()).toEqual([begun]);
      expect((await ops('POST', `asOf;name=other;projection=vouchers;at=${time}`)).json()).toMatchObject({
        errors: [{ code: '409', message: expect.stringContaining('a build of then is under way') }],
      });
      expect((await ops('DELETE', 'asOf/then')).statusCode).toBe(204);
      const ended = reads;
      await SYSTEM_CLOCK.pause(30);
      expect([ended > 0, reads]).toEqual([true, ended]);
      expect((await ops('GET', 'asOf')).json()).toEqual([]);
    } finally {
      search.mockRestore();
    }
  });

  it('say in the list that the log has no event up to their time', async () => {
    await ops('POST', 'asOf;name=old;projection=vouchers;at=1999-01-01');
    const list = async () => (await ops('GET', 'asOf')).json<readonly { readonly failure?: string }[]>();
    while ((await list()).every(({ failure }) => failure === undefined)) await SYSTEM_CLOCK.pause(5);
    expect(await list()).toMatchObject([
      { name: 'old', failure: 'the log has no event with a time up to 1999-01-01T23:59:59.999Z' },
    ]);
    expect((await ops('DELETE', 'asOf/old')).statusCode).toBe(204);
    expect(await list()).toEqual([]);
  });

  it('are ten at most, and one name is one time', async () => {
    for (let at = 0; at < 10; at += 1) await build(`n${at}`, 'delistings');
    await expect(build('more', 'delistings')).rejects.toThrow('there are 10 names already, the most');
    const other = { name: 'n0', projection: 'delistings', position };
    await expect(rebuildAsOf(app.engines, other, parts())).rejects.toThrow(
      'choose another name, or run `affilog as-of drop n0` first',
    );
    await build('n0', 'vouchers');
    expect((await listAsOf(app.engines.store)).find(({ name }) => name === 'n0')?.models).toMatchObject({
      vouchers: expect.any(Number),
      delistings: expect.any(Number),
    });
  });

  it('are of organisations that there were then', async () => {
    await build('then', 'vouchers');
    for (const [keys, message] of [
      ['', 'expected either publisher or advertiser'],
      [';publisher=11;advertiser=1', 'expected either publisher or advertiser'],
      [';publisher=1', 'publisher=1: expected the id of an organisation that was publisher'],
    ])
      expect((await ops('GET', `vouchers;asOf=then${keys}`)).json()).toMatchObject({
        errors: [{ code: '400', message: expect.stringContaining(message!) }],
      });
    const denied = await app.get('/ops/1.0/vouchers;asOf=then;publisher=11', { token: CLAIM_TOKENS.nord });
    expect(denied.statusCode).toBe(403);
  });

  it('include what comes in the log before an event of the time, also after a clock was set back', async () => {
    day(2);
    await post(german, [product('late', { price: 3 })]);
    await app.settled();
    const built = await build('back', 'delistings');
    expect(built.position).toBe(await app.engines.log.head());
  });
});
