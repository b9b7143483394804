import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createDemo } from '../../src/demo/create-demo';
import { openEngines } from '../../src/engines/open';
import { EVERYTHING } from '../../src/kernel/query';
import { type ExportManifest } from '../../src/operations/export-log';
import { DAY } from '../../src/wire/date';
import { run } from '../cli/run';
import { type EsdbServer, startEsdbServer } from '../support/esdb-server';
import { removeFolder, temporaryFolder } from '../support/server';
import { ownStore } from './server';

type Row = Readonly<Record<string, unknown>>;

const IN_AUTUMN = new Date(Date.now() - 50 * DAY).toISOString().slice(0, 10);

let folder: string;
let esdb: EsdbServer;
const store = ownStore();
/** The settings of an installation in a folder, and of the same network over both servers. */
let here: Readonly<Record<string, string>>;
let there: Readonly<Record<string, string>>;

/** Runs a command in one of them. */
async function affilog(args: readonly string[], settings: Readonly<Record<string, string>>): Promise<string> {
  const { code, out, err } = await run(args, settings);
  expect([args, code, code === 0 ? '' : err]).toEqual([args, 0, '']);
  return out;
}

/** Lines of JSON without positions, which are others in each log. */
function withoutPlaces(lines: readonly string[]): readonly string[] {
  return lines.map((line) =>
    JSON.stringify(JSON.parse(line), (key, value: unknown) => (isPlace(key) ? undefined : value)),
  );
}

/** Rows in the same order, whichever that is. */
async function rowsOf(statement: string, settings: typeof here): Promise<readonly string[]> {
  const file = join(folder, 'answer.json');
  await affilog(['sql', statement, '--out', file], settings);
  return [...withoutPlaces((await readFile(file, 'utf8')).trim().split('\n'))].sort();
}

async function expectSameRows(statement: string): Promise<void> {
  const expected = await rowsOf(statement, here);
  expect([statement, expected.length > 0, await rowsOf(statement, there)]).toEqual([
    statement,
    true,
    expected,
  ]);
}

const isPlace = (key: string): boolean => ['position', 'changed'].includes(key);

beforeAll(async () => {
  folder = await temporaryFolder();
  esdb = await startEsdbServer();
  here = { DATA_DIR: join(folder, 'here') };
  there = { DATA_DIR: join(folder, 'there'), EVENT_LOG: esdb.url, READ_STORE: store.url };
  const engines = await openEngines({
    dataDir: join(folder, 'here'),
    eventLog: 'sqlite:',
    readStore: 'sqlite:',
    threads: false,
  });
  await createDemo(engines.log, join(folder, 'here'));
  await engines.close();
  await affilog(['log', 'export', join(folder, 'moved'), '--gzip'], here);
  await affilog(['log', 'import', join(folder, 'moved')], there);
  for (const settings of [here, there]) await affilog(['rebuild', 'all'], settings);
}, 300_000);
afterAll(async () => {
  await store.remove();
  await esdb.stop();
  await removeFolder(folder);
});

async function documents(settings: typeof here, collection: string): Promise<readonly string[]> {
  const engines = await openEngines({
    dataDir: settings['DATA_DIR'] ?? '',
    eventLog: settings['EVENT_LOG'] ?? 'sqlite:',
    readStore: settings['READ_STORE'] ?? 'sqlite:',
    threads: false,
  });
  const found: string[] = [];
  for await (const page of engines.store.scan({ collection }, EVERYTHING))
    for (const { id, body } of page) found.push([id, ...withoutPlaces([body])].join(' '));
  await engines.close();
  return found;
}

describe('What analysts ask, over EventStoreDB and Elasticsearch', () => {
  const QUESTIONS = [
    ...readFileSync(join(__dirname, '../../docs/sql.md'), 'utf8').matchAll(/```sql\n([^`]*)```/g),
  ].map(([, sql = '']) => sql.replace('2026-10-02', '2999-01-01').replace(/\nLIMIT (?:10|20)\n/, '\n'));

  it.each(QUESTIONS.map((sql, at) => ({ sql, question: at + 1 })))(
    'SQL answers question $question of the guide with the same rows (decisions X115)',
    async ({ sql }) => {
      await expectSameRows(sql);
    },
  );

  it('SQL has read models as they are, after those that were read before', async () => {
    for (const table of ['products', 'price_history', 'vouchers', 'transactions', 'claims', 'feeds', 'sites'])
      await expectSameRows(`SELECT * FROM ${table}`);
  });

  it.each([
    ['product', '1001', 'SOURCE'],
    ['voucher', '1'],
    ['voucher', '1', '--at', IN_AUTUMN],
    ['voucher', '1', '--diff', '1', '2'],
    ['transaction', 'TRANSACTION'],
    ['claim', '1'],
    ['feed', '1001', '--version', '5'],
    ['program', '101'],
  ])('histories are the same: %s %s (decisions X109)', async (...asked) => {
    const first = async (sql: string): Promise<string> =>
      String(Object.values(JSON.parse((await rowsOf(sql, here))[0]!) as Row)[0]);
    const ids: Readonly<Record<string, string>> = {
      SOURCE: await first(
        'SELECT sourceProductId FROM ProductRepriced WHERE feedId = 1001 ORDER BY position LIMIT 1',
      ),
      TRANSACTION: await first('SELECT transactionId FROM TransactionPaid ORDER BY position LIMIT 1'),
    };
    const args = ['history', ...asked.map((one) => ids[one] ?? one), '--json'];
    const [one, another] = [await affilog(args, here), await affilog(args, there)].map((text) =>
      withoutPlaces(text.trim().split('\n')),
    );
    expect([args, one!.length > 0, another]).toEqual([args, true, one]);
  });

  it.each(['ndjson', 'csv', 'parquet'])(
    'an export is the same when it is repeated, and has the same events: %s (decisions X105)',
    async (format) => {
      const exported = async (name: string, settings: typeof here): Promise<ExportManifest> => {
        const into = join(folder, `${name}.${format}`);
        await affilog(['log', 'export', into, '--format', format, '--type', 'ProductRepriced'], settings);
        return JSON.parse(await readFile(join(into, 'manifest.json'), 'utf8')) as ExportManifest;
      };
      const once = await exported('once', there);
      expect(await exported('again', there)).toEqual(once);
      const { events } = await exported('here', here);
      expect([once.isComplete, once.events]).toEqual([true, events]);
    },
  );

  it('an export is an import into an empty folder, which gives equal read models (decisions X105)', async () => {
    const into = join(folder, 'whole');
    const back = { DATA_DIR: join(folder, 'back') };
    await affilog(['log', 'export', into], there);
    await affilog(['log', 'import', into], back);
    await affilog(['rebuild', 'all'], back);
    for (const model of ['products', 'price-history', 'vouchers', 'transactions', 'claims']) {
      const found = await documents(back, model);
      expect([model, found.length > 0, found]).toEqual([model, true, await documents(here, model)]);
    }
  });

  it('the log is counted and checked (decisions X106)', async () => {
    expect(await affilog(['log', 'stats'], there)).toBe(await affilog(['log', 'stats'], here));
    expect(await affilog(['log', 'check'], there)).toMatch(/^\d+ events, no problems\n$/);
  });

  it('read models as of a time are the same (decisions X111)', async () => {
    for (const settings of [here, there])
      await affilog(['rebuild', 'all', '--at', IN_AUTUMN, '--as', 'autumn'], settings);
    for (const model of ['products', 'price-history', 'vouchers', 'transactions', 'claims']) {
      const found = await documents(there, `${model}--autumn`);
      expect([model, found.length > 0, found]).toEqual([
        model,
        true,
        await documents(here, `${model}--autumn`),
      ]);
    }
    expect(await affilog(['as-of', 'list'], there)).toContain('autumn\t');
    await affilog(['as-of', 'drop', 'autumn'], there);
  });
});
