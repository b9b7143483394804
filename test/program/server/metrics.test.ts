import { Receivers } from '../../support/receivers';
import { Scraped } from '../../support/metrics';
import { folderWithNetwork, freePort, removeFolder, runProgram, Server } from '../../support/server';
import { postConversions, saleOf, STATES, TOKENS, WITH_SALES } from '../sales';

const OPERATOR = 'e'.repeat(40);

const NETWORK = {
  ...WITH_SALES,
  organisations: [...WITH_SALES.organisations, { id: 90, kind: 'operator', name: 'Desk' }],
  tokens: [...WITH_SALES.tokens, { token: OPERATOR, organisationId: 90, system: 'OPS' }],
};

let folder: string;
let receivers: Receivers;
let api: Server;
let worker: Server;
const servers: Server[] = [];

beforeAll(async () => {
  folder = await folderWithNetwork({}, NETWORK);
  receivers = new Receivers(() => 200);
  await receivers.listen();
  const NOTIFY_ALLOW = `127.0.0.0/8:${receivers.port}`;
  worker = await started(['--roles', 'projector,automation,notifier'], { NOTIFY_ALLOW, METRICS_PORT: '0' });
  api = await started(['--roles', 'api'], { NOTIFY_ALLOW });
});
afterAll(async () => {
  for (const server of servers) await server.end();
  await receivers.close();
  await removeFolder(folder);
});

async function started(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Server> {
  const server = await Server.start(folder, { args, environment });
  servers.push(server);
  return server;
}

/** What a process has printed as the address of its metrics. */
function metricsOf({ stdoutLines }: Server): string {
  const [, url] = /^metrics are at (http:\S+)$/m.exec(stdoutLines.join('\n')) ?? [];
  if (url === undefined) throw new Error(`no address of metrics: ${stdoutLines.join('\n')}`);
  return url;
}

async function scrape(url: string): Promise<Scraped> {
  const answer = await fetch(url);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ]);
  return new Scraped(await answer.text());
}

const ofWorker = (): Promise<Scraped> => scrape(metricsOf(worker));
const ofApi = (): Promise<Scraped> => scrape(`${api.url}/ops/1.0/metrics?token=${OPERATOR}`);

test('each process has the metrics of its roles, and what their threads count (decisions X120)', async () => {
  await postConversions(api.url, 'subscriptions', TOKENS.publisher, {
    filter: { messageTypeIds: STATES },
    receivers: [{ httpMethod: 'GET', receiverUrl: `${receivers.url(1)}?order=\${orderNumber}` }],
  });
  await postConversions(api.url, 'transactions', TOKENS.advertiser, saleOf('M-1'));

  // Each sale has two messages. What waits is asked of the notifier, before the counters are read.
  const delivered = async (): Promise<Scraped> => {
    for (;;) {
      const scraped = await ofWorker();
      const outcomes = scraped.value('affilog_delivery_outcomes_total', { outcome: 'delivered' }) ?? 0;
      if (outcomes >= 2 && scraped.value('affilog_messages_waiting') === 0) return scraped;
    }
  };
  const atWorker = await delivered();
  const atApi = await ofApi();
  const [events, deliveries] = [{ log: 'events' }, { log: 'deliveries' }];

  expect(atWorker.value('affilog_matched_messages_total')).toBe(2);
  expect(atWorker.value('affilog_delivery_attempt_duration_seconds_count', { end: 'success' })).toBe(2);
  expect(atWorker.value('affilog_delivery_latency_seconds_count')).toBe(2);
  expect(atWorker.value('affilog_delivery_latency_seconds_sum')).toBeGreaterThan(0);
  expect(atWorker.value('affilog_receivers', { state: 'active' })).toBe(1);
  expect(atWorker.value('affilog_receivers', { state: 'disabled' })).toBe(0);
  expect(atWorker.value('affilog_projected_events_total', events)).toBeGreaterThan(0);
  // The log thread counts what it commits for the notifier.
  expect(atWorker.value('affilog_fsync_duration_seconds_count', deliveries)).toBeGreaterThan(0);
  expect(atWorker.value('affilog_appends_total', { ...deliveries, result: 'ok' })).toBeGreaterThan(0);
  expect(
    ['projector', 'automation', 'notifier', 'api'].map((role) => atWorker.value('affilog_role_up', { role })),
  ).toEqual([1, 1, 1, undefined]);
  expect(atWorker.labels.has('affilog_http_requests_total')).toBe(false);

  expect(
    atApi.value('affilog_http_requests_total', {
      service: 'conversions',
      method: 'POST',
      route: '/1.0/conversions/transactions',
      status: '2xx',
    }),
  ).toBe(1);
  expect(atApi.value('affilog_role_up', { role: 'api' })).toBe(1);
  expect(atApi.value('affilog_commit_duration_seconds_count', events)).toBeGreaterThan(0);
  expect(atApi.value('affilog_delivery_outcomes_total', { outcome: 'delivered' })).toBe(0);
  expect(atApi.value('affilog_read_model_lag_events', { read_model: 'transactions' })).toBeDefined();
});

test('the port of metrics has nothing else, and is only there if it was asked for', async () => {
  const url = metricsOf(worker);
  expect(new URL(url).hostname).toBe('127.0.0.1');
  const answers = await Promise.all([
    fetch(url.replace('/metrics', '/health/live')),
    fetch(url, { method: 'POST' }),
    fetch(url, { method: 'HEAD' }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 200]);
  expect(api.stdoutLines.join('\n')).not.toContain('metrics are at');
});

test('a port of metrics that is in use is named, with the flag that chooses another', async () => {
  const { port } = new URL(metricsOf(worker));
  const { code, stderr } = await runProgram(
    ['serve', '--roles', 'api', '--port', String(await freePort()), '--metrics-port', port],
    { DATA_DIR: folder, LOG_LEVEL: 'error' },
  );
  expect([code, stderr]).toEqual([
    1,
    `affilog: listen EADDRINUSE: address already in use 127.0.0.1:${port}: choose another port with --metrics-port\n`,
  ]);
});
