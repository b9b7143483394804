import { openElasticsearch } from '../../src/engines/elasticsearch/open-store';
import { openEventStoreDb } from '../../src/engines/eventstoredb/open-event-store-db';
import { generateProducts } from '../../bench/generate';
import { type EsdbServer, startEsdbServer } from '../support/esdb-server';
import { ADVERTISER, folderWithNetwork, PUBLISHER, removeFolder, Server } from '../support/server';
import { TlsFront } from '../support/tls-front';
import { ownStore, serverUrl } from './server';

/** Longer than the test: permanent failures must not be retried. */
const PATIENT = { timeoutMs: 2_000, retryMs: 600_000 };

describe('Servers over TLS with users in their URLs (operations, Security)', () => {
  let esdb: EsdbServer;
  let folder: string;
  let fronts: readonly [log: TlsFront, store: TlsFront];
  let environment: Readonly<Record<string, string>>;
  let removeStore: () => Promise<void>;

  beforeAll(async () => {
    esdb = await startEsdbServer();
    folder = await folderWithNetwork({ EVENT_LOG: esdb.url });
    const [log, store] = [
      await TlsFront.start(esdb.port, folder),
      await TlsFront.start(Number(new URL(serverUrl()).port), folder),
    ];
    fronts = [log, store];
    const own = ownStore();
    removeStore = own.remove;
    environment = {
      EVENT_LOG: `esdb://affilog:secret@localhost:${log.port}?tlsCAFile=${log.certificate}`,
      READ_STORE: `https://affilog:secret@localhost:${store.port}${new URL(own.url).pathname}`,
    };
  });
  afterAll(async () => {
    for (const front of fronts) await front.stop();
    await removeStore();
    await esdb.stop();
    await removeFolder(folder);
  });

  it('are used if their certificates are trusted', async () => {
    const trusting = { ...environment, NODE_EXTRA_CA_CERTS: fronts[1].certificate };
    const server = await Server.start(folder, { environment: trusting });
    try {
      const products = [...generateProducts({ count: 3, categories: [{ id: '1' }] })];
      const posted = await fetch(`${server.url}/1.0/products;fid=22?token=${ADVERTISER}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=utf-8' },
        body: JSON.stringify({ products }),
      });
      expect([posted.status, await posted.text()]).toEqual([200, expect.anything()]);
      // On a slow machine, requests arrive before the read models exist.
      const signal = AbortSignal.timeout(60_000);
      while (!(await fetch(`${server.url}/health/ready`, { signal })).ok);
      const found = await fetch(`${server.url}/1.0/products;fid=22?token=${PUBLISHER}`);
      expect(await found.json()).toMatchObject({ productHeader: { totalHits: 3 } });
    } finally {
      expect(await server.end()).toBe(0);
    }
    expect(server.stderr).toBe('');
  });

  it('are refused immediately otherwise, without revealing the password or the port', async () => {
    const { EVENT_LOG: untrusted = '', READ_STORE: readStore = '' } = environment;
    const store = openElasticsearch(readStore, { retryMs: { read: 0 } });
    for (const [tried, { port }] of [
      [() => openEventStoreDb(untrusted.replace(/\?.*/, ''), PATIENT), fronts[0]],
      [() => store.generations('products'), fronts[1]],
    ] as const) {
      const refusal = await tried().then(
        () => 'taken',
        (error: unknown) => String(error),
      );
      expect(refusal).toMatch(/certificate/i);
      expect(refusal).not.toContain('secret');
      expect(refusal).not.toContain(String(port));
    }
    await store.close();
  });
});
