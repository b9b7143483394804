import { EventStoreDBClient, START } from '@eventstore/db-client';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PROJECTIONS } from '../../projections';
import { waitForPosition } from '../../src/projector/wait';
import { openElasticsearch } from '../../src/engines/elasticsearch/open-store';
import { generateProducts } from '../../bench/generate';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { readFeed } from '../program/server/feed-log';
import { type EsdbServer, startEsdbServer } from '../support/esdb-server';
import { collected, happened } from '../support/esdb-events';
import { ADVERTISER, folderWithNetwork, PUBLISHER, removeFolder, Server } from '../support/server';
import { ownStore } from './server';

const PRODUCTS = [...generateProducts({ count: 3000, categories: [{ id: '1' }] })];
type Posted = (typeof PRODUCTS)[number];

/** Time limit for another projector to take over (ms). */
const TAKE_OVER_MS = 15_000;

describe('Processes that share an EventStoreDB and an Elasticsearch (docs/architecture.md, Processes)', () => {
  let esdb: EsdbServer;
  let folder: string;
  let environment: Readonly<Record<string, string>>;
  let removeStore: () => Promise<void>;
  const apis: Server[] = [];
  const projectors: Server[] = [];

  beforeAll(async () => {
    esdb = await startEsdbServer();
    const store = ownStore();
    removeStore = store.remove;
    environment = { EVENT_LOG: esdb.url, READ_STORE: store.url };
    folder = await folderWithNetwork(environment);
    for (const name of ['1', '2']) projectors.push(await started('projector', name));
    for (const name of ['1', '2']) apis.push(await started('api', name));
  });
  afterAll(async () => {
    for (const server of [...apis, ...projectors]) await server.end();
    await removeStore();
    await esdb.stop();
    await removeFolder(folder);
  });

  async function started(role: 'api' | 'projector', name: string): Promise<Server> {
    const dataDir = join(folder, `${role}-${name}`);
    await mkdir(dataDir, { recursive: true });
    const offering = role === 'api' ? ['--esdb-port', '0'] : [];
    return Server.start(dataDir, { args: ['--roles', role, ...offering], environment });
  }

  async function post(at: number, products: readonly Posted[], keys = ''): Promise<string> {
    const answer = await fetch(`${apis[at]?.url}/1.0/products;fid=22${keys}?token=${ADVERTISER}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: JSON.stringify({ products }),
    });
    expect([answer.status, await answer.text()]).toEqual([200, expect.anything()]);
    return answer.headers.get('x-log-position') ?? '';
  }

  /** The number of products that a publisher finds at a process, once everything up to a position is visible. */
  async function found(at: number, position: string): Promise<number> {
    const deadline = AbortSignal.timeout(TAKE_OVER_MS);
    for (;;) {
      const answer = await fetch(`${apis[at]?.url}/1.0/products;fid=22;pageSize=1?token=${PUBLISHER}`, {
        headers: { 'x-min-position': position },
        signal: deadline,
      });
      const body = (await answer.json()) as { productHeader?: { totalHits: number } };
      if (answer.status === 200) return body.productHeader?.totalHits ?? -1;
      // Not visible yet (503), or the read store is too busy to say so (500, code 5): the client is asked to come back.
      const retryAfter = answer.headers.get('retry-after');
      expect([retryAfter, body]).toEqual([expect.stringMatching(/^\d+$/), expect.anything()]);
    }
  }

  const priced = (products: readonly Posted[], price: number): readonly Posted[] =>
    products.map((product) => ({ ...product, price }));

  it('find at one process what was posted to the other', async () => {
    const position = await post(0, PRODUCTS.slice(0, 100));
    expect(await found(1, position)).toBe(100);
  });

  it('serve their log to analysts as the server itself would, except for writes (decisions P23)', async () => {
    const urls = [
      esdb.url,
      /^the log can be read at (esdb:\S+)$/m.exec(apis[0]?.stdoutLines.join('\n') ?? '')?.[1] ?? '',
    ];
    const clients = urls.map((url) => EventStoreDBClient.connectionString(url));
    const [all = [], offered = []] = await Promise.all(
      clients.map((client, at) =>
        collected(client.readAll({ fromPosition: START, maxCount: [100, 50][at] ?? 0 })),
      ),
    );
    // Leases and the index of reference streams share the server, and are not of the log.
    const own = all.filter(({ event }) => !/^(\$\$)?(leases|index)\./.test(event?.streamId ?? ''));
    expect(offered).toHaveLength(50);
    expect(offered).toEqual(own.slice(0, 50));
    const written = clients[1]?.appendToStream('feed-22', happened());
    await expect(written).rejects.toMatchObject({ type: 'access-denied' });
    await Promise.all(clients.map((client) => client.dispose()));
  });

  it('load one feed concurrently without loss and without duplicate events', async () => {
    const positions = await Promise.all([post(0, PRODUCTS.slice(0, 1800)), post(1, PRODUCTS.slice(1200))]);
    const { prices, duplicates } = await readFeed(dirname(esdb.file));
    expect(duplicates).toEqual([]);
    expect([...prices.keys()].sort()).toEqual(PRODUCTS.map(({ sourceProductId }) => sourceProductId).sort());
    expect(await found(0, positions.sort().at(-1) ?? '')).toBe(PRODUCTS.length);
  });

  it('serialise concurrent replacements of one feed: it has the products of one of them', async () => {
    const [some, others] = [priced(PRODUCTS.slice(0, 1000), 1), priced(PRODUCTS.slice(500, 1200), 2)];
    await Promise.all([post(0, some, ';mode=replace'), post(1, others, ';mode=replace')]);
    const { prices, duplicates } = await readFeed(dirname(esdb.file));
    expect(duplicates).toEqual([]);
    const listed = JSON.stringify([...prices].sort());
    const wanted = [some, others].map((posted) =>
      JSON.stringify(posted.map(({ sourceProductId, price }) => [sourceProductId, price * 100]).sort()),
    );
    expect(wanted).toContain(listed);
  });

  it('continue within 15 seconds after the active projector was killed during a load', async () => {
    const store = openElasticsearch(environment['READ_STORE'] ?? '');
    // The first one works; the second one takes over when the first one has ended.
    for (const [at, projector] of projectors.entries()) {
      const position = await post(1, priced(PRODUCTS, 10 + at));
      await projector.end('SIGKILL');
      expect(await waitForPosition(SYSTEM_CLOCK, store, PROJECTIONS, position, 0)).toBe(false);
      expect(await found(0, position)).toBe(PRODUCTS.length);
      projectors[at] = await started('projector', String(at + 1));
    }
    await store.close();
  });

  it('exit with 0 when stopped', async () => {
    const codes = await Promise.all([...apis, ...projectors].map((server) => server.end()));
    expect(codes).toEqual([0, 0, 0, 0]);
  });
});
