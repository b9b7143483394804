import { setTimeout as pause } from 'node:timers/promises';
import { generateProducts } from '../../../bench/generate';
import { FakeCluster } from '../../support/esdb-cluster';
import { type EsdbServer, startEsdbServer } from '../../support/esdb-server';
import { folderWithNetwork, foundProducts, postProducts, removeFolder, Server } from '../../support/server';

/** Longer than the servers of a cluster are looked for, and than failures are retried (ms). */
const LONG_MS = 33_000;

describe('A server whose cluster has lost its majority (decisions X96)', () => {
  let esdb: EsdbServer;
  let cluster: FakeCluster;
  let folder: string;
  let server: Server;

  beforeAll(async () => {
    esdb = await startEsdbServer();
    cluster = await FakeCluster.start(esdb.port);
    const environment = { EVENT_LOG: `esdb://${cluster.hosts}?tls=false` };
    folder = await folderWithNetwork(environment);
    server = await Server.start(folder, { environment });
  });
  afterAll(async () => {
    await server.end('SIGKILL');
    cluster.stop();
    await esdb.stop();
    await removeFolder(folder);
  });

  async function post(count: number): Promise<Response> {
    const products = [...generateProducts({ count, categories: [{ id: '1' }] })];
    return await postProducts(server.url, products);
  }

  const hits = (): Promise<number> => foundProducts(server.url);

  it('waits however long it takes, answers meanwhile, and continues by itself', async () => {
    expect((await post(2)).status).toBe(200);
    const lost = performance.now();
    cluster.loseMajority();
    const ending = cluster.endCalls(150);
    const refused = await post(3);
    expect(refused.status).toBe(500);
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await refused.json()).toMatchObject({ errors: [{ code: '5' }] });
    expect(await hits()).toBe(2);
    await ending;
    await pause(Math.max(0, lost + LONG_MS - performance.now()));

    await cluster.regainMajority();
    const until = performance.now() + 300_000;
    for (let answer = await post(4); answer.status !== 200; answer = await post(4))
      if (performance.now() > until) throw new Error(`no post is accepted again: ${await answer.text()}`);
    while ((await hits()) !== 4) expect(performance.now()).toBeLessThan(until);
    expect(await server.end()).toBe(0);
    expect(server.stderr).not.toMatch(/has died|Unhandled/i);
  }, 400_000);
});
