import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { openElasticsearch } from '../../src/engines/elasticsearch/open-store';
import { openEventStoreDb } from '../../src/engines/eventstoredb/open-event-store-db';
import { EVERYTHING } from '../../src/kernel/query';
import { FaultyElasticsearch } from '../support/faulty-elasticsearch';

/** Short times, since nothing answers. */
const RETRIES = { timeoutMs: 300, retryMs: 200, silenceMs: 50 };
const REFUSED = 'it cannot be reached (ECONNREFUSED)';

let server: Server;
const sockets = new Set<Socket>();
beforeAll(async () => {
  server = createServer((socket) => sockets.add(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});
const portOf = (): number => (server.address() as AddressInfo).port;

describe('Failures of a server that are retried (decisions X96)', () => {
  it('are reported by the event log, once for its silence and then for each attempt', async () => {
    const reported: string[] = [];
    const url = `esdb://127.0.0.1:${portOf()}?tls=false`;
    await expect(openEventStoreDb(url, RETRIES, (failure) => reported.push(failure))).rejects.toMatchObject({
      name: 'EngineUnavailable',
    });
    expect(reported[0]).toBe('the event log is not available: it has not answered yet');
    expect(reported.filter((failure) => failure.includes('yet'))).toHaveLength(1);
  });

  it('do not count as silence of the event log if the server refuses connections', async () => {
    const reported: string[] = [];
    // However slowly it connects, it does not count as silent.
    const timing = { timeoutMs: 60_000, retryMs: 2_000 };
    const opening = openEventStoreDb('esdb://127.0.0.1:9?tls=false', timing, (failure) =>
      reported.push(failure),
    );
    await expect(opening).rejects.toThrow(REFUSED);
    expect(new Set(reported)).toEqual(new Set([`the event log is not available: ${REFUSED}`]));
    expect(reported.length).toBeGreaterThan(1);
  });

  it('are reported by the read store, once for its silence and then for each attempt', async () => {
    const reported: string[] = [];
    const notices = { onRetry: (failure: string) => reported.push(failure), silenceMs: 50 };
    const options = { timeoutMs: 300, retryMs: { read: 3_000 }, notices };
    const store = openElasticsearch(`http://127.0.0.1:${portOf()}`, options);
    await expect(store.generations('products')).rejects.toMatchObject({ name: 'EngineUnavailable' });
    expect(reported[0]).toBe('the read store is not available: it has not answered yet');
    expect(new Set(reported.slice(1))).toEqual(
      new Set(['the read store is not available: it does not answer in time']),
    );
    await store.close();
  });

  it.each([
    ['finding out which generation is live', new Map<string, number>()],
    ['reading what a generation is like', undefined],
  ])(
    'are within the time limit of a query, also while %s',
    async (_, generations) => {
      const store = openElasticsearch(`http://127.0.0.1:${portOf()}`, { timeoutMs: 600_000 });
      const query = { timeLimit: 100, ...(generations === undefined ? {} : { generations }) };
      const wanted = { filter: EVERYTHING, order: [], offset: 0, size: 1 };
      await expect(store.search({ collection: 'products' }, wanted, query)).rejects.toMatchObject({
        name: 'QueryTooLong',
      });
      await store.close();
    },
    60_000,
  );

  it('are not reported while the server answers', async () => {
    const reported: string[] = [];
    const answering = await FaultyElasticsearch.start();
    answering.fault = () => ({ status: 404, error: 'index_not_found_exception' });
    const notices = { onRetry: (failure: string) => reported.push(failure) };
    const store = openElasticsearch(answering.url, { notices });
    await expect(store.checkpoint({ collection: 'products' })).rejects.toMatchObject({
      name: 'NoGeneration',
    });
    expect(reported).toEqual([]);
    await store.close();
    await answering.stop();
  });
});
