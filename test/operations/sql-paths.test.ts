import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Engines, openEngines } from '../../src/engines/open';
import { NO_STREAM } from '../../src/kernel/event';
import { directoryAt } from '../../src/network/directory';
import { REMOTE } from '../../src/operations/sql/remote';
import { SqlSession } from '../../src/operations/sql/sql';
import { newEvent } from '../contracts/event-log/events';
import { DIST } from '../support/built';
import { removeFolder, temporaryFolder } from '../support/server';

const ROOT = join(__dirname, '../..');

let folder: string;
let engines: Engines;
let session: SqlSession;
beforeAll(async () => {
  folder = await temporaryFolder();
  engines = await openEngines({ dataDir: folder, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false });
  const listed = { ...newEvent({ sourceProductId: 'a', price: 1 }), type: 'ProductListed' };
  await engines.log.append('feed-1', NO_STREAM, [listed]);
});
afterAll(async () => {
  await engines.close();
  await removeFolder(folder);
});

async function open(): Promise<void> {
  session = await SqlSession.limited(REMOTE);
  const { log, store, deliveries } = engines;
  await session.prepare(
    { dataDir: folder, log, store, deliveries, directory: () => directoryAt(log) },
    'duckdb_views, ProductListed',
  );
}

/** The answer, or the message of the refusal. */
async function ask(statement: string): Promise<string> {
  let answer = '';
  try {
    for await (const part of session.text(statement, 'json')) answer += part;
    return answer;
  } catch (error) {
    return `refused: ${(error as Error).message}`;
  }
}

async function column(statement: string): Promise<readonly string[]> {
  const lines = (await ask(statement)).split('\n').slice(0, -1);
  return lines.map((line) => String(Object.values(JSON.parse(line) as object)[0]));
}

/** Statements that could answer with a path. */
async function statements(): Promise<readonly string[]> {
  const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
  const called = await column(
    "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type LIKE '%table%' OR function_type = 'pragma'",
  );
  const views = await column(
    "SELECT DISTINCT concat(schema_name, '.', view_name) FROM duckdb_views() WHERE internal",
  );
  expect([called.length > 80, views.length > 20]).toEqual([true, true]);
  const [file = ''] = (
    await column('SELECT "sql" FROM duckdb_views() WHERE view_name = \'ProductListed\'')
  ).map((sql) => /'([^']+\.parquet)'/.exec(sql)?.[1] ?? '');
  const reading = ['read_parquet', 'parquet_metadata', 'parquet_schema', 'parquet_file_metadata', 'glob'];
  return [
    ...called.map((name) => `SELECT * FROM ${quoted(name)}()`),
    ...called.map((name) => `SELECT * FROM ${quoted(name)}('events')`),
    ...called.map((name) => `SELECT * FROM ${quoted(name)}('/')`),
    ...views.map((name) => `SELECT * FROM ${name}`),
    ...['allowed_paths', 'secret_directory'].map((name) => `SELECT current_setting('${name}') AS value`),
    "SELECT list_transform(['allowed_paths'], lambda x: current_setting(x)) AS value",
    'WITH q AS (FROM pg_catalog.pg_settings) FROM q',
    'SUMMARIZE SELECT * FROM duckdb_settings()',
    'FROM range(1), (SELECT (SELECT max("value") FROM duckdb_settings()))',
    ...reading.flatMap((name) =>
      [file, '*', '../../*', '/*', '~/*', folder].map((path) => `SELECT * FROM ${name}('${path}')`),
    ),
    `SELECT * FROM read_parquet('${file}', filename = true)`,
    `SELECT filename FROM read_parquet('${file}')`,
    "SELECT * FROM query('SELECT * FROM duckdb_settings()')",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT * FROM duckdb_databases()'))",
    "SELECT json_serialize_plan('SELECT * FROM ProductListed') AS plan",
    'EXPLAIN ANALYZE SELECT * FROM ProductListed',
    'FROM (EXPLAIN SELECT * FROM ProductListed)',
    'SHOW ALL TABLES',
    'SHOW DATABASES',
    'SUMMARIZE ProductListed',
    'SELECT nothing FROM ProductListed',
    'SELECT CAST(stream AS INTEGER) AS n FROM ProductListed',
    "SELECT error('x') AS e FROM ProductListed",
  ];
}

describe('Statements with limits (decisions X116)', () => {
  it('find no path of the installation in what DuckDB has about itself, nor in its messages', async () => {
    await open();
    const found: string[] = [];
    for (const statement of await statements()) {
      const answer = await ask(statement);
      const own = [folder, ROOT, homedir()].filter((path) => !statement.includes(path));
      if (own.some((path) => answer.includes(path))) found.push(`${statement}: ${answer.slice(0, 300)}`);
    }
    expect(found).toEqual([]);
    expect(await ask('SELECT "sql" FROM duckdb_views()')).toContain('.parquet');
    expect(await ask('SELECT sourceProductId FROM ProductListed')).toBe('{"sourceProductId":"a"}\n');
    session.close();
  }, 120_000);

  it('are answered without a path where the snapshot cannot be made', async () => {
    const dataDir = await temporaryFolder();
    const other = await openEngines({ dataDir, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false });
    await other.log.append('feed-1', NO_STREAM, [newEvent()]);
    await other.close();
    await writeFile(join(dataDir, 'analytics'), 'no folder');
    // In a process of its own: it ends itself if the memory of its process is too large.
    const args = [join(DIST, 'src/main.js'), 'sql', '--limited'];
    const child = spawn(process.execPath, args, { env: { DATA_DIR: dataDir } });
    child.stdin.end('SELECT count(*) FROM events');
    const [[code], err] = await Promise.all([once(child, 'close'), text(child.stderr), text(child.stdout)]);
    expect([code, err.split('\n').filter((line) => line.startsWith('affilog: '))]).toEqual([
      1,
      [expect.stringMatching(/^affilog: it failed \(E[A-Z]+\): `affilog sql` on a machine .* says why$/)],
    ]);
    await removeFolder(dataDir);
  });
});
