import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { AUTOMATION_ACTIONS, LOADED_PRODUCTS, LOADS } from '../../src/runtime/metrics';
import { automationsOver } from '../../src/processes/automations';
import { acting } from '../../src/operations/actions';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { TestApp } from '../support/app';
import { testedEngines } from '../support/engines';
import { growthOf, Scraped } from '../support/metrics';
import { FEEDS, NETWORK, OTHER_TOKENS, TOKENS } from './network';

const token = OTHER_TOKENS.operator;
const PATH = '/ops/1.0/metrics';

let app: TestApp;
beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK });
});
afterAll(() => app.close());

async function scrape(): Promise<Scraped> {
  const { statusCode, body } = await app.get(PATH, { token });
  expect([statusCode, body]).toEqual([200, expect.any(String)]);
  return new Scraped(body);
}

/** How much a series has grown while something was done. */
async function growth(
  work: () => Promise<unknown>,
  ...series: readonly (readonly [name: string, labels?: Readonly<Record<string, string>>])[]
): Promise<readonly number[]> {
  const before = await scrape();
  await work();
  const after = await scrape();
  return series.map(([name, labels]) => {
    const value = after.value(name, labels);
    if (value === undefined) throw new Error(`there is no ${name} ${JSON.stringify(labels)}`);
    return value - (before.value(name, labels) ?? 0);
  });
}

const product = { sourceProductId: 'metered', name: 'Lamp' };

describe('GET /ops/1.0/metrics (decisions X120)', () => {
  it('is for operators', async () => {
    for (const other of [undefined, TOKENS.preisblick, 'a'.repeat(40)]) {
      const { statusCode, body } = await app.get(PATH, other === undefined ? {} : { token: other });
      expect([other, Math.floor(statusCode / 100), body]).toEqual([
        other,
        4,
        expect.stringContaining('token'),
      ]);
    }
    const { statusCode, headers } = await app.get(PATH, { headers: { authorization: `Bearer ${token}` } });
    expect([statusCode, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
      'no-store',
    ]);
  });

  it.each([
    'application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.1',
    'text/plain',
  ])('answers those who accept %s', async (accept) => {
    const { statusCode, headers } = await app.get(PATH, { token, headers: { accept } });
    expect([statusCode, headers['content-type']]).toEqual([200, expect.stringContaining('text/plain')]);
  });

  it('counts requests by service, method, route and class of status, and how long they take', async () => {
    const search = { service: 'products', method: 'GET', route: '/1.0/products' };
    const missing = { service: 'none', method: 'GET', route: 'none' };
    const counted = await growth(
      async () => {
        await app.get('/1.0/products;fid=1;q=a', { token: TOKENS.preisblick });
        await app.get('/1.0/products;fid=x', { token: TOKENS.preisblick });
        await app.get('/1.0/products', {});
        await app.get('/anything');
        await app.get('/other');
      },
      ['affilog_http_requests_total', { ...search, status: '4xx' }],
      ['affilog_http_request_duration_seconds_count', search],
      ['affilog_http_request_duration_seconds_bucket', { ...search, le: '+Inf' }],
      ['affilog_http_requests_total', { ...missing, status: '4xx' }],
    );
    expect(counted).toEqual([expect.any(Number), 3, 3, 2]);
    expect(counted[0]).toBeGreaterThanOrEqual(2);
  });

  it('has as few series as routes, whatever is asked for', async () => {
    await app.get('/1.0/vouchers/1', { token: TOKENS.preisblick });
    const before = (await scrape()).size;
    for (let n = 0; n < 50; n += 1) {
      await app.get(`/1.0/vouchers/${n}`, { token: TOKENS.preisblick });
      await app.get(`/nothing/${n}`);
    }
    expect((await scrape()).size - before).toBeLessThan(40);
  });

  it('counts loads and their products, appends, commits and waits for the disk, and what is projected', async () => {
    const feed = FEEDS.german;
    const events = { log: 'events' };
    const load = async (): Promise<void> => {
      const body = JSON.stringify({ products: [product, { sourceProductId: '' }] });
      await app.post(`/1.0/products;fid=${feed}`, { token: TOKENS.nord, body });
      await app.settled();
    };
    const counted = await growth(
      async () => {
        await load();
        await load();
        await app.post(`/1.0/products;fid=${feed}`, { token: TOKENS.nord, body: '{' });
      },
      ['affilog_loads_total', { result: 'stored' }],
      ['affilog_loads_total', { result: 'refused' }],
      ['affilog_loaded_products_total', { change: 'refused' }],
      ['affilog_load_duration_seconds_count'],
      ['affilog_appends_total', { ...events, result: 'ok' }],
      ['affilog_append_duration_seconds_count', events],
      ['affilog_commit_appends_sum', events],
      ['affilog_commit_duration_seconds_count', events],
      ['affilog_fsync_duration_seconds_count', events],
      ['affilog_appended_events_total', events],
      ['affilog_projected_events_total', events],
    );
    expect(counted.slice(0, 4)).toEqual([2, 1, expect.any(Number), 2]);
    for (const more of counted.slice(2)) expect(more).toBeGreaterThan(0);
  });

  it('counts each result of a load, and what becomes of its products', async () => {
    const [loads, products] = [growthOf(LOADS), growthOf(LOADED_PRODUCTS)];
    const path = `/1.0/products;fid=${FEEDS.german}`;
    const lamp = {
      ...{
        sourceProductId: 'counted',
        name: 'Lamp',
        description: 'Brass',
        price: 10,
        categories: [{ name: 'A' }],
      },
      ...{ productUrl: 'https://a.example/', productImage: { url: 'https://a.example/' } },
    };
    const load = (posted: readonly object[], keys = '') =>
      app.post(path + keys, { token: TOKENS.nord, body: JSON.stringify({ products: posted }) });
    for (const one of [
      lamp,
      lamp,
      { ...lamp, price: 12 },
      { ...lamp, price: 12, name: 'Other' },
      { name: 'x' },
    ])
      await load([one]);
    await load([lamp], ';dryRun=true');
    await app.delete(`${path};spId=counted`, { token: TOKENS.nord });
    const failing = jest.spyOn(app.engines.log, 'append').mockRejectedValue(new EngineUnavailable('no disk'));
    const { statusCode } = await load([lamp]);
    failing.mockRestore();
    expect(statusCode).toBe(500);
    const failed = { service: 'products', method: 'POST', route: '/1.0/products', status: '5xx' };
    // A request is counted when its connection is closed.
    while ((await scrape()).value('affilog_http_requests_total', failed) === undefined) await app.settled();
    await app.post(path, { token: TOKENS.nord, body: '{' });
    expect(loads()).toEqual({ stored: 5, dry_run: 1, failed: 1, refused: 1 });
    expect(products()).toEqual({ listed: 1, unchanged: 1, repriced: 1, revised: 1, refused: 1, delisted: 1 });
  });

  it('counts requests that fail because of a bug', async () => {
    const broken = jest.spyOn(app.engines.log, 'append').mockRejectedValueOnce(new TypeError('a bug'));
    const body = JSON.stringify({ products: [{ ...product, sourceProductId: 'unlucky' }] });
    const post = () => app.post(`/1.0/products;fid=${FEEDS.german}`, { token: TOKENS.nord, body });
    expect(await growth(post, ['affilog_unexpected_failures_total'])).toEqual([1]);
    broken.mockRestore();
  });

  it('shows how far read models are behind the log', async () => {
    const lag = async (): Promise<number | undefined> =>
      (await scrape()).value('affilog_read_model_lag_events', { read_model: 'imports' });
    await app.settled();
    expect(await lag()).toBe(0);
    await app.stopProjecting();
    const feed = FEEDS.german;
    const body = JSON.stringify({ products: [{ ...product, name: 'Other' }] });
    await app.post(`/1.0/products;fid=${feed}`, { token: TOKENS.nord, body });
    expect(await lag()).toBeGreaterThan(0);
    const { labels } = await scrape();
    expect(labels.get('affilog_read_model_lag_seconds')).toEqual(new Set(['read_model']));
  });

  it('says when the last backup was complete, whoever made it (decisions X152)', async () => {
    const last = async () => (await scrape()).value('affilog_last_backup_timestamp_seconds');
    const action = { name: 'backup', by: { user: 'alice' }, asked: {} } as const;
    const run = (fail?: Error) =>
      acting(SYSTEM_CLOCK, app.engines, action, async (_, begin) => {
        await begin();
        if (fail !== undefined) throw fail;
      });
    await run(new Error('no space')).catch(() => undefined);
    expect(await last()).toBe(0);
    const before = Date.now() / 1000;
    await run();
    expect(await last()).toBeGreaterThanOrEqual(before);
    await run(new Error('no space')).catch(() => undefined);
    expect(await last()).toBeLessThanOrEqual(Date.now() / 1000);
    const done = await last();
    await run(new Error('no space')).catch(() => undefined);
    expect(await last()).toBe(done);
  });

  it('names the program, what is up, the disk, and the process', async () => {
    const scraped = await scrape();
    expect(scraped.labels.get('affilog_build_info')).toEqual(new Set(['version', 'event_log', 'read_store']));
    expect(scraped.value('affilog_role_up', { role: 'api' })).toBe(1);
    expect(scraped.value('affilog_engine_up', { engine: 'log' })).toBe(1);
    expect(scraped.value('affilog_engine_up', { engine: 'read_store' })).toBe(1);
    expect(scraped.value('affilog_disk_free_bytes')).toBeGreaterThan(0);
    // Servers have their files elsewhere.
    const { log, store } = testedEngines();
    for (const [part, engine] of [
      ['log', log],
      ['read', store],
    ] as const) {
      const sizes = ['affilog_files_size_bytes', 'affilog_wal_size_bytes'].map((name) =>
        scraped.value(name, { part }),
      );
      const own = [expect.any(Number), expect.any(Number)];
      expect([part, sizes, sizes[0] !== 0]).toEqual([
        part,
        ...(engine === 'sqlite' ? [own, true] : [[0, 0], false]),
      ]);
    }
    expect(scraped.value('process_resident_memory_bytes')).toBeGreaterThan(0);
    expect(scraped.labels.has('nodejs_eventloop_lag_p99_seconds')).toBe(true);
    for (const part of ['read_models', 'receivers', 'disk', 'engines', 'parked'])
      expect([part, scraped.value('affilog_scrape_failed', { part })]).toEqual([part, 0]);
  });

  it('says what could not be read, and answers all the rest', async () => {
    const broken = jest.spyOn(app.engines.store, 'generations').mockRejectedValue(new Error('gone'));
    const scraped = await scrape();
    broken.mockRestore();
    expect(scraped.value('affilog_scrape_failed', { part: 'read_models' })).toBe(1);
    expect(scraped.value('affilog_scrape_failed', { part: 'disk' })).toBe(0);
  });
});

describe('metrics of threads', () => {
  it('count each automation under its name', () => {
    const names = automationsOver(SYSTEM_CLOCK, app.engines.store).map(({ name }) => name);
    const counted = new Set(AUTOMATION_ACTIONS.family.values.map(({ labels }) => labels['automation']));
    expect([...counted]).toEqual([...names, 'other']);
  });

  it('count a value that is not declared as other', () => {
    const others = (): number | undefined =>
      AUTOMATION_ACTIONS.family.values.find(
        ({ labels }) => labels['automation'] === 'other' && labels['result'] === 'failed',
      )?.value;
    const before = others() ?? NaN;
    AUTOMATION_ACTIONS.add(1, { automation: 'of the future', result: 'failed' });
    expect(others()).toBe(before + 1);
  });
});

const KEYWORDS = ['by', 'or', 'and', 'unless', 'without', 'on', 'ignoring', 'offset'];

/** Names of metrics in an expression of PromQL, and of the labels that it uses. */
function namesIn(expr: string): { readonly metrics: readonly string[]; readonly labels: readonly string[] } {
  const labels = [
    ...[...expr.matchAll(/[{,]\s*(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, name]) => name ?? ''),
    ...[...expr.matchAll(/\b(?:by|without|on)\s*\(([^)]*)\)/g)].flatMap(([, list = '']) =>
      list.split(/\s*,\s*/),
    ),
  ];
  const rest = expr
    .replace(/"(?:[^"\\]|\\.)*"/g, '')
    .replace(/\{[^}]*\}/g, '')
    .replace(/\[[^\]]*\]/g, '')
    .replace(/\b(?:by|without|on)\s*\([^)]*\)/g, '');
  const metrics = [...rest.matchAll(/\b[a-zA-Z_:][\w:]*\b(?!\s*\()/g)].map(([name]) => name);
  return { metrics: metrics.filter((name) => !KEYWORDS.includes(name)), labels };
}

const DOCS = join(__dirname, '../../docs');

/** Those that Prometheus adds, and its own metric of each process. */
const ADDED = ['instance', 'le', 'job'];
const UP = ['up', new Set<string>()] as const;

interface Dashboard {
  readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
}

function dashboardExpressions(): readonly string[] {
  const { panels } = JSON.parse(readFileSync(join(DOCS, 'grafana.json'), 'utf8')) as Dashboard;
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

function alertExpressions(): readonly string[] {
  const { groups } = parse(readFileSync(join(DOCS, 'alerts.yml'), 'utf8')) as {
    groups: readonly { rules: readonly { expr: string }[] }[];
  };
  return groups.flatMap(({ rules }) => rules.map(({ expr }) => expr));
}

describe('the dashboard and the alert rules', () => {
  it.each([
    ['docs/grafana.json', dashboardExpressions(), 30],
    ['docs/alerts.yml', alertExpressions(), 10],
  ])('%s name only metrics and labels that exist', async (_, expressions, least) => {
    const known = new Map([...(await scrape()).labels, UP]);
    expect(expressions.length).toBeGreaterThan(least);
    for (const expr of expressions) {
      const { metrics, labels } = namesIn(expr);
      expect([expr, metrics.length]).not.toEqual([expr, 0]);
      expect([expr, metrics.filter((name) => !known.has(name))]).toEqual([expr, []]);
      const own = new Set([...ADDED, ...metrics.flatMap((name) => [...(known.get(name) ?? [])])]);
      expect([expr, labels.filter((name) => !own.has(name))]).toEqual([expr, expect.anything()]);
      // A metric of which there are no series yet has no labels that are known.
      if (metrics.every((name) => (known.get(name)?.size ?? 0) > 0))
        expect([expr, labels.filter((name) => !own.has(name))]).toEqual([expr, []]);
    }
  });

  it('show each metric of the program', async () => {
    const { labels: known } = await scrape();
    const shown = new Set(dashboardExpressions().flatMap((expr) => namesIn(expr).metrics));
    const families = [...known.keys()].filter(
      (name) => name.startsWith('affilog_') && !name.endsWith('_sum'),
    );
    const missing = families.filter((name) => {
      const family = name.replace(/_(bucket|count)$/, '');
      return ![name, `${family}_bucket`, `${family}_sum`].some((one) => shown.has(one));
    });
    expect(missing).toEqual([]);
  });

  it('find a metric that does not exist', () => {
    expect(namesIn('sum by (log) (rate(affilog_gone_total{log="events"}[5m])) > 0 or up')).toEqual({
      metrics: ['affilog_gone_total', 'up'],
      labels: ['log', 'log'],
    });
  });
});
