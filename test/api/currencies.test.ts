import { parse as parseCsv } from 'csv-parse/sync';
import { randomUUID } from 'node:crypto';
import { vouchers } from '../../projections/vouchers';
import { type EventLog } from '../../src/kernel/event-log';
import { rebuild } from '../../src/projector/rebuild';
import { VoucherWriter } from '../../src/domain/vouchers/voucher';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { checked } from '../domain/vouchers/posted';
import { TestApp } from '../support/app';
import { overrideLog } from '../support/temporary-log';
import { toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM } from '../../src/kernel/event';
import { type FeedEvent } from '../../src/domain/products/feed';
import { rebuildProjections } from '../../src/operations/rebuild';
import { loadHistory, undoLoad } from '../../src/operations/undo-load';
import { NOW, VOUCHER_NETWORK, voucherClientOf } from './voucher-network';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, product } from './posted';

describe('the currency of vouchers', () => {
  let app: TestApp;
  let now = NOW;
  const { create, get, list } = voucherClientOf(() => app);

  const TEN_OFF = { voucherTypeId: 2, discountAmount: 10, isPercentage: false } as const;

  /** The network, program 101 having another currency. */
  function networkIn(currency: string): object {
    const programs: readonly { readonly id?: number }[] = VOUCHER_NETWORK.programs;
    return {
      ...VOUCHER_NETWORK,
      programs: programs.map((one) => (one.id === 101 ? { ...one, currency } : one)),
    };
  }

  /** Writes as releases did that recorded no currency. */
  function withoutCurrencies(log: EventLog): EventLog {
    return overrideLog(log, {
      append: (stream, expected, events) => {
        const older = events.map((event) => {
          const data = { ...(JSON.parse(event.data) as object), currency: undefined };
          return { ...event, data: JSON.stringify(data) };
        });
        return log.append(stream, expected, older);
      },
    });
  }

  const currencies = async (): Promise<readonly unknown[]> =>
    (await list('', 'nord')).map(({ id, currencyId }) => [id, currencyId]);

  const versionsOf = async (id: number): Promise<readonly string[][]> => {
    const answer = await get(`/${id}/versions`, 'nord');
    return answer.json<{ versions: { changed: string[] }[] }>().versions.map(({ changed }) => changed);
  };

  beforeAll(async () => {
    app = await TestApp.start({ network: networkIn('BGN'), now: () => new Date(now) });
  });
  afterAll(() => app.close());

  it('an amount keeps the currency in which it was posted, also if that was not recorded (decisions V19)', async () => {
    const older = new VoucherWriter(SYSTEM_CLOCK, withoutCurrencies(app.engines.log));
    const at = () => new Date((now += 1000)).toISOString();
    const [first, second] = [
      (await older.post(checked(TEN_OFF, 'older'), at())).id,
      (await older.post(checked({ ...TEN_OFF, discountAmount: 5 }, 'revised'), at())).id,
    ];
    now += 1000;
    const recorded = await create({ ...TEN_OFF, sourceId: 'recorded' });
    await app.import(networkIn('EUR'));
    await older.post(checked(TEN_OFF, 'revised'), at());
    await app.settled();
    now += 1000;
    const percent = await create({ ...TEN_OFF, isPercentage: true });
    now += 1000;
    const latest = await create(TEN_OFF);
    await app.import(networkIn('SEK'));
    expect(await currencies()).toEqual([
      [latest, 'EUR'],
      // A percentage has no currency of its own.
      [percent, 'SEK'],
      [second, 'EUR'],
      [recorded, 'BGN'],
      [first, 'BGN'],
    ]);
    expect(await versionsOf(second)).toMatchObject([{}, ['discountAmount']]);
    const { log, store } = app.engines;
    const before = await currencies();
    const [rebuilt] = await rebuild(log, store, [vouchers], {
      clock: SYSTEM_CLOCK,
      owner: 'test',
      code: 'test',
    });
    expect(rebuilt).toMatchObject({ comparison: { differing: 0 } });
    expect(await currencies()).toEqual(before);
  });

  it('the same amount in another currency is an edit, the same in the same is none (decisions V19)', async () => {
    await app.import(networkIn('EUR'));
    const id = await create({ ...TEN_OFF, sourceId: 'again' });
    const percent = await create({ ...TEN_OFF, isPercentage: true, sourceId: 'percent' });
    const post = async (): Promise<void> => {
      now += 1000;
      expect(await create({ ...TEN_OFF, sourceId: 'again' })).toBe(id);
      expect(await create({ ...TEN_OFF, isPercentage: true, sourceId: 'percent' })).toBe(percent);
    };
    await post();
    expect([await versionsOf(id), await versionsOf(percent)]).toMatchObject([[{}], [{}]]);
    await app.import(networkIn('BGN'));
    await post();
    await post();
    expect(await versionsOf(id)).toMatchObject([{}, ['discountAmount']]);
    const { versions } = (await get(`/${id}/versions`, 'nord')).json<{
      readonly versions: readonly object[];
    }>();
    expect(versions[1]).toMatchObject({
      before: { discountAmount: 10, currencyId: 'EUR' },
      after: { discountAmount: 10, currencyId: 'BGN' },
    });
    expect(await versionsOf(percent)).toHaveLength(1);
    expect(await list(`;id=${id}`)).toMatchObject([{ discountAmount: 10, currencyId: 'BGN' }]);
  });

  it('an unchanged voucher that was posted before currencies were recorded is not edited (decisions V19)', async () => {
    const older = new VoucherWriter(SYSTEM_CLOCK, withoutCurrencies(app.engines.log));
    const [same, changed] = ['same', 'changed'].map((sourceId) => checked(TEN_OFF, sourceId));
    const at = new Date(now).toISOString();
    const id = (await older.post(same!, at)).id;
    const writer = new VoucherWriter(SYSTEM_CLOCK, app.engines.log);
    expect(await writer.post(same!, at)).toEqual({ id });
    const other = (await older.post(changed!, at)).id;
    const since = await app.engines.log.head();
    await writer.post({ ...changed!, currency: { code: 'SEK', since: since.replace(/^\d/, '9') } }, at);
    expect([await versionsOf(id), await versionsOf(other)].map(({ length }) => length)).toEqual([1, 2]);
  });
});

describe('A program that turns to another currency (decisions P10)', () => {
  const { german, secret, shared } = FEEDS;
  const token = TOKENS.nord;
  const [program] = NETWORK.programs;

  let app: TestApp;
  let now = Date.parse('2026-03-01T12:00:00Z');
  const { post, search } = clientOf(() => app);
  beforeAll(async () => {
    app = await TestApp.start({ network: NETWORK, now: () => new Date((now += 1000)) });
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    await turnTo('BGN');
    for (const fid of [german, secret])
      await app.delete(`/1.0/products;fid=${fid};deleteAll=true`, { token });
  });

  const turnTo = (currency: string): Promise<void> => app.import({ programs: [{ ...program, currency }] });

  interface Offer {
    readonly sourceProductId: string;
    readonly priceHistory: readonly { readonly price: { value: string; currency: string } }[];
  }

  const written = ({ priceHistory }: Offer): readonly string[] =>
    priceHistory.map(({ price }) => `${price.value} ${price.currency}`);

  /** The history of a product's price in searches. */
  async function history(spId: string, fid: number = german): Promise<readonly string[]> {
    const { products } = await search(`;fid=${fid};spId=${spId};priceHistory=true`);
    return products.flatMap(({ offers }) => (offers as unknown as readonly Offer[]).flatMap(written));
  }

  /** The same in every format that has it. */
  async function histories(spId: string, fid: number = german): Promise<readonly (readonly string[])[]> {
    const downloaded = await app.get(`/1.0/productsUnlimited;fid=${fid};priceHistory=true`, { token });
    const { products } = downloaded.json<{ products: readonly { offers: readonly Offer[] }[] }>();
    const offers = products.flatMap((one) => one.offers).filter((one) => one.sourceProductId === spId);
    const texts = await Promise.all(
      ['products', 'productsUnlimited'].map((path) =>
        app.get(`/1.0/${path}.xml;fid=${fid};priceHistory=true`, { token }),
      ),
    );
    const inXml = texts.map(({ body }) => {
      const [, offer = ''] = body.split(`sourceProductId="${spId}"`);
      const [, prices = ''] = /<priceHistory>(.*?)<\/priceHistory>/.exec(offer) ?? [];
      return [...prices.matchAll(/currency="(\w+)">([\d.]+)/g)].map(
        ([, currency, value]) => `${value} ${currency}`,
      );
    });
    const { body } = await app.get(`/1.0/products.csv;fid=${fid};spId=${spId};priceHistory=true`, { token });
    const [row] = parseCsv<{ priceHistory: string }>(body, { columns: true });
    const inCsv = row!.priceHistory.split(';').map((entry) => entry.split(':', 2).join(' '));
    return [await history(spId, fid), offers.flatMap(written), ...inXml, inCsv];
  }

  it('leaves earlier prices in theirs, in every format', async () => {
    await post(german, [product('a', { price: 100 })]);
    await post(german, [product('a', { price: 90 })]);
    await turnTo('EUR');
    expect(await history('a')).toEqual(['90.00 BGN', '100.00 BGN']);
    await post(german, [product('a', { price: 46 })]);
    for (const one of await histories('a')) expect(one).toEqual(['46.00 EUR', '90.00 BGN', '100.00 BGN']);
  });

  it('makes an equal price a new entry, of the same bytes too, and only one', async () => {
    const posted = [product('same', { price: 30 }), product('revised', { price: 30 })];
    await post(german, posted);
    await turnTo('EUR');
    const answer = await post(german, posted);
    expect(answer.headers).toHaveProperty(
      'x-load-counts',
      expect.stringContaining('repriced=2, unchanged=0'),
    );
    const again = await post(german, [posted[0]!, product('revised', { price: 30, brand: 'New' })]);
    expect(again.headers).toHaveProperty(
      'x-load-counts',
      expect.stringContaining('revised=1, repriced=0, unchanged=1'),
    );
    expect(await history('same')).toEqual(['30.00 EUR', '30.00 BGN']);
    expect(await history('revised')).toEqual(['30.00 EUR', '30.00 BGN']);
  });

  it('makes products that are posted again changes since', async () => {
    const posted = [product('a'), product('b')];
    await post(german, posted);
    await turnTo('EUR');
    const copied = await app.get(`/1.0/productsUnlimited;fid=${german}`, { token });
    await post(german, [posted[0]!]);
    const since = String(copied.headers['x-next-since']);
    const changed = await app.get(`/1.0/productsUnlimited;fid=${german};since=${since}`, { token });
    const { products } = changed.json<{ products: readonly { offers: readonly Offer[] }[] }>();
    expect(products.map(({ offers }) => offers[0]?.sourceProductId)).toEqual(['a']);
  });

  it('does not change the currency of what is restored', async () => {
    const posted = [product('priced', { price: 30 }), product('gone', { price: 20 })];
    await post(german, posted);
    await turnTo('EUR');
    const bad = await post(german, [posted[0]!], { keys: ';mode=replace' });
    const load = { feedId: german, loadId: String(bad.headers['x-load-id']) };
    const restored = await undoLoad(app.engines, load, await loadHistory(SYSTEM_CLOCK, app.engines, load), {
      clock: SYSTEM_CLOCK,
      dataDir: app.folder,
      signal: new AbortController().signal,
    });
    await app.settled();
    expect(restored.tally).toMatchObject({ new: 1, repriced: 1, revised: 0, removed: 0 });
    expect(await history('priced')).toEqual(['30.00 BGN', '30.00 EUR', '30.00 BGN']);
    expect(await history('gone')).toEqual(['20.00 BGN']);
  });

  it('has no influence on the prices of events that do not record theirs, as early versions wrote them', async () => {
    const at = '2026-01-05T08:00:00.000Z';
    const [price, sourceProductId] = [5000, 'early'];
    const content = Object.fromEntries(
      Object.entries(product('early')).filter(([name]) => name !== 'sourceProductId' && name !== 'price'),
    );
    const events = [
      { type: 'ProductListed', data: { sourceProductId, price, at, product: content } },
      { type: 'ProductRepriced', data: { sourceProductId, price: 4000, at } },
    ] as unknown as readonly FeedEvent[];
    await turnTo('PLN');
    await app.import({ feeds: [{ ...NETWORK.feeds[4], programIds: [101], id: 22050, name: 'Early' }] });
    const [first, second] = events.map((event) => toNewEvent(event, randomUUID()));
    await app.engines.log.append('feed-22050', NO_STREAM, [first!]);
    await turnTo('BGN');
    await app.engines.log.append('feed-22050', 0, [second!]);
    await turnTo('EUR');
    await app.settled();
    expect(await history('early', 22050)).toEqual(['40.00 BGN', '50.00 PLN']);
    const answer = await post(22050, [{ ...content, sourceProductId, price: 40 }]);
    expect(answer.headers).toHaveProperty('x-load-counts', expect.stringContaining('repriced=1'));
    for (const one of await histories('early', 22050))
      expect(one).toEqual(['40.00 EUR', '40.00 BGN', '50.00 PLN']);
    await app.import({ feeds: [{ ...NETWORK.feeds[4], programIds: [102], id: 22050, name: 'Early' }] });
    expect(await history('early', 22050)).toEqual(['40.00 EUR', '40.00 BGN', '50.00 PLN']);
  });

  it('leaves the price itself in the currency of the first program (Document 1, price; decisions P26)', async () => {
    await post(shared, [product('a', { price: 5 })]);
    const { body } = await app.get(`/1.0/products.csv;fid=${shared}`, { token });
    expect(body).toContain('"5.00","SEK"');
    expect(await history('a', shared)).toEqual(['5.00 SEK']);
  });

  it('gives rebuilt read models that equal the live ones', async () => {
    await post(german, [product('a'), product('b')]);
    await turnTo('EUR');
    await post(german, [product('a')]);
    await app.settled();
    await expect(rebuildProjections(app.engines, 'all')).resolves.toBeDefined();
  });
});
