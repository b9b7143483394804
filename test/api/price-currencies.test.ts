import { randomUUID } from 'node:crypto';
import { toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM } from '../../src/kernel/event';
import { type FeedEvent } from '../../src/domain/products/feed';
import { rebuildProjections } from '../../src/operations/rebuild';
import { loadHistory, undoLoad } from '../../src/operations/undo-load';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { TestApp } from '../support/app';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, product } from './posted';

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
  for (const fid of [german, secret]) await app.delete(`/1.0/products;fid=${fid};deleteAll=true`, { token });
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
  return [await history(spId, fid), offers.flatMap(written), ...inXml];
}

describe('A program that turns to another currency (decisions P10)', () => {
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
