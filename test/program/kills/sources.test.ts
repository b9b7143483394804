import { createServer } from 'node:http';
import { once } from 'node:events';
import { type AddressInfo } from 'node:net';
import { generateProducts } from '../../../bench/generate';
import { toJson } from '../../support/products';
import { ADVERTISER, folderWithNetwork, removeFolder, Server } from '../../support/server';
import { FeedHistory } from '../../support/feed-history';
import { cases } from '../../support/size';
import { growthOf, readFeed } from '../server/feed-log';

const PRODUCTS = [...generateProducts({ count: 1200, categories: [{ id: '1' }] })];
const FILE = Buffer.from(toJson(PRODUCTS));
/** A server is killed while the file arrives, or after more than this many events of its load. */
const MOMENTS = ['arriving', 500, 0, -1] as const;
const KILLS = cases(8);

const history = new FeedHistory();

describe('a server that is killed while it fetches the source of a feed (decisions P40)', () => {
  let folder: string;
  beforeEach(async () => (folder = await folderWithNetwork()));
  afterEach(() => removeFolder(folder));

  test(`${KILLS} times loses nothing and doubles nothing; the next one fetches what was asked for`, async () => {
    const shop = createServer();
    await once(shop.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/feed.json`;
    const environment = { NOTIFY_ALLOW: '127.0.0.0/8' };
    const ask = async (server: Server, path: string, body?: object): Promise<void> => {
      const answer = await fetch(`${server.url}/1.0/products/sources${path}?token=${ADVERTISER}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=utf-8' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      expect([answer.status, await answer.text()]).toEqual([204, '']);
    };
    try {
      for (let kill = 0; kill < KILLS; kill += 1) {
        const moment = MOMENTS[kill % MOMENTS.length] ?? 0;
        // The first request ends in the middle of the file, or has all of it.
        const asked = once(shop, 'request');
        shop.once('request', (_, response) =>
          moment === 'arriving' ? response.write(FILE.subarray(0, 1000)) : response.end(FILE),
        );
        const first = await Server.start(folder, { environment });
        const hasGrown = await growthOf(folder);
        // Another interval is another source.
        await ask(first, '', { feedId: 22, url, every: `${kill + 1}h` });
        await asked;
        if (moment !== 'arriving') await hasGrown(moment, untilState(first, 'ok'));
        await first.end('SIGKILL');
        shop.closeAllConnections();

        const complete = (_: unknown, response: { end(body: Buffer): void }) => response.end(FILE);
        shop.on('request', complete);
        const second = await Server.start(folder, { environment });
        await untilState(second, 'ok');
        expect(await second.end()).toBe(0);
        shop.off('request', complete);
        const { prices, duplicates } = await readFeed(folder, history);
        expect([prices.size, duplicates]).toEqual([PRODUCTS.length, []]);
      }
    } finally {
      shop.closeAllConnections();
      shop.close();
    }
  }, 300_000);
});

async function untilState(server: Server, wanted: string): Promise<void> {
  for (let state = ''; state !== wanted;) {
    const answer = await fetch(`${server.url}/1.0/products/sources?token=${ADVERTISER}`).catch(
      () => undefined,
    );
    if (answer === undefined) return;
    const [source] = (await answer.json()) as readonly { readonly state: string }[];
    state = source?.state ?? '';
  }
}
