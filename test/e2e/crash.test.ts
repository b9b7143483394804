import { generateProducts } from '../../src/demo/generate';
import { ADVERTISER, folderWithNetwork, PUBLISHER, removeFolder, Server } from '../support/server';
import { logHasGrown, readFeed } from './feed-log';

const PRODUCTS = [...generateProducts({ count: 2000, categories: [{ id: '1' }] })];
const KILLS = 20;

/** The file, or another edition of it in which every price differs and other products are missing. */
function bodyOf(edition = 0): string {
  const products = PRODUCTS.filter((_, at) => edition === 0 || at % (edition + 1) !== 0);
  return JSON.stringify({
    products: products.map((product) => ({ ...product, price: product.price + edition })),
  });
}

async function post(url: string, edition = 0): Promise<Response> {
  return fetch(`${url}/1.0/products;fid=22;mode=replace?token=${ADVERTISER}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: bodyOf(edition),
  });
}

describe('a server that is killed while a feed loads', () => {
  let folder: string;
  beforeEach(async () => (folder = await folderWithNetwork()));
  afterEach(() => removeFolder(folder));

  test(`${KILLS} times has, after a restart and the same post, the feed as the file says, no event doubled`, async () => {
    let interrupted = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const server = await Server.start(folder);
      const answer = post(server.url, kill + 1).then(
        ({ status }) => status,
        () => 'broken off',
      );
      // At another moment each time: after so many bytes of the log.
      await logHasGrown(folder, (kill % 5) * 450);
      await server.end('SIGKILL');
      if ((await answer) === 'broken off') interrupted += 1;
    }
    expect(interrupted).toBeGreaterThan(0);

    const server = await Server.start(folder);
    const answer = await post(server.url);
    expect([answer.status, await answer.text()]).toEqual([200, '{"errors":[]}']);
    const position = answer.headers.get('x-log-position') ?? '';
    const search = `${server.url}/1.0/products;fid=22;pageSize=1?token=${PUBLISHER}`;
    const found = await searchUntilThere(search, position);
    expect(found.productHeader.totalHits).toBe(PRODUCTS.length);
    expect(await server.end()).toBe(0);

    const { prices, doubled } = await readFeed(folder);
    expect(doubled).toEqual([]);
    expect(prices).toEqual(
      new Map(PRODUCTS.map(({ sourceProductId, price }) => [sourceProductId, Math.round(price * 100)])),
    );
  }, 300_000);
});

async function searchUntilThere(
  url: string,
  position: string,
): Promise<{ productHeader: { totalHits: number } }> {
  for (;;) {
    const answer = await fetch(url, { headers: { 'x-min-position': position } });
    if (answer.status !== 503) return (await answer.json()) as { productHeader: { totalHits: number } };
  }
}
