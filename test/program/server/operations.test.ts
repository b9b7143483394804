import { execFile } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { generateProducts } from '../../../bench/generate';
import { DIST } from '../../support/built';
import { startEsdbServer } from '../../support/esdb-server';
import {
  ADVERTISER,
  NETWORK,
  PUBLISHER,
  removeFolder,
  runShell,
  Server,
  temporaryFolder,
} from '../../support/server';

const ROOT = join(__dirname, '../../..');
const GUIDE = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
const bash = promisify(execFile);

/**
 * The commands of the guide: those in `sh` blocks, and inline ones that begin with these names. † marks those without a
 * test.
 */
function commandsOf(guide: string): readonly { readonly command: string; readonly isMarked: boolean }[] {
  const inline = guide.matchAll(/`((?:npm start|(?:affilog|node|sqlite3|docker) [^`]+))`(†?)/g);
  const blocks = guide.matchAll(/^```sh\n([^]*?)^```/gm);
  return [
    ...[...inline].map(([, command = '', mark]) => ({ command, isMarked: mark === '†' })),
    ...[...blocks].flatMap(([, lines = '']) =>
      lines
        .trim()
        .split('\n')
        .map((command) => ({ command, isMarked: false })),
    ),
  ];
}

/** Commands with placeholders, and those that other tests run: the file, and what it contains. */
const ELSEWHERE: Readonly<Record<string, readonly [file: string, text: string]>> = {
  'affilog serve': ['test/program/smoke/program.test.ts', "['serve']"],
  'npm start': ['test/program/server/readme.test.ts', 'scripts.start'],
  'affilog serve --roles projector --metrics-port 9464': [
    'test/program/server/metrics.test.ts',
    "'--metrics-port'",
  ],
  'affilog parked show <projection> <id>': ['test/operations/parked.test.ts', "'show'"],
  'affilog parked skip <projection> <id> --reason <text>': ['test/operations/parked.test.ts', "'--reason'"],
  'affilog parked retry [projection] [id]': ['test/operations/parked.test.ts', "'retry'"],
  'affilog parked list': ['test/operations/parked.test.ts', "'list'"],
  'affilog parked list [projection]': ['test/operations/parked.test.ts', "'list'"],
  'affilog parked retry': ['test/operations/parked.test.ts', "'retry'"],
  'affilog parked retry matcher': ['test/operations/parked.test.ts', "'retry', 'matcher'"],
  'affilog parked skip matcher <id> --reason <text>': ['test/operations/parked.test.ts', "'skip', 'matcher'"],
  'affilog parked list directory': ['test/operations/parked.test.ts', "'show', 'directory'"],
  'affilog parked list automations': ['test/processes/automation-runner.test.ts', "'automations'"],
  'affilog notifications deliveries [--state dead] [--subscription ID]': [
    'test/cli/notifications.test.ts',
    "'--state'",
  ],
  'affilog notifications receivers': ['test/cli/notifications.test.ts', "'receivers'"],
  'affilog notifications test SUBSCRIPTION RECEIVER [--state 6]': ['test/cli/receivers.test.ts', "'test'"],
  'affilog notifications enable SUBSCRIPTION RECEIVER': ['test/cli/receivers.test.ts', "'enable'"],
  'affilog notifications redeliver MESSAGE': ['test/cli/notifications.test.ts', "'redeliver'"],
  'affilog notifications redeliver-all SUBSCRIPTION --since 2026-01-01 --until 2026-01-31 [--receiver ID]': [
    'test/cli/notifications.test.ts',
    "'redeliver-all'",
  ],
  'affilog why product FEED SOURCE_PRODUCT_ID': ['test/cli/why.test.ts', "'product'"],
  'affilog why voucher ID': ['test/cli/why.test.ts', "'voucher'"],
  'affilog why delivery ID': ['test/cli/why.test.ts', "'delivery'"],
  'affilog why delivery ID [--subscription ID]': ['test/cli/notifications.test.ts', "'explain'"],
  'affilog notifications subscriptions': ['test/cli/three-times.test.ts', "'subscriptions'"],
  'affilog notifications show MESSAGE': ['test/cli/notifications.test.ts', "'show'"],
  'affilog documents products ID': ['test/cli/lists.test.ts', 'documents'],
  'affilog documents --position POSITION': ['test/cli/three-times.test.ts', "'--position'"],
  'affilog notifications own': ['test/cli/notifications.test.ts', "'own'"],
  'affilog transactions totals --group-by month,programId': [
    'test/cli/three-times.test.ts',
    "'month,programId'",
  ],
  'affilog transactions totals --as-of january --group-by month,programId': [
    'test/cli/transactions.test.ts',
    "'--as-of'",
  ],
  'affilog actions': ['test/cli/actions.test.ts', "'actions'"],
  'affilog claims list': ['test/cli/claims.test.ts', "'list'"],
  'affilog claims release CLAIM': ['test/cli/claims.test.ts', "'release'"],
  'affilog claims reject CLAIM --status 211 [--message TEXT]': ['test/cli/claims.test.ts', "'reject'"],
  'affilog receiver': ['test/cli/receiver.test.ts', "'receiver'"],
  'affilog log export FOLDER': ['test/program/kills/log-export.test.ts', "'export'"],
  'affilog log import FOLDER': ['test/program/kills/log-export.test.ts', "'import'"],
  'affilog log copy': ['test/operations/copy-log.test.ts', 'copyLog'],
  'affilog sql': ['test/operations/sql-statements.test.ts', "'sql'"],
};

/** Commands that another test takes from the guide and runs, by how they begin. */
const CHAPTERS: Readonly<Record<string, readonly [file: string, text: string]>> = {
  'affilog history': ['test/cli/history.test.ts', 'The history of anything'],
  'affilog feeds source': ['test/cli/three-times.test.ts', 'a source is asked for, accepted and removed'],
};

interface Replayed {
  readonly position: string;
  readonly id: string;
  readonly metadata: unknown;
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
  readonly data: { readonly price?: number };
}

const steps = new Set<string>();
const SALE = { id: 1011, name: 'Sale', kind: 'sale', pendingDays: 30 };
const PROGRAMS = NETWORK.programs.map((program) => ({ ...program, events: [SALE] }));
const PRODUCTS = [...generateProducts({ count: 5, categories: [{ name: 'Over-Ear' }] })];

let folder: string;
let server: Server | undefined;
beforeAll(async () => {
  folder = await temporaryFolder();
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  symlinkSync(join(ROOT, 'examples'), join(folder, 'examples'));
});
afterAll(async () => {
  await stop();
  await removeFolder(folder);
});

const fileIn = (name: string) => join(folder, name);

/** Runs a command of the guide as it stands there, but for placeholders; returns its standard output. */
async function step(command: string, replaced: Readonly<Record<string, string>> = {}): Promise<string> {
  steps.add(command);
  let script = command;
  for (const [placeholder, value] of Object.entries(replaced)) script = script.replaceAll(placeholder, value);
  const affilog = `affilog() { '${process.execPath}' '${join(DIST, 'src/main.js')}' "$@"; }`;
  const { stdout } = await bash('bash', ['-c', `${affilog}\n${script}`], {
    cwd: folder,
    env: { PATH: process.env.PATH },
  });
  return stdout;
}

async function start(...args: readonly string[]): Promise<void> {
  server = await Server.start(fileIn('data'), { args });
}

async function stop(): Promise<void> {
  expect((await server?.end()) ?? 0).toBe(0);
  server = undefined;
}

/** Posts products to a feed; returns the id of the load. */
async function post(products: readonly unknown[], keys = 'fid=22'): Promise<string> {
  const answer = await fetch(`${server?.url}/1.0/products;${keys}?token=${ADVERTISER}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify({ products }),
  });
  expect([answer.status, await answer.text()]).toEqual([200, '{"errors":[]}']);
  return answer.headers.get('x-load-id') ?? '';
}

/** How many products of a feed the holder of a token finds; undefined if the token is refused. */
async function found(token = ADVERTISER, feed = 22): Promise<number | undefined> {
  const answer = await fetch(`${server?.url}/1.0/products;fid=${feed}?token=${token}`);
  const body = (await answer.json()) as { productHeader?: { totalHits: number } };
  return body.productHeader?.totalHits;
}

describe('docs/operations.md', () => {
  test('Starting and stopping: the settings in force', async () => {
    expect(await step('affilog settings')).toMatch(/^DATA_DIR +\.\/data +default$/m);
  });

  test('Reference data: an import into a folder, the format of the file, and an export', async () => {
    const network = { ...NETWORK, programs: PROGRAMS, categories: [] };
    await writeFile(fileIn('network.json'), JSON.stringify(network));
    expect(await step('affilog network import FILE', { FILE: 'network.json' })).toMatch(
      /^created: 2 organisations, .*\n(?: {2}.+\n){11}imported: \d+ events\n$/,
    );
    const schema: unknown = JSON.parse(await step('affilog network schema'));
    expect(schema).toEqual(JSON.parse(await readFile(join(ROOT, 'docs/network.schema.json'), 'utf8')));
    const exported = await step('affilog network export');
    expect(exported).not.toContain(ADVERTISER);
    await writeFile(fileIn('exported.json'), exported);
    expect(await step('affilog network import FILE', { FILE: 'exported.json' })).toBe(
      'nothing has changed\n',
    );
  });

  test('Transactions: the example is imported, twice, and shown', async () => {
    const sale = { id: 1011, name: 'Sale', kind: 'sale', pendingDays: 30 };
    const programs = NETWORK.programs.map((program) => ({ ...program, events: [sale] }));
    await writeFile(fileIn('events.json'), JSON.stringify({ programs }));
    await step('affilog network import FILE', { FILE: 'events.json' });
    const [, csv = ''] = /^```csv\n([^]*?)^```/m.exec(GUIDE) ?? [];
    await writeFile(fileIn('reports.csv'), csv);
    const command = 'affilog transactions import FILE';
    expect(await step(command, { FILE: 'reports.csv' })).toBe('1 new, 0 known, 0 refused\n');
    expect(await step(command, { FILE: 'reports.csv' })).toBe('0 new, 1 known, 0 refused\n');
    const shown = await step('affilog transactions show ID', { ID: 'A-1001_1011_1' });
    expect(shown).toContain('   orderValue: 129.90 EUR\n');
    expect(shown).toMatch(
      /^transaction [0-9a-f]{32} \(A-1001_1011_1\)\n1 .* Tracked \(1\)\n[^]*^2 .* Pending \(4\)\n/m,
    );
  });

  test('Mapping a new feed: from products that publishers do not see to products that they see', async () => {
    await start();
    await post(PRODUCTS);
    await writeFile(fileIn('taxonomy.txt'), '1 > Audio\n11 > Audio > Over-Ear Headphones\n');
    await step('affilog categories import taxonomy.txt');
    expect(await step('affilog mappings list --feed 22 --state unmapped')).toBe(
      'unmapped\t5\tOver-Ear\t\t\n',
    );
    expect(await step('affilog mappings suggest --feed 22')).toMatch(/^Over-Ear\t/);
    expect(await step('affilog mappings map --feed 22 --name "Over-Ear" --category 11')).toMatch(/mapped/);
    await writeFile(fileIn('mappings.csv'), 'feedId,name,categoryId\n22,Over-Ear,11\n');
    expect(await step('affilog mappings import mappings.csv')).toMatch(/^line 2\t/);
    while ((await found(PUBLISHER)) !== 5);
  });

  test('Tokens: one is revoked, and a new one issued, while the server runs', async () => {
    const [fingerprint = ''] = (await step('affilog tokens list'))
      .split('\n')
      .filter((line) => line.includes('\tReader\tPRODUCTS\tsite 1101\t'));
    const revoke = { '<fingerprint>': `${fingerprint.split('\t')[0]} --yes` };
    expect(await step('affilog tokens revoke <fingerprint>', revoke)).toMatch(/^removed: 1 token$/m);
    while ((await found(PUBLISHER)) !== undefined);
    const token = await step(
      'affilog tokens issue --organisation 11 --system PRODUCTS --site 1101 --expires 90d',
    );
    while ((await found(token.trim())) !== 5);
  });

  test('Rebuild: while the server runs', async () => {
    expect(await step('affilog rebuild products')).toMatch(
      /^products: generation \d+, 5 documents, 0 differ from the former one\n$/,
    );
    expect(await step('affilog rebuild all')).toMatch(/^products: generation \d+, 5 documents, 0 differ /m);
    expect(await found()).toBe(5);
  });

  test('Read models: one is paused and compared; another generation is swapped in, rolled back and dropped', async () => {
    expect(await step('affilog projections')).toMatch(/^products\b/m);
    expect(await step('affilog projections pause products')).toBe('paused: products\n');
    expect(await step('affilog projections resume products')).toBe('resumed: products\n');
    expect(await step('affilog rebuild products vouchers')).toMatch(
      /^products: generation \d+, 5 documents, /m,
    );
    expect(await step('affilog rebuild products --dry-run')).toMatch(/^products: 5 documents/);
    expect(await step('affilog projections verify products')).toMatch(/^products: /);
    expect(await step('affilog projections verification products')).toContain('"differing": 0');
    expect(await step('affilog server')).toMatch(/are free where the data folder is/);
    await step('affilog rebuild products --no-swap');
    expect(await step('affilog projections swap products --reason "the new mapping"')).toMatch(
      /^products: generation \d+ is live/,
    );
    expect(await step('affilog projections rollback products --reason "wrong prices"')).toMatch(
      /^products: generation \d+ is live/,
    );
    expect(await found()).toBe(5);
    expect(await step('affilog projections discard products --reason "the disk is full"')).toMatch(
      /^dropped: products-g\d+/,
    );
  });

  test('As of a time: what was there then is built, listed and dropped', async () => {
    const command = 'affilog rebuild all --at 2026-01-31T12:00:00Z --as january';
    const built = await step(command, { '2026-01-31T12:00:00Z': new Date().toISOString() });
    expect(built).toMatch(/^products: 5 documents as of /m);
    expect(built).toMatch(/^january is as of position \d+, and dropped after /m);
    expect(await step('affilog as-of list')).toMatch(/^january\t.*products \(5\)/);
    expect(await step('affilog as-of drop january')).toBe('january is dropped\n');
  });

  test('When something fails: a feed that was replaced by a broken file is restored', async () => {
    await post(PRODUCTS, 'fid=23');
    const bad = await post(PRODUCTS.slice(0, 1), 'fid=23;mode=replace');
    while ((await found(ADVERTISER, 23)) !== 1);
    const restored = await step('affilog feeds restore FEED --before LOAD --reason TEXT', {
      FEED: '23',
      LOAD: `${bad} --yes`,
      TEXT: 'broken',
    });
    expect(restored).toMatch(/^restored by load \S+: new=4, revised=0, repriced=0, removed=0$/m);
    while ((await found(ADVERTISER, 23)) !== 5);
    const loads = async () => await step('affilog feeds loads FEED', { FEED: '23' });
    while (!(await loads()).includes(`has undone ${bad}`));
  });

  test('Backup and Upgrading: a backup while the server runs, restored (decisions X118)', async () => {
    const place = { '/backups/daily': 'backups/daily' };
    expect(await step('affilog backup /backups/daily --with-key', place)).toMatch(
      /with the delivery log, with the key\n$/,
    );
    expect(await step('affilog backup /backups/daily --verify', place)).toMatch(
      /with the delivery log, which fits to it\nwith the key\nall of it can be read/,
    );
    await post([{ ...PRODUCTS[0], sourceProductId: 'later' }]);
    expect(await found()).toBe(6);
    await stop();
    expect(await step('affilog --version')).toMatch(/^\d+\.\d+\.\d+\n$/);
    await rename(fileIn('data'), fileIn('old'));
    expect(await step('affilog restore /backups/daily', place)).toMatch(/^\d+ events of the backup of /);
    await step('affilog rebuild all --force');
    await start();
    expect(await found()).toBe(5);
    await stop();
  });

  test('Replaying the log: with the example', async () => {
    steps.add('affilog serve --esdb-port 2113');
    await start('--esdb-port', '0');
    const url = /esdb:\S+/.exec(server?.stdoutLines.join('\n') ?? '')?.[0] ?? '';
    const [example = ''] = /^node examples\/replay\.mjs .*$/m.exec(GUIDE) ?? [];
    const events = (await step(example, { 'esdb://127.0.0.1:2113?tls=false': url, 'feed-1001': 'feed-22' }))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Replayed);
    expect(events.map(({ stream, revision, type }) => [stream, revision, type])).toEqual([
      ...PRODUCTS.map((_, n) => ['feed-22', n, 'ProductListed']),
      ['feed-22', 5, 'FeedImported'],
    ]);
    for (const { position, id, metadata } of events)
      expect({ position, id, metadata }).toEqual({
        position: expect.stringMatching(/^\d+$/),
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        metadata: expect.any(Object),
      });
    // As the guide says, a price is in hundredths.
    expect(events.slice(0, 5).map(({ data }) => (data.price ?? NaN) / 100)).toEqual(
      PRODUCTS.map(({ price }) => price),
    );
    // A reader that has seen enough ends it without a word.
    const replay = `node '${join(ROOT, 'examples/replay.mjs')}' feed-22 '${url}'`;
    expect(await runShell(`bash -o pipefail -c "${replay} | true"`)).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
    const ofType = `node '${join(ROOT, 'examples/replay.mjs')}' '$et-ProductListed' '${url}'`;
    const listed = (await runShell(ofType)).stdout.trim().split('\n');
    expect(listed.map((line) => JSON.parse(line) as Replayed)).toEqual(
      expect.arrayContaining(events.slice(0, 5)),
    );
    const none = await runShell(`node '${join(ROOT, 'examples/replay.mjs')}' feed-0 '${url}'`);
    expect(none).toEqual({ code: 1, stdout: '', stderr: 'there is no stream feed-0\n' });
    expect(await step('affilog log stats')).toMatch(/^total\tall\t\d+\t\d+$/m);
    expect(await step('affilog log check')).toMatch(/^\d+ events, no problems$/m);
    await stop();
    const closed = await runShell(replay);
    expect(closed).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^nothing answers at esdb:\S+: start the server with --esdb-port 2113/),
    });
  });

  test('Moving from one machine: the log is copied', async () => {
    const esdb = await startEsdbServer();
    try {
      const command = "affilog log copy --from sqlite: --to 'esdb://host:2113?tls=false'";
      expect(await step(command, { 'host:2113': `127.0.0.1:${esdb.port}` })).toMatch(
        /\d+ events.*[0-9a-f]{64}/,
      );
    } finally {
      await esdb.stop();
    }
  });

  test('has no other commands: each one is run here, by another test, or marked with †', () => {
    const commands = commandsOf(GUIDE);
    expect(commands.length).toBeGreaterThan(20);
    const others = commands.filter(
      ({ command, isMarked }) =>
        !isMarked &&
        !steps.has(command) &&
        ELSEWHERE[command] === undefined &&
        !Object.keys(CHAPTERS).some((beginning) => command.startsWith(beginning)),
    );
    expect(others).toEqual([]);
    for (const command of [...steps, ...Object.keys(ELSEWHERE)])
      expect(commands.map((one) => one.command)).toContain(command);
    for (const [file, text] of Object.values({ ...ELSEWHERE, ...CHAPTERS })) {
      expect([file, existsSync(join(ROOT, file))]).toEqual([file, true]);
      expect(readFileSync(join(ROOT, file), 'utf8')).toContain(text);
    }
  });
});
