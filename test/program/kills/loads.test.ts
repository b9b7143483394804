import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateProducts } from '../../../bench/generate';
import { eventsOfOffer, priceHistory } from '../../../projections/price-history';
import { type PostedProduct } from '../../../src/demo/products';
import { FEED } from '../../../src/domain/products/feed';
import { offerId } from '../../../src/domain/products/offer';
import { openEngines } from '../../../src/engines/open';
import { streamOf } from '../../../src/kernel/event';
import { waitForPosition } from '../../../src/projector/wait';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { cases } from '../../support/size';
import { toJson, toXml } from '../../support/products';
import { ADVERTISER, folderWithNetwork, PUBLISHER, removeFolder, Server } from '../../support/server';
import { FeedHistory } from '../../support/feed-history';
import { signalAt } from '../../support/killed';
import { readFeed } from '../server/feed-log';

const PRODUCTS = [...generateProducts({ count: 1200, categories: [{ id: '1' }] })];
const KILLS = cases(20);
/** When a load is killed: once it was sent, before its first batch is stored, and after its batches. */
const MOMENTS = [
  undefined,
  ['committing Product', 1],
  ['committed Product', 1],
  ['committed Product', 2],
] as const;
const PAGE = 1000;

type Prices = ReadonlyMap<string, number>;

/** The original products, or an edition with other prices in which other products are missing. */
function editionOf(number: number): readonly PostedProduct[] {
  return PRODUCTS.filter((_, at) => number === 0 || (at + number) % 10 !== 0).map((product) => ({
    ...product,
    price: Math.round(product.price * 100 + number * 100) / 100,
  }));
}

function pricesOf(edition: readonly PostedProduct[]): Prices {
  return new Map(edition.map(({ sourceProductId, price }) => [sourceProductId, Math.round(price * 100)]));
}

/** Posts an edition, alternately as JSON and as XML. */
async function post(url: string, number: number): Promise<Response> {
  const edition = editionOf(number);
  const format = number % 2 === 0 ? 'json' : 'xml';
  return fetch(`${url}/1.0/products.json;fid=22;mode=replace?token=${ADVERTISER}`, {
    method: 'POST',
    headers: { 'content-type': `application/${format}; charset=utf-8` },
    body: format === 'json' ? toJson(edition) : toXml(edition),
  });
}

/** Posts a complete edition; then the feed equals it, without duplicate events. Returns the log position. */
async function complete(folder: string, url: string, number: number): Promise<string> {
  const answer = await post(url, number);
  expect([answer.status, await answer.text()]).toEqual([200, '{"errors":[]}']);
  const { prices, duplicates } = await readFeed(folder, history);
  expect([prices, duplicates]).toEqual([pricesOf(editionOf(number)), []]);
  return answer.headers.get('x-log-position') ?? '';
}

interface Page {
  readonly products: readonly {
    readonly offers: readonly { readonly sourceProductId: string; readonly price: number }[];
  }[];
}

/** The price of each product that a publisher sees, as of a position. */
async function visiblePrices(url: string, position: string): Promise<Prices> {
  const prices = new Map<string, number>();
  // Paging ends at 1,000 results: read the cheaper ones, then the more expensive ones.
  for (const orderBy of ['priceAsc', 'priceDesc']) {
    const search = `${url}/1.0/products;fid=22;orderBy=${orderBy};pageSize=${PAGE}?token=${PUBLISHER}`;
    let answer = await fetch(search, { headers: { 'x-min-position': position } });
    while (answer.status === 503) answer = await fetch(search, { headers: { 'x-min-position': position } });
    for (const { offers } of ((await answer.json()) as Page).products)
      for (const { sourceProductId, price } of offers) prices.set(sourceProductId, Math.round(price * 100));
  }
  return prices;
}

/** The index by which histories of products are read (ADR 49) has each event of a product once, and no others. */
async function expectIndexed(dataDir: string): Promise<void> {
  const { log, store, ...engines } = await openEngines({
    ...{ dataDir, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false },
  });
  try {
    await waitForPosition(SYSTEM_CLOCK, store, [priceHistory], await log.head(), 60_000);
    const revisions = new Map<string, number[]>();
    for await (const batch of log.readStream(streamOf(FEED, 22)))
      for (const { revision, data } of batch) {
        const { sourceProductId: id } = JSON.parse(data) as { readonly sourceProductId?: string };
        if (id !== undefined) revisions.set(id, [...(revisions.get(id) ?? []), revision]);
      }
    expect(revisions.size).toBe(PRODUCTS.length);
    for (const [id, expected] of revisions)
      expect([id, await eventsOfOffer(store, offerId(22, id))]).toEqual([id, expected]);
  } finally {
    await engines.close();
  }
}

/** The events read so far. */
const history = new FeedHistory();

describe('a server that is killed while a feed loads', () => {
  let folder: string;
  beforeEach(async () => (folder = await folderWithNetwork()));
  afterEach(() => removeFolder(folder));

  test(`${KILLS} times has stored what was acknowledged, and completes with the same post, without duplicate events, in the log and in the index of histories (ADR 49)`, async () => {
    let interrupted = 0;
    const loading = join(folder, 'loading');
    const start = async (kill: number): Promise<Server> => {
      const [moment = 'never', nth] = MOMENTS[kill % MOMENTS.length] ?? [];
      return await Server.start(folder, { environment: signalAt(moment, { nth, once: loading }) });
    };
    let server = await start(1);
    let position = await complete(folder, server.url, 0);
    for (let kill = 1; kill <= KILLS; kill += 1) {
      await writeFile(loading, '');
      const answer = post(server.url, kill).then(
        ({ status }) => status,
        () => 'interrupted',
      );
      if (MOMENTS[kill % MOMENTS.length] !== undefined) await answer;
      await server.end('SIGKILL');
      await rm(loading);

      const { prices } = await readFeed(folder, history);
      const [before, after] = [kill - 1, kill].map((number) => pricesOf(editionOf(number)));
      if ((await answer) === 'interrupted') interrupted += 1;
      else expect([await answer, prices]).toEqual([200, after]);
      const inNeither = PRODUCTS.map(({ sourceProductId: id }) => id).filter(
        (id) => prices.get(id) !== before?.get(id) && prices.get(id) !== after?.get(id),
      );
      expect(inNeither).toEqual([]);

      server = await start(kill + 1);
      position = await complete(folder, server.url, kill);
    }
    expect(await visiblePrices(server.url, position)).toEqual(pricesOf(editionOf(KILLS)));
    await expectIndexed(folder);
    expect(await server.end()).toBe(0);
    expect(interrupted).toBeGreaterThan(KILLS / 2);
  }, 300_000);
});
