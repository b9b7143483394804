import { ModulesContainer } from '@nestjs/core';
import { type Command } from 'commander';
import { commandsOf } from '../../src/cli/run-cli';
import { type PageAction, type Body } from '../../src/console/content';
import { PAGES } from '../../src/console/pages';
import { ACTIONS, type ActionName, GRAVE } from '../../src/operations/actions';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { changeSource, sourcesIn } from '../../src/services/products/sources';
import { buildNow, park } from '../api/asked-operations';
import { deliveryWorld } from '../api/delivery-samples';
import { FEEDS, OTHER_TOKENS } from '../api/network';
import { clientOf, product } from '../api/posted';
import { reportOf, transactionClientOf } from '../api/transaction-network';
import { operationsOf } from '../../src/http/describe';
import { type Operation } from '../../src/wire/api/openapi-operation';
import { run } from './run';

const { german } = FEEDS;
const token = OTHER_TOKENS.operator;
const { world, history, settled, sample } = deliveryWorld();

/** What operators look at: commands, operations below `/ops/1.0`, and pages of the console. */
const READS: readonly (readonly [command: string, operations: string, pages: string])[] = [
  ['projections list', 'listProjections', 'read-models read-model overview'],
  ['projections verification', 'getVerification', 'read-model'],
  ['parked list', 'listParked', 'parked'],
  ['notifications subscriptions', 'listAnySubscriptions', 'subscriptions'],
  ['notifications deliveries', 'listAnyDeliveries', 'messages'],
  ['notifications show', 'getAnyDelivery', 'message'],
  ['notifications receivers', 'listAnyReceivers', 'receivers'],
  ['feeds list', 'listAllFeeds', 'feeds'],
  ['feeds loads', 'listAnyImports', 'loads load'],
  ['feeds restore', 'getRestorePlan', 'load'],
  ['feeds source list', 'listAnySources', 'sources'],
  ['server', 'getServerState', 'overview'],
  ['backup', 'listBackups', 'backups'],
  ['backup', 'verifyBackup', 'backup'],
  ['documents', 'listDocuments', 'document event'],
  ['tokens list', 'listTokens', 'tokens'],
  ['actions', 'listActions', 'actions'],
  ['as-of list', 'listAsOf', 'as-of'],
  ['claims list', 'listNetworkClaims', 'claims claim'],
  ['mappings list', 'listMappings', 'mappings'],
  ['mappings suggest', 'suggestMappings', 'mappings'],
  ['history product', 'getProductHistory', 'history'],
  ...['voucher', 'transaction', 'claim', 'subscription', 'feed', 'program'].map(
    (kind) => [`history ${kind}`, 'getHistory', 'history'] as const,
  ),
  ['why product', 'whyProduct', 'why'],
  ['why voucher', 'whyVoucher', 'why'],
  ['why delivery', 'whyDelivery', 'why'],
  ['log export', 'readLog', 'log event'],
  ['sql', 'askSql', 'sql'],
];

/** Where else, and why not in all three. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  ...{ serve: 'starts servers', receiver: 'a server for trials', settings: 'of one process' },
  ...{ 'log copy': 'without servers', 'log import': 'without servers', restore: 'without servers' },
  ...{ 'network import': 'a file', 'network export': 'a file', 'network schema': 'a file' },
  ...{ 'categories import': 'a file', 'mappings import': 'a file, which requests post' },
  'products import': 'posts, for advertisers',
  ...{ 'transactions import': 'a file', 'transactions show': '`history transaction`' },
  ...{
    'tokens issue': 'no token is answered over HTTP',
    'tokens revoke': 'who has a token cannot lock others out',
  },
  ...{
    'notifications explain': 'the former name of `why delivery`',
    'notifications own': 'of one installation',
  },
  'parked show': 'stacks have paths',
  ...{
    'log stats': 'reads the whole log: not for a page',
    getLogStats: '',
    'log check': 'the same',
    checkLog: '',
  },
  ...{ 'transactions totals': 'for analysts, who have no page', totalTransactionsAsOf: '' },
  ...{ searchProductsAsOf: 'the command is `sql`', listVouchersAsOf: '', listTransactionsAsOf: '' },
  getMetrics: 'for programs',
  ...{ products: 'the command is `sql`', vouchers: '', transactions: '', find: 'leads to the others' },
};

/** Actions whose operation does the same as that of another one, or that are on no page. */
const OTHER_OPERATIONS: Readonly<Record<string, string>> = {
  changeMappings: 'mappings map',
};

const parts = { environment: {}, stdout: process.stdout, stderr: process.stderr, threads: false };
const commands = (): readonly (readonly [string, Command])[] =>
  leavesOf(
    commandsOf({
      ...parts,
      stopSignal: () => new AbortController().signal,
      start: () => Promise.reject(new Error()),
    }),
  );

function leavesOf(command: Command, path = ''): readonly (readonly [string, Command])[] {
  if (command.commands.length === 0) return [[path, command]];
  return command.commands.flatMap((sub) => leavesOf(sub, `${path} ${sub.name()}`.trim()));
}

/** Names that are not among known ones. */
function without(all: Iterable<string>, ...known: readonly Iterable<string>[]): readonly string[] {
  const names = new Set(known.flatMap((some) => [...some]));
  return [...new Set(all)].filter((name) => !names.has(name));
}

const ACTING = Object.keys(ACTIONS) as readonly ActionName[];
const CHANGING: readonly string[] = ACTING.flatMap((name) => [...ACTIONS[name]]);

const operations = (): readonly (Operation & { readonly id: string })[] =>
  operationsOf(world.app.http.get(ModulesContainer))
    .filter(({ path }) => path.startsWith('/ops/1.0/'))
    .map((one) => ({ ...one, id: one.text.id }));

describe('what operators do (decisions X124, X130, X134)', () => {
  it('has each command, operation and page in this list, or a reason why not', () => {
    const known = [...READS.map(([command]) => command), ...Object.keys(ELSEWHERE)];
    expect(
      without(
        commands().map(([path]) => path),
        known,
        ACTING,
      ),
    ).toEqual([]);
    expect(
      without(
        known,
        commands().map(([path]) => path),
        PAGES.map(({ name }) => name),
        operations().map(({ id }) => id),
      ),
    ).toEqual([]);
    const ids = operations().map(({ id }) => id);
    const reads = READS.map(([, operation]) => operation);
    expect(without(ids, reads, CHANGING, Object.keys(ELSEWHERE))).toEqual([]);
    expect(without(reads, ids)).toEqual([]);
    const pages = READS.flatMap(([, , names]) => names.split(' '));
    expect(
      without(
        PAGES.map(({ name }) => name),
        pages,
        Object.keys(ELSEWHERE),
      ),
    ).toEqual([]);
  });

  /** Actions of the console by the operation that they ask for. */
  const onPages = (): ReadonlyMap<string, PageAction> => {
    const found = PAGES.flatMap(({ actions = {} }) => Object.values<PageAction>(actions));
    return new Map(found.map((action) => [action.operation.id, action]));
  };

  it('changes the same in the console and by requests, under the names of commands', () => {
    expect(without(onPages().keys(), CHANGING)).toEqual([]);
    expect(without(CHANGING, onPages().keys())).toEqual([]);
    expect(
      without(
        ACTING,
        commands().map(([path]) => path),
      ),
    ).toEqual([]);
    const onlyCommands = ACTING.filter((name) => ACTIONS[name].length === 0);
    expect(without(onlyCommands, Object.keys(ELSEWHERE), Object.values(OTHER_OPERATIONS))).toEqual([]);
  });

  it('needs a reason everywhere for what takes effect for others at once, and nowhere else', () => {
    const pages = onPages();
    for (const name of ACTING)
      for (const id of ACTIONS[name]) {
        const reason = operations().find((one) => one.id === id)?.keys['reason'];
        const option = commands()
          .find(([path]) => path === name)?.[1]
          .options.find((one) => one.long === '--reason');
        expect([id, reason?.required === true, option?.description.endsWith('Required.')]).toEqual([
          id,
          GRAVE.has(name),
          GRAVE.has(name),
        ]);
        if (pages.has(id)) expect([id, pages.get(id)?.isGrave === true]).toEqual([id, GRAVE.has(name)]);
      }
  });
});

type Item = Readonly<Record<string, unknown>>;

interface Compared {
  readonly command: readonly string[];
  readonly path: string;
  readonly page?: string;
  /** The list in an answer that is an object. */
  readonly list?: string;
  /** What is compared; by default all. */
  readonly names?: readonly string[];
  /** Rows of the page, by default one for each item. */
  readonly rows?: (items: readonly Item[]) => number;
}

const LISTS: readonly Compared[] = [
  {
    command: ['projections', 'list'],
    path: '/projections',
    page: 'read-models',
    names: ['name', 'state', 'generation', 'parked'],
  },
  { command: ['parked', 'list'], path: '/parked', page: 'parked', names: ['name', 'id'] },
  {
    ...{ command: ['notifications', 'subscriptions'], path: '/subscriptions', page: 'subscriptions' },
    rows: (items) => items.flatMap(({ receivers }) => receivers).length,
  },
  { command: ['notifications', 'deliveries'], path: '/deliveries', page: 'messages' },
  { command: ['notifications', 'receivers'], path: '/receivers', page: 'receivers' },
  { command: ['feeds', 'list'], path: '/feeds', page: 'feeds', list: 'feeds' },
  {
    command: ['feeds', 'loads', String(german)],
    path: `/feeds/${german}/loads`,
    page: `loads?feedId=${german}`,
    list: 'imports',
  },
  { command: ['feeds', 'source', 'list'], path: '/sources', page: 'sources' },
  {
    command: ['mappings', 'list', '--feed', String(german)],
    path: `/mappings;fid=${german}`,
    page: `mappings?fid=${german}`,
    list: 'categoryMappings',
  },
  {
    command: ['documents', '--position', 'POSITION'],
    path: '/documents;position=POSITION',
    page: 'event?position=POSITION',
  },
  { command: ['tokens', 'list'], path: '/tokens', page: 'tokens' },
  {
    command: ['actions'],
    path: '/actions',
    page: 'actions',
    names: ['number', 'time', 'action', 'state', 'reason'],
  },
  {
    command: ['as-of', 'list'],
    path: '/asOf',
    page: 'as-of',
    names: ['name', 'position', 'time', 'expires', 'complete'],
  },
  {
    command: ['history', 'feed', String(german)],
    path: `/history/feed/${german}`,
    page: `history?kind=feed&id=${german}`,
  },
  {
    command: ['transactions', 'totals', '--group-by', 'month,programId', '--advertiser', '1'],
    path: '/transactions/totals;groupBy=month,programId;advertiser=1',
  },
];

describe('what operators look at is the same', () => {
  let cookie = '';
  /** Of an event that is folded into documents. */
  let position = '';
  beforeAll(async () => {
    const { app } = world;
    await clientOf(() => app).post(german, [product('one'), product('two')]);
    await transactionClientOf(() => app).report(reportOf('three-times'));
    const one = await sample();
    await history().outcome(await one.due('a'), { outcome: 'failed', error: 'status 500' });
    await settled();
    const events = await app.get('/ops/1.0/log;type=ProductListed;limit=1', { token });
    position = (JSON.parse(events.body.split('\n')[0] ?? '') as { readonly position: string }).position;
    await buildNow(app);
    await park(app, 'vouchers', '7');
    await affilog('projections', 'pause', 'imports', '--reason', 'a test');
    await affilog('projections', 'resume', 'imports');
    const file = ['--url', 'https://shop.example/feed.xml', '--every', '6h'];
    expect(await affilog('feeds', 'source', String(german), ...file)).toMatchObject({ code: 0, err: '' });
    await settled();
    const body = new URLSearchParams({ key: token }).toString();
    const type = 'application/x-www-form-urlencoded';
    const headers = { 'content-type': type, 'sec-fetch-site': 'same-origin' };
    const answer = await app.post('/console/login', { headers, body });
    cookie = String([answer.headers['set-cookie'] ?? []].flat()[0]).split(';')[0] ?? '';
  });

  const placed = (text: string): string => text.replace('POSITION', position);
  const affilog = (...args: readonly string[]) => run(args, { DATA_DIR: world.app.folder });

  it.each(LISTS)('$command', async ({ command, path, page, list, names, rows = ({ length }) => length }) => {
    const compared = (items: readonly Item[]): readonly Item[] =>
      names === undefined
        ? items
        : items.map((item) =>
            Object.fromEntries(names.flatMap((name) => (name in item ? [[name, item[name]]] : []))),
          );
    const { out, err, code } = await affilog(...command.map(placed), '--json');
    expect([code, err]).toEqual([0, '']);
    const listed = out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Item);
    const answer = await world.app.get(`/ops/1.0${placed(path)}`, { token });
    expect(answer.statusCode).toBe(200);
    const answered =
      list === undefined ? answer.json<readonly Item[]>() : (answer.json<Item>()[list] as readonly Item[]);
    expect(listed.length).toBeGreaterThan(0);
    expect(compared(listed)).toEqual(compared(answered));
    if (page === undefined) return;
    const shown = await world.app.get(`/console/${placed(page).replace(/^[^?]+/, '$&.json')}`, {
      headers: { cookie },
    });
    const { sections } = shown.json<{ readonly sections: readonly { readonly bodies: readonly Body[] }[] }>();
    const tables = sections.flatMap(({ bodies }) =>
      bodies.flatMap((body) => (body.is === 'table' ? [body.rows.length] : [])),
    );
    expect(tables).toContain(rows(answered));
  });

  it('a source is asked for, accepted and removed by commands as by requests', async () => {
    const { log } = world.app.engines;
    const source = (verb: string) => affilog('feeds', 'source', verb, String(german), '--reason', 'a test');
    const known = async () => (await sourcesIn(log)).get(german);
    expect(await source('accept')).toMatchObject({
      code: 2,
      err: expect.stringContaining('nothing is held') as string,
    });
    expect(await source('fetch')).toMatchObject({ code: 0, err: '' });
    const began = await known();
    expect(began).toMatchObject({ isAsked: true });
    const held = { is: 'held', listed: 4, removed: 3 } as const;
    const at = '2026-03-01T12:00:00.000Z';
    await changeSource(SYSTEM_CLOCK, log, german, { do: 'conclude', at, began: began!, outcome: held });
    expect(await source('accept')).toMatchObject({ code: 0, err: '' });
    expect(await known()).toMatchObject({ accepted: 3 });
    expect(await source('remove')).toMatchObject({ code: 0, err: '' });
    expect(await known()).toBeUndefined();
    expect(await source('fetch')).toMatchObject({
      code: 2,
      err: expect.stringContaining('no source') as string,
    });
  });
});
