import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Matcher } from '../../src/delivery/matching/matcher';
import { Rerenderer } from '../../src/delivery/matching/rerender';
import { type Message } from '../../src/domain/deliveries/delivery-events';
import { productTopic } from '../../src/domain/products/topic';
import { receiverIdOf } from '../../src/domain/subscriptions/receiver-id';
import { type RecordedEvent, START } from '../../src/kernel/event';
import { EngineUnavailable, type EventLog } from '../../src/kernel/event-log';
import { AutomationRunner } from '../../src/processes/automation-runner';
import { feedChangesOver, MOST_RECORDED } from '../../src/processes/record-changes';
import { TestApp } from '../support/app';
import { type AppDeliveries, projectDeliveries } from '../support/app-deliveries';
import { TestClock } from '../support/clock';
import { errorsIn } from './claim-network';
import { type Client, CLIENTS, FEEDS, NETWORK, TOKENS, VISIBLE } from './network';
import { clientOf, product } from './posted';

const PATH = '/1.0/products/subscriptions';
const RECEIVER = {
  httpMethod: 'POST',
  receiverUrl: 'https://shop.example/products',
  receiverBody: `{${productTopic.attributes.map((name) => `"${name}": \${${name}}`).join(', ')}}`,
  receiverFormat: 'JSON',
} as const;
/** Price fell, Back in stock, Feed changed. */
const ALL = [1, 2, 3];
/** The default of TRACKER_URL. */
const TRACKER = 'https://pdt.affilog.example';
const DAY = 24 * 60 * 60 * 1000;

let app: TestApp;
let deliveries: AppDeliveries;
beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK });
  deliveries = await projectDeliveries(app, Date.now);
});
afterAll(async () => {
  await deliveries.stop();
  await app.close();
});
const { post } = clientOf(() => app);

const send = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, as: Client, body?: unknown) =>
  app.request(method, `${PATH}${path}`, {
    token: TOKENS[as],
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

const subscription = (filter: object = {}) => ({
  filter: { changeTypeIds: ALL, ...filter },
  receivers: [RECEIVER],
});

async function subscribe(as: Client, filter: object = {}): Promise<string> {
  const answer = await send('POST', '', as, subscription(filter));
  expect([answer.statusCode, answer.body]).toEqual([201, answer.body]);
  return answer.json<{ subscriptionId: string }>().subscriptionId;
}

/** Records what is to be recorded, as the process does that has the lease. */
async function record(log: EventLog = app.engines.log): Promise<void> {
  await app.settled();
  const { store, leases } = app.engines;
  const clock = new TestClock(Date.now);
  const runner = new AutomationRunner({ log, store, leases, follower: app.follower }, [], {
    clock,
    owner: 'test',
    report: (failure) => {
      throw failure;
    },
  });
  const automation = feedChangesOver(clock, store, TRACKER);
  try {
    while (await runner.turn(automation)) await app.settled();
  } finally {
    await runner.stop();
  }
}

interface Posted {
  readonly id: string;
  readonly price: number;
  readonly inStock?: number;
  readonly categories?: readonly object[];
  readonly name?: string;
  readonly brand?: string;
}

async function load(
  feed: keyof typeof FEEDS,
  products: readonly Posted[],
  as: Client = 'nord',
): Promise<void> {
  const posted = products.map(({ id, ...changes }) => product(id, changes));
  const answer = await post(FEEDS[feed], posted, { by: as });
  expect([answer.statusCode, answer.body]).toEqual([200, answer.body]);
}

async function eventsIn(prefix: string): Promise<readonly RecordedEvent[]> {
  const found: RecordedEvent[] = [];
  for await (const { events } of app.engines.log.readAll({ after: START, prefixes: [prefix] }))
    found.push(...events);
  return found;
}

/** The messages that are due because of all that has happened. */
async function messages(): Promise<readonly Message[]> {
  const matcher = new Matcher([productTopic]);
  const found: Message[] = [];
  for await (const { events } of app.engines.log.readAll({ after: START, prefixes: matcher.streams }))
    for (const event of events)
      for (const due of matcher.match(event)) if (due.type === 'MessageDue') found.push(due.data);
  return found;
}

type Body = Readonly<Record<string, unknown>>;

const bodyOf = ({ request }: Message): Body => JSON.parse(request?.body ?? '{}') as Body;

async function bodies(id: string): Promise<readonly Body[]> {
  return (await messages()).filter(({ subscriptionId }) => subscriptionId === id).map(bodyOf);
}

/** What a subscription has been told: what has happened, to which product. */
async function told(id: string): Promise<readonly string[]> {
  const own = await bodies(id);
  return own.map((body) => `${String(body['changeName'])} ${String(body['productId'])}`);
}

let ids = 0;
/** A name of a product that no other test has. */
const unused = (): string => `p${(ids += 1)}`;

describe('subscriptions to products (decisions N20)', () => {
  it('are answered, replaced, listed and deleted as those of Document 2, with filters of the search', async () => {
    const filter = { programIds: [101], siteIds: [1101], feedIds: [FEEDS.german], tdCategoryIds: [1] };
    const posted = subscription({ ...filter, keywords: ['lamp'], minFallPercent: 10 });
    const answer = await send('POST', '', 'preisblick', posted);
    const { subscriptionId: id } = answer.json<{ subscriptionId: string }>();
    const receivers = [{ ...RECEIVER, disabled: false, receiverId: expect.any(String) as unknown }];
    expect([answer.statusCode, answer.json()]).toEqual([
      201,
      { subscriptionId: id, siteId: 1101, ...posted, receivers, disabled: false },
    ]);
    const replaced = await send('PUT', `/${id}`, 'preisblick', subscription());
    expect(replaced.json()).toMatchObject({ filter: { changeTypeIds: ALL } });
    await app.settled();
    expect((await send('GET', '', 'preisblick')).json()).toEqual([replaced.json()]);
    expect(errorsIn(await send('GET', `/${id}`, 'deals'))).toEqual([expect.stringMatching(/^CON_200 /)]);
    expect((await send('DELETE', `/${id}`, 'preisblick')).statusCode).toBe(200);
    expect(errorsIn(await send('GET', `/${id}`, 'preisblick'))).toEqual([expect.stringMatching(/^CON_210 /)]);
  });

  it('are created as docs/notifications.md shows', async () => {
    const page = readFileSync(join(__dirname, '../../docs/notifications.md'), 'utf8');
    const [, example = ''] = /products\/subscriptions\?token=.* -d '([^']+)'/.exec(page) ?? [];
    const answer = await send('POST', '', 'preisblick', JSON.parse(example));
    expect([answer.statusCode, answer.headers['x-ignored-fields']]).toEqual([201, undefined]);
    await send('DELETE', `/${answer.json<{ subscriptionId: string }>().subscriptionId}`, 'preisblick');
    const [, section = ''] = /^## Products$([^]*?)^## /m.exec(page) ?? [];
    const [, listed = ''] = /^Placeholders: ([^.]+)\./m.exec(section) ?? [];
    expect(listed.match(/\w+/g)).toEqual(productTopic.attributes);
  });

  it.each<[string, Client, object, string]>([
    ['without changeTypeIds', 'nord', { filter: {}, receivers: [RECEIVER] }, 'CON_410'],
    ['with an unknown change', 'nord', subscription({ changeTypeIds: [4] }), 'CON_350'],
    ['with a fall of nothing', 'nord', subscription({ minFallPercent: 0 }), 'CON_350'],
    ['with a feed of another advertiser', 'casa', subscription({ feedIds: [FEEDS.german] }), 'CON_350'],
    ['with a feed that is not visible', 'deals', subscription({ feedIds: [FEEDS.invisible] }), 'CON_350'],
    ['with a site of another publisher', 'deals', subscription({ siteIds: [1101] }), 'CON_430'],
  ])('have the errors of Document 2: %s', async (_, as, posted, code) => {
    expect(errorsIn(await send('POST', '', as, posted)).map((error) => error.slice(0, 7))).toEqual([code]);
  });

  it('a test has example values of the change', async () => {
    const id = await subscribe('preisblick', { changeTypeIds: [3] });
    const tested = `/${id}/receivers/${receiverIdOf(id, RECEIVER)}/test`;
    expect((await send('POST', tested, 'preisblick')).statusCode).toBe(202);
    expect(await bodies(id)).toMatchObject([
      { productId: '1001', changeName: 'Feed changed', newProducts: 3 },
    ]);
    await send('DELETE', `/${id}`, 'preisblick');
  });
});

describe('messages about products (decisions N19, N20)', () => {
  it('are about what changed since there are subscribers, and nothing is recorded without any', async () => {
    const before = (await eventsIn('feedchanges-')).length;
    const [id, other] = [unused(), unused()];
    await load('german', [{ id, price: 10 }]);
    await load('german', [{ id, price: 9 }]);
    await record();
    expect((await eventsIn('feedchanges-')).length).toBe(before);
    const subscribed = await subscribe('preisblick');
    await record();
    expect(await told(subscribed)).toEqual([]);
    await load('german', [
      { id, price: 8.5 },
      { id: other, price: 1 },
    ]);
    await load('german', [{ id, price: 12 }]);
    await load('german', [{ id, price: 12 }]);
    await record();
    expect(await told(subscribed)).toEqual([
      `Price fell ${FEEDS.german}-${id}`,
      `Feed changed ${FEEDS.german}`,
      `Feed changed ${FEEDS.german}`,
    ]);
    await send('DELETE', `/${subscribed}`, 'preisblick');
    await load('german', [{ id, price: 1 }]);
    await record();
    expect(await told(subscribed)).toHaveLength(3);
    const again = await subscribe('preisblick');
    await record();
    expect(await told(again)).toEqual([]);
    await send('DELETE', `/${again}`, 'preisblick');
  });

  it('go to the advertiser, and to publishers that see the feed and the product, by their sites', async () => {
    const subscribed = new Map<Client, string>();
    for (const as of CLIENTS) subscribed.set(as, await subscribe(as));
    const site = await subscribe('deals', { siteIds: [1201] });
    const [id, unmapped] = [unused(), unused()];
    const feeds = Object.keys(FEEDS) as (keyof typeof FEEDS)[];
    const ownerOf = (feed: keyof typeof FEEDS): Client => (feed === 'italian' ? 'casa' : 'nord');
    for (const price of [10, 5])
      for (const feed of feeds) {
        const none = { id: unmapped, price, categories: [{ name: 'Nowhere' }] };
        await load(feed, [{ id, price }, none], ownerOf(feed));
      }
    await record();
    for (const as of CLIENTS) {
      const isAdvertiser = as === 'nord' || as === 'casa';
      const expected = VISIBLE[as].flatMap((feed) => [
        `Feed changed ${FEEDS[feed]}`,
        `Feed changed ${FEEDS[feed]}`,
        `Price fell ${FEEDS[feed]}-${id}`,
        ...(isAdvertiser ? [`Price fell ${FEEDS[feed]}-${unmapped}`] : []),
      ]);
      expect([as, [...(await told(subscribed.get(as)!))].sort()]).toEqual([as, expected.sort()]);
    }
    // Site 1201 is connected to program 102 only.
    const ofSite = (await bodies(site)).map((body) => Number(body['feedId']));
    expect(new Set(ofSite)).toEqual(new Set([FEEDS.swedish, FEEDS.shared]));
    for (const [as, one] of subscribed) await send('DELETE', `/${one}`, as);
    await send('DELETE', `/${site}`, 'deals');
  });

  it('have what the product is and what has changed', async () => {
    const subscribed = await subscribe('preisblick');
    const id = unused();
    const lamp = {
      id,
      name: 'Wandleuchte',
      brand: 'Sol',
      inStock: 0,
      categories: [{ id: '111' }],
      ean: '4006381333931',
    };
    await load('german', [{ ...lamp, price: 129.9 }]);
    await load('german', [{ ...lamp, price: 99.9, inStock: 4 }]);
    await record();
    const [first, fell, back, changed, ...others] = await bodies(subscribed);
    const { loadId } = fell!;
    const none = Object.fromEntries(productTopic.attributes.map((name) => [name, null]));
    const own = {
      ...{
        ...none,
        productId: `${FEEDS.german}-${id}`,
        feedId: FEEDS.german,
        programId: 101,
        sourceProductId: id,
      },
      ...{
        tdId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        name: 'Wandleuchte',
        brand: 'Sol',
        ean: '4006381333931',
      },
      trackingUrl: expect.stringContaining(`${TRACKER}/click?a(1101)p(101)`) as unknown,
      ...{ productUrl: `https://shop.example/${id}`, imageUrl: 'https://img.example/1.jpg', price: 99.9 },
      ...{
        inStock: 4,
        currencyId: 'EUR',
        tdCategoryId: '111',
        loadId,
        loadTime: expect.any(String) as unknown,
      },
      changeTime: expect.any(String) as unknown,
    };
    expect(first).toMatchObject({ changeTypeId: 3, newProducts: 1, fallenPrices: 0 });
    expect(fell).toEqual({
      ...own,
      changeTypeId: 1,
      changeName: 'Price fell',
      formerPrice: 129.9,
      fallPercent: 23.09,
    });
    expect(back).toEqual({ ...own, changeTypeId: 2, changeName: 'Back in stock' });
    expect(changed).toEqual({
      ...{ ...none, productId: String(FEEDS.german), feedId: FEEDS.german, programId: 101, changeTypeId: 3 },
      ...{
        changeName: 'Feed changed',
        changeTime: own.changeTime,
        loadId,
        loadTime: own.loadTime,
        mode: 'update',
      },
      ...{ newProducts: 0, revisedProducts: 1, repricedProducts: 0, removedProducts: 0 },
      ...{ fallenPrices: 1, restockedProducts: 1 },
    });
    expect(others).toEqual([]);
    // Rendered again, as after a change of the receiver, it is the same.
    const rerenderer = new Rerenderer(app.engines.log, [productTopic]);
    for (const message of (await messages()).filter(({ subscriptionId }) => subscriptionId === subscribed))
      expect((await rerenderer.current(message, START))?.request).toEqual(message.request);
    await send('DELETE', `/${subscribed}`, 'preisblick');
  });

  it('have the link that searches answer, for publishers (decisions P12)', async () => {
    const clients = ['preisblick', 'preisblickAll', 'deals', 'nord'] as const;
    const subscribed = new Map<Client, string>();
    for (const as of clients) subscribed.set(as, await subscribe(as, { changeTypeIds: [1] }));
    const id = unused();
    for (const feed of ['german', 'swedish', 'shared'] as const)
      for (const price of [10, 5]) await load(feed, [{ id, price }]);
    await record();
    for (const [as, one] of subscribed) {
      const own = await bodies(one);
      expect(own.length).toBeGreaterThan(0);
      for (const { feedId, tdId, trackingUrl } of own) {
        const path = `/1.0/products;fid=${String(feedId)};pageSize=1000`;
        const answer = await app.get(path, { token: TOKENS[as] });
        const { products } = answer.json<{
          readonly products: readonly { readonly offers: readonly { id: string; productUrl: string }[] }[];
        }>();
        const offers = products.flatMap((found) => found.offers);
        const { productUrl } = offers.find((offer) => offer.id === tdId)!;
        expect([as, feedId, trackingUrl]).toEqual([as, feedId, as === 'nord' ? null : productUrl]);
      }
      await send('DELETE', `/${one}`, as);
    }
  });

  it.each<[string, object, readonly string[]]>([
    ['changeTypeIds', { changeTypeIds: [1] }, ['a', 'b', 'c']],
    ['minFallPercent', { changeTypeIds: [1, 2], minFallPercent: 20 }, ['a', 'b', 'back']],
    ['feedIds', { changeTypeIds: [1], feedIds: [FEEDS.italian] }, []],
    ['programIds', { changeTypeIds: [1], programIds: [201] }, []],
    ['tdCategoryIds, with all below them', { tdCategoryIds: [11] }, ['b']],
    ['keywords: all words of one of them', { keywords: ['ecke sofa', 'sol'] }, ['a', 'c']],
  ])('are selected by %s', async (_, filter, expected) => {
    const subscribed = await subscribe('preisblickAll', filter);
    const name = unused();
    const all = (isLater: boolean): readonly Posted[] => [
      { id: `${name}a`, price: isLater ? 7 : 10, brand: 'Sol' },
      { id: `${name}b`, price: isLater ? 8 : 10, categories: [{ id: '111' }] },
      { id: `${name}c`, price: isLater ? 8.01 : 10, name: 'Sofa über Ecke' },
      { id: `${name}back`, price: 3, inStock: isLater ? 1 : 0 },
      { id: `${name}risen`, price: isLater ? 11 : 10 },
    ];
    await load('german', all(false));
    await load('german', all(true));
    await record();
    const products = expected.map((one) => `${FEEDS.german}-${name}${one}`);
    const found = (await bodies(subscribed)).flatMap(({ changeTypeId, productId }) =>
      changeTypeId === 3 ? [] : [productId],
    );
    expect(found).toEqual(products);
    await send('DELETE', `/${subscribed}`, 'preisblickAll');
  });

  it('are those of the largest falls of a load, each once, though recording it is broken off', async () => {
    const subscribed = await subscribe('preisblick');
    const name = unused();
    const count = MOST_RECORDED + 100;
    const numbers = Array.from({ length: count }, (_, at) => at);
    const ofAll = (priceOf: (at: number) => number) =>
      numbers.map((at) => ({ id: `${name}-${at}`, price: priceOf(at) }));
    await load(
      'german',
      ofAll(() => 10_000),
    );
    // The later it is, the more it falls.
    await load(
      'german',
      ofAll((at) => 9_999 - at),
    );
    await app.settled();
    const { log } = app.engines;
    let appends = 0;
    const failing = new Proxy(log, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key);
        if (key !== 'append') return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        return async (...appended: Parameters<EventLog['append']>) => {
          appends += 1;
          if (appends > 2) throw new EngineUnavailable('killed');
          return await target.append(...appended);
        };
      },
    });
    await expect(record(failing)).rejects.toThrow('killed');
    const begun = (await told(subscribed)).length;
    expect([begun > 0, begun < MOST_RECORDED]).toEqual([true, true]);
    await record();
    await record();
    const found = (await bodies(subscribed)).filter(({ changeTypeId }) => changeTypeId === 1);
    const largest = numbers.slice(count - MOST_RECORDED).reverse();
    expect(found.map(({ sourceProductId }) => sourceProductId)).toEqual(largest.map((at) => `${name}-${at}`));
    expect((await bodies(subscribed)).at(-1)).toMatchObject({ changeTypeId: 3, fallenPrices: count });
    await send('DELETE', `/${subscribed}`, 'preisblick');
  });

  it('are explained, of each product for itself, to those who may see it', async () => {
    const subscribed = await subscribe('preisblick', { changeTypeIds: [1], minFallPercent: 50 });
    const [id, other] = [unused(), unused()];
    for (const price of [10, 9, 4])
      await load('german', [
        { id, price },
        { id: other, price },
      ]);
    await record();
    const answer = await send('GET', `/${subscribed}/explain/${FEEDS.german}-${id}`, 'preisblick');
    // Nobody wants to know of a fall by less, so it is not recorded.
    expect(answer.json()).toEqual([expect.objectContaining({ changeTypeId: 1, result: 'matched' })]);
    const feed = await send('GET', `/${subscribed}/explain/${FEEDS.german}`, 'preisblick');
    expect(feed.json<readonly object[]>().at(-1)).toMatchObject({
      reason: 'filter.changeTypeIds has 1 only, not 3',
    });
    const foreign = await subscribe('lonely');
    for (const unknown of [`${FEEDS.german}-${id}`, `${FEEDS.german}`, 'x-y'])
      expect(errorsIn(await send('GET', `/${foreign}/explain/${unknown}`, 'lonely'))).toEqual([
        expect.stringMatching(/^CON_500 .*expected the productId of a product that you can see/),
      ]);
    await send('DELETE', `/${subscribed}`, 'preisblick');
    await send('DELETE', `/${foreign}`, 'lonely');
  });

  it('of the past are made by a backfill, as far as they were recorded for others', async () => {
    const first = await subscribe('deals', { changeTypeIds: [1] });
    const id = unused();
    for (const price of [10, 9]) await load('german', [{ id, price }]);
    await record();
    const later = await subscribe('preisblick', { changeTypeIds: [1], keywords: [`Product ${id}`] });
    const period = { minTime: new Date(Date.now() - DAY), maxTime: new Date(Date.now() + DAY) };
    const made = await send('POST', `/${later}/backfills`, 'preisblick', period);
    expect([made.statusCode, made.json()]).toEqual([202, { requested: 1 }]);
    const [backfilled] = (await messages()).filter(({ subscriptionId }) => subscriptionId === later);
    const rendered = await new Rerenderer(app.engines.log, [productTopic]).current(backfilled!, START);
    expect(rendered && bodyOf(rendered)).toMatchObject({ sourceProductId: id, price: 9, formerPrice: 10 });
    await send('DELETE', `/${first}`, 'deals');
    await send('DELETE', `/${later}`, 'preisblick');
  });
});
