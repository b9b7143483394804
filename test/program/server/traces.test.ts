import { join } from 'node:path';
import { openLog } from '../../../src/engines/embedded/log/open-log';
import { type RecordedEvent } from '../../../src/kernel/event';
import { CLIENT_SPAN, Collector } from '../../support/collector';
import {
  ADVERTISER,
  folderWithNetwork,
  freePort,
  NETWORK,
  removeFolder,
  runProgram,
  Server,
} from '../../support/server';
import { eventsOf } from '../../support/temporary-log';
import { saleOf, STATES, TOKENS, WITH_SALES } from '../sales';

const PRODUCT = {
  sourceProductId: 'p1',
  name: 'Lamp',
  description: 'Brass',
  productUrl: 'https://seller.example/1',
  productImage: { url: 'https://seller.example/1.png' },
  price: 1,
  categories: [{ id: '1' }],
};

const traceOf = (digit: string): string => digit.repeat(32);
const REPORT = 'POST /1.0/conversions/transactions';

const servers: Server[] = [];
let folder: string;
let collector: Collector;
let port: number;
let worker: Server;
let api: Server;

beforeAll(async () => {
  const tokens = [...WITH_SALES.tokens, ...NETWORK.tokens];
  folder = await folderWithNetwork({}, { ...WITH_SALES, tokens });
  collector = new Collector();
  port = await collector.listen();
  const url = `http://127.0.0.1:${port}`;
  worker = await started('projector,automation,notifier', { TRACES: url });
  api = await started('api', {
    TRACES: 'otlp',
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_SERVICE_NAME: 'front',
  });
  await post(api, 'subscriptions', traceOf('a'), TOKENS.publisher, {
    filter: { messageTypeIds: STATES },
    receivers: [{ httpMethod: 'GET', receiverUrl: `${url}/secret-path?order=\${orderNumber}` }],
  });
});
afterAll(async () => {
  for (const server of servers) await server.end();
  collector.close();
  await removeFolder(folder);
});

async function started(roles: string, environment: Readonly<Record<string, string>>): Promise<Server> {
  const server = await Server.start(folder, {
    args: ['--roles', roles],
    environment: { NOTIFY_ALLOW: `127.0.0.0/8:${port}`, OTEL_BSP_SCHEDULE_DELAY: '20', ...environment },
  });
  servers.push(server);
  return server;
}

async function post(
  { url }: Server,
  path: string,
  trace: string,
  token: string,
  body: unknown,
  { flags = '01', traceparent }: { readonly flags?: string; readonly traceparent?: string } = {},
): Promise<void> {
  const answer = await fetch(
    `${url}/1.0/${path.includes('products') ? '' : 'conversions/'}${path}?token=${token}`,
    {
      method: 'POST',
      headers: {
        'content-type': 'application/json; charset=utf-8',
        traceparent: traceparent ?? `00-${trace}-${CLIENT_SPAN}-${flags}`,
      },
      body: JSON.stringify(body),
    },
  );
  expect([path, answer.ok, await answer.text()]).toEqual([path, true, expect.any(String)]);
}

async function eventsIn(data: string): Promise<readonly RecordedEvent[]> {
  const { log } = await openLog(join(data, 'log.sqlite'), false);
  try {
    return await eventsOf(log);
  } finally {
    await log.close();
  }
}

const isTraced = ({ meta }: { readonly meta: string }): boolean => meta.includes('traceparent');

describe('traces (decisions X133)', () => {
  test('lead from the request of a client to the message that is delivered, over processes and threads', async () => {
    await post(api, 'transactions', traceOf('1'), TOKENS.advertiser, saleOf('T-1'));
    const delivered = await collector.find(traceOf('1'), 'deliver', 2);
    const projected = await collector.find(traceOf('1'), 'project', 2);
    await collector.find(traceOf('1'), 'match', 1);
    await collector.find(traceOf('1'), REPORT, 1);

    for (const span of delivered)
      expect(collector.chainOf(span)).toEqual([
        ...['deliver', 'match', 'append', 'TransactionsController.report', REPORT],
        CLIENT_SPAN,
      ]);
    // Of the transaction, and of the messages.
    const causes = projected.map((span) => collector.parentOf(span)?.name);
    expect(causes).toContain('append');
    expect(causes.every((name) => name === 'append' || name === 'match')).toBe(true);
    expect(collector.bodies.join('')).toContain('"front"');
  });

  test('have a load, whose appends are made by another thread', async () => {
    await post(api, 'products;fid=22', traceOf('2'), ADVERTISER, { products: [PRODUCT] });
    const [append] = await collector.find(traceOf('2'), 'append', 1);
    await collector.find(traceOf('2'), 'project', 1);
    await collector.find(traceOf('2'), 'POST /1.0/products', 1);
    expect(collector.chainOf(append!)).toEqual([
      ...['append', 'ProductsController.post', 'POST /1.0/products'],
      CLIENT_SPAN,
    ]);
  });

  test('are sent as OTLP describes it', () => {
    expect(collector.spans.length).toBeGreaterThan(0);
    expect(collector.faults).toEqual([]);
  });

  test('contain neither tokens, nor addresses of receivers, nor what was posted, and receivers learn nothing of them', async () => {
    await collector.find(traceOf('a'), 'POST /1.0/conversions/subscriptions', 1);
    const sent = collector.bodies.join('');
    for (const secret of [
      TOKENS.advertiser,
      TOKENS.publisher,
      ADVERTISER,
      'T-1',
      'Lamp',
      'secret-path',
      'token=',
    ])
      expect([secret, sent.includes(secret)]).toEqual([secret, false]);
    expect(collector.delivered.length).toBeGreaterThanOrEqual(2);
    for (const headers of collector.delivered)
      expect(Object.keys(headers).filter((name) => /^trace/.test(name))).toEqual([]);
  });

  test('begin where no client has begun one, follow the decision of a client against one, and leave health checks out', async () => {
    const invalid = `00-${traceOf('3').toUpperCase()}x-${CLIENT_SPAN}-01`;
    const headers = { traceparent: `00-${traceOf('4')}-${CLIENT_SPAN}-01` };
    expect((await fetch(`${api.url}/health/live`, { headers })).ok).toBe(true);
    await post(api, 'transactions', '', TOKENS.advertiser, saleOf('T-2'), {
      traceparent: 'x'.repeat(10_000),
    });
    await post(api, 'transactions', '', TOKENS.advertiser, saleOf('T-3'), { traceparent: invalid });
    await post(api, 'transactions', traceOf('4'), TOKENS.advertiser, saleOf('T-4'), { flags: '00' });
    // Each thread sends its spans in order.
    await post(api, 'transactions', traceOf('5'), TOKENS.advertiser, saleOf('T-5'));
    await collector.find(traceOf('5'), 'deliver', 2);
    await collector.find(traceOf('5'), REPORT, 1);
    const own = collector.spans.filter(
      ({ name, parentSpanId }) => name === REPORT && parentSpanId === undefined,
    );
    expect(own).toHaveLength(2);
    expect(collector.spans.filter(({ traceId }) => traceId === traceOf('4'))).toEqual([]);
  });

  test('are in the metadata of events, which are checked, exported and imported', async () => {
    const traced = (await eventsIn(folder)).filter(isTraced);
    expect(new Set(traced.map(({ type }) => type))).toContain('TransactionTracked');
    for (const { meta } of traced)
      expect(meta).toMatch(/^\{"traceparent":"00-[0-9a-f]{32}-[0-9a-f]{16}-01"\}$/);
    const { code, stdout, stderr } = await runProgram(['log', 'check'], { DATA_DIR: folder });
    expect([code, stdout + stderr]).toEqual([0, expect.any(String)]);
    const [files, copy] = [join(folder, 'exported'), join(folder, 'copy')];
    expect((await runProgram(['log', 'export', files], { DATA_DIR: folder })).code).toBe(0);
    expect((await runProgram(['log', 'import', files], { DATA_DIR: copy })).code).toBe(0);
    expect((await eventsIn(copy)).filter(isTraced)).toEqual(traced);
  });

  test('are off by default: events are as they were, and nothing is sent', async () => {
    for (const server of [api, worker]) expect(await server.end()).toBe(0);
    const [before, spans] = [(await eventsIn(folder)).length, collector.spans.length];
    const untraced = await started('api,projector', {});
    await post(untraced, 'transactions', traceOf('6'), TOKENS.advertiser, saleOf('T-6'));
    expect(await untraced.end()).toBe(0);
    const added = (await eventsIn(folder)).slice(before);
    expect([added.length > 0, added.filter(isTraced)]).toEqual([true, []]);
    expect(collector.spans).toHaveLength(spans);
  });

  test('that nobody takes are lost, which is logged; requests are answered, and the server ends', async () => {
    const closed = await freePort();
    const environment = {
      TRACES: `http://127.0.0.1:${closed}`,
      OTEL_EXPORTER_OTLP_TIMEOUT: '50',
      LOG_LEVEL: 'error',
    };
    const server = await started('api,projector', environment);
    await post(server, 'transactions', traceOf('7'), TOKENS.advertiser, saleOf('T-7'));
    while (!server.stderr.includes('traces are lost: the collector has not taken them ('))
      await new Promise(setImmediate);
    expect(server.stderr).not.toContain(String(closed));
    expect(await server.end()).toBe(0);
  });
});
