import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { saleOf, STATES, TOKENS, WITH_SALES } from '../program/sales';
import { CLIENT_SPAN, Collector } from '../support/collector';
import { type EsdbServer, startEsdbServer } from '../support/esdb-server';
import { folderWithNetwork, removeFolder, Server } from '../support/server';
import { ownStore } from './server';

const TRACE = 'a1'.repeat(16);
const REPORT = 'POST /1.0/conversions/transactions';

describe('Traces over EventStoreDB and Elasticsearch (decisions X133)', () => {
  const collector = new Collector();
  const store = ownStore();
  let esdb: EsdbServer;
  let folder: string;
  let api: Server;
  let worker: Server;

  beforeAll(async () => {
    const port = await collector.listen();
    const url = `http://127.0.0.1:${port}`;
    esdb = await startEsdbServer();
    const environment = {
      EVENT_LOG: esdb.url,
      READ_STORE: store.url,
      NOTIFY_KEY: 'k'.repeat(32),
      NOTIFY_ALLOW: `127.0.0.0/8:${port}`,
      TRACES: url,
      OTEL_BSP_SCHEDULE_DELAY: '20',
    };
    folder = await folderWithNetwork(environment, WITH_SALES);
    const started = async (roles: string): Promise<Server> => {
      const dataDir = join(folder, roles);
      await mkdir(dataDir);
      return Server.start(dataDir, { args: ['--roles', roles], environment });
    };
    worker = await started('projector,automation,notifier');
    api = await started('api');
    await post('subscriptions', TOKENS.publisher, {
      filter: { messageTypeIds: STATES },
      receivers: [{ httpMethod: 'GET', receiverUrl: `${url}/in?order=\${orderNumber}` }],
    });
  });
  afterAll(async () => {
    for (const server of [api, worker]) expect(await server.end()).toBe(0);
    collector.close();
    await store.remove();
    await esdb.stop();
    await removeFolder(folder);
  });

  async function post(path: string, token: string, body: unknown, headers = {}): Promise<void> {
    const answer = await fetch(`${api.url}/1.0/conversions/${path}?token=${token}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
      body: JSON.stringify(body),
    });
    expect([path, answer.status, await answer.text()]).toEqual([path, 201, expect.any(String)]);
  }

  it('lead from a request over its command and its append to what is projected and delivered', async () => {
    const traceparent = `00-${TRACE}-${CLIENT_SPAN}-01`;
    await post('transactions', TOKENS.advertiser, saleOf('T-1'), { traceparent });
    const delivered = await collector.find(TRACE, 'deliver', STATES.length);
    const projected = await collector.find(TRACE, 'project', 2);
    await collector.find(TRACE, 'match', 1);
    await collector.find(TRACE, REPORT, 1);
    const request = ['append', 'TransactionsController.report', REPORT, CLIENT_SPAN];
    for (const span of delivered) expect(collector.chainOf(span)).toEqual(['deliver', 'match', ...request]);
    // Of the transaction, and of its messages, which are projected from the delivery log.
    const causes = projected.map((span) => collector.chainOf(span).slice(1));
    expect(causes).toContainEqual(request);
    expect(causes).toContainEqual(['match', ...request]);
    expect(collector.faults).toEqual([]);
    expect(collector.delivered).toHaveLength(STATES.length);
  });
});
