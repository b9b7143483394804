import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { claims } from '../../projections/claims';
import { imports } from '../../projections/imports';
import { priceHistory } from '../../projections/price-history';
import { CLAIM_NETWORK, claimClientOf, claimOf } from '../api/claim-network';
import { FEEDS, OTHER_TOKENS } from '../api/network';
import { clientOf, product } from '../api/posted';
import { reportOf, transactionClientOf } from '../api/transaction-network';
import { subscription } from '../api/subscription-network';
import { voucher, voucherClientOf } from '../api/voucher-network';
import { demoNetwork } from '../../src/demo/network';
import { NoGeneration, type ReadStore } from '../../src/kernel/read-store';
import { directoryAt } from '../../src/network/directory';
import { historyOf } from '../../src/operations/history/history';
import { TestApp } from '../support/app';
import { run } from './run';

const START = Date.parse('2026-03-01T12:00:00Z');

let app: TestApp;
let now = START;

beforeAll(async () => {
  app = await TestApp.start({ network: CLAIM_NETWORK, now: () => new Date(now) });
  const { post } = clientOf(() => app);
  await post(FEEDS.german, [product('hello-1', { price: 12.5 })]);
  await voucherClientOf(() => app).create({ sourceId: 'v', title: 'One' });
  await transactionClientOf(() => app).create('A-1');
  await claimClientOf(() => app).file([claimOf('C-1')], 'preisblick');
  now += 86_400_000;
  await post(FEEDS.german, [product('hello-1', { price: 9.99 })]);
  await voucherClientOf(() => app).create({ sourceId: 'v', title: 'Two' });
  await app.settled();
});
afterAll(() => app.close());

const history = (...args: readonly string[]) => run(['history', ...args], { DATA_DIR: app.folder });

describe('affilog history (decisions X109)', () => {
  it('prints a line for each event and each value that it has changed', async () => {
    const { code, out, err } = await history('product', String(FEEDS.german), 'hello-1');
    expect([code, err]).toEqual([0, '']);
    const lines = out.split('\n');
    expect(lines[0]).toMatch(
      /^1 {2}2026-03-01T12:00:00\.000Z {2}position \d+ {2}ProductListed {2}by advertiser 1$/,
    );
    expect(lines).toContain('   price: "12.50"');
    expect(lines.slice(-3)).toEqual([
      expect.stringMatching(
        /^2 {2}2026-03-02T12:00:00\.000Z {2}position \d+ {2}ProductRepriced {2}by advertiser 1$/,
      ),
      '   price: "12.50" -> "9.99"',
      '',
    ]);
  });

  it('finds a product as messages name it (decisions X149)', async () => {
    const named = `${FEEDS.german}-hello-1`;
    const { out } = await history('product', named, '--json');
    expect(out).toBe((await history('product', String(FEEDS.german), 'hello-1', '--json')).out);
    const answer = await app.get(`/ops/1.0/history/product/${named}`, { token: OTHER_TOKENS.operator });
    expect(answer.json()).toEqual(
      out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    );
    expect(await history('product', 'hello')).toMatchObject({
      code: 2,
      err: 'affilog: product hello: expected its feed and sourceProductId, or <feedId>-<sourceProductId>\n',
    });
  });

  it('prints what something was at a time, at a position and after an event', async () => {
    const at = await history('voucher', '1', '--at', '2026-03-01');
    expect(at.out).toContain('   title: "One"\n');
    const [entry] = (await history('voucher', '1', '--version', '1', '--json')).out.split('\n');
    const { position, state } = JSON.parse(entry ?? '') as { position: string; state: object };
    expect(state).toMatchObject({ title: 'One' });
    expect((await history('voucher', '1', '--position', position)).out).toBe(at.out);
  });

  it('prints what differs between two points', async () => {
    const { out } = await history('voucher', '1', '--diff', '1', '2026-03-02');
    expect(out).toMatch(/^from 1 {2}2026-03-01.* to 2 {2}2026-03-02.*\n {3}title: "One" -> "Two"\n$/);
  });

  it.each([
    [['product', String(FEEDS.german), 'hello-1'], `product/${FEEDS.german}/hello-1`],
    [['voucher', '1'], 'voucher/1'],
    [['transaction', 'A-1'], 'transaction/A-1'],
    [['claim', 'C-1'], 'claim/C-1'],
    [['feed', String(FEEDS.german)], `feed/${FEEDS.german}`],
    [['program', '101', '--at', '2026-03-01'], 'program/101;at=2026-03-01'],
    [['voucher', '1', '--diff', '1', '2'], 'voucher/1;diff=1,2'],
  ])('%j --json prints what the API answers', async (args, path) => {
    const { out } = await history(...args, '--json');
    const answer = await app.get(`/ops/1.0/history/${path}`, { token: OTHER_TOKENS.operator });
    const entries = answer.json<readonly object[]>();
    expect(entries.length).toBeGreaterThan(0);
    expect(out).toBe(entries.map((one) => `${JSON.stringify(one)}\n`).join(''));
  });

  it.each([
    [priceHistory.collection, { kind: 'product', feedId: String(FEEDS.german), sourceProductId: 'hello-1' }],
    [imports.collection, { kind: 'feed', id: String(FEEDS.german) }],
    [claims.collection, { kind: 'claim', id: 'C-1' }],
  ] as const)('does not deny what documents of a former version lack: %j', async (collection, subject) => {
    const { log, store } = app.engines;
    const { name, version } = collection;
    const upgraded = Object.create(store, {
      generations: {
        value: (...names: readonly string[]) =>
          Promise.resolve(names.map((one) => ({ collection: one, version: version - 1, state: 'live' }))),
      },
    }) as ReadStore;
    const parts = { log, store: upgraded, directory: await directoryAt(log) };
    const missing = new NoGeneration({ collection: name }, version);
    await expect(historyOf(parts, subject, {})).rejects.toThrow(missing);
    expect(missing.message).toBe(`no generation of ${name} of version ${version} is live`);
  });

  it('says what it does not know', async () => {
    expect(await history('voucher', '4711')).toEqual({
      code: 2,
      out: '',
      err: 'affilog: voucher 4711: there are no events of it\n',
    });
    expect((await history('voucher', '1', '--at', '2026-03-01', '--version', '1')).err).toBe(
      'affilog: at, version: expected at most one of them\n',
    );
  });
});

describe('docs/operations.md, The history of anything', () => {
  const [, chapter = ''] = readFileSync(join(__dirname, '../../docs/operations.md'), 'utf8').split(
    '\n### The history of anything\n',
  );
  const commands = [...(chapter.split('\n## ')[0] ?? '').matchAll(/^affilog history ([^#\n]*)/gm)].map(
    ([, rest = '']) => rest.trim().split(' '),
  );
  const token = (name: string): string => name.repeat(40);
  let demo: TestApp;
  let subscriptionId: string;
  const at = Date.parse('2026-09-01T12:00:00Z');

  const post = async (
    path: string,
    by: string,
    body: object,
  ): Promise<{ readonly subscriptionId?: string }> => {
    const answer = await demo.post(path, { token: token(by), body: JSON.stringify(body) });
    expect([path, answer.statusCode < 300 ? '' : answer.body]).toEqual([path, '']);
    return answer.body === '' ? {} : answer.json();
  };

  beforeAll(async () => {
    const tokens = [
      { organisationId: 1, system: 'PRODUCTS', token: token('a') },
      { organisationId: 1, system: 'VOUCHERS', token: token('b') },
      { organisationId: 1, system: 'CONVERSIONS', token: token('c') },
      { organisationId: 11, system: 'CLAIMS', token: token('d') },
    ];
    demo = await TestApp.start({ network: { ...demoNetwork(), tokens }, now: () => new Date(at) });
    await post('/1.0/products;fid=1001', 'a', { products: [product('hello-1')] });
    await post('/1.0/vouchers', 'b', voucher({ programId: 101, startDate: at, endDate: at + 86_400_000 }));
    const report = { eventId: 1011, siteId: 1101, programId: 101 };
    const times = { timeOfEvent: at, timeOfVisit: at };
    await post('/1.0/conversions/transactions', 'c', reportOf('A-1001', { ...report, ...times }));
    const claim = { affiliateSiteId: 1101, programId: 101, eventId: 17, timeStampEvent: '2026-08-31' };
    await post('/1.0/claims', 'd', { claims: [claimOf('C-1001', claim)] });
    ({ subscriptionId = '' } = await post('/1.0/conversions/subscriptions', 'c', subscription()));
    await demo.settled();
  });
  afterAll(() => demo.close());

  it('has commands that do what it says', async () => {
    expect(commands.length).toBeGreaterThan(10);
    for (const args of commands) {
      const named = args.map((arg) => (arg === 'SUBSCRIPTION_ID' ? subscriptionId : arg));
      const { code, out, err } = await run(['history', ...named], { DATA_DIR: demo.folder });
      expect([args, code, err]).toEqual([args, 0, '']);
      expect(out).toMatch(args.includes('--diff') ? /^from / : /^\d+ {2}2026-.* {2}by /);
    }
  });
});
