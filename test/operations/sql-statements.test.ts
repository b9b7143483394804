import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NO_STREAM } from '../../src/kernel/event';
import { keepUp } from '../../src/operations/sql/snapshot';
import { REMOTE } from '../../src/operations/sql/remote';
import { run, type Run } from '../cli/run';
import { newEvent } from '../contracts/event-log/events';
import { folder, engines, parts, ask, filesIn, appendSamples } from './sql-session';

describe('Statements with limits (decisions X116)', () => {
  const refusal = async (statement: string, limits = REMOTE): Promise<string> =>
    await ask(statement, { limits }).then(
      ({ text }) => `answered ${text}`,
      (error: unknown) => String(error),
    );

  it('read the snapshot and nothing else, and write nothing', async () => {
    await appendSamples();
    await keepUp(parts);
    const [file] = await filesIn('ProductListed');
    const own = join(folder, 'analytics', file!);
    const outside = join(folder, 'outside.csv');
    await writeFile(outside, 'a,b\n1,2\n');
    expect(await refusal('SELECT count(*) AS n FROM ProductListed')).toMatch(/^answered \{"n":\d\}/);
    const before = await readFile(own);
    for (const reading of [
      `SELECT * FROM '${outside}'`,
      `SELECT * FROM read_csv('${outside}')`,
      `SELECT * FROM read_text('${outside}')`,
      `SELECT * FROM read_blob('${join(folder, 'log.sqlite')}')`,
      `SELECT * FROM read_json('${outside}')`,
      `SELECT * FROM read_parquet('${join(folder, 'analytics', '**')}')`,
      `SELECT * FROM glob('${folder}/*')`,
      `SELECT * FROM sniff_csv('${outside}')`,
      `SELECT * FROM parquet_metadata('${outside}')`,
      `SELECT * FROM duckdb_secrets()`,
      "SELECT * FROM read_parquet('https://example.com/x.parquet')",
      `COPY (SELECT 1) TO '${outside}'`,
      `COPY (SELECT 1) TO '${own}'`,
      `EXPLAIN ANALYZE COPY (SELECT 1) TO '${own}'`,
      `EXPORT DATABASE '${folder}/exported'`,
      `ATTACH '${folder}/other.db'`,
      'INSTALL httpfs',
      'LOAD httpfs',
      'SET threads = 8',
      'RESET lock_configuration',
      'SET enable_external_access = true',
      'CREATE TABLE x(a INT)',
      "CALL enable_logging('QueryLog')",
      `SELECT * FROM enable_profiling(save_location = '${folder}/profile.json', format = 'json')`,
      'PRAGMA database_list',
      "SELECT * FROM query('COPY (SELECT 1) TO ''x''')",
      "SELECT getenv('HOME')",
      "SELECT * FROM sqlite_scan('log.sqlite', 'events')",
      "SELECT * FROM histogram('pg_settings', setting)",
      'SELECT * FROM histogram_values(pg_settings, setting)',
      "SELECT json_serialize_plan('SELECT current_setting(''allowed_paths'')', optimize := true)",
      "SELECT * FROM query_table('pg_settings')",
      `IMPORT DATABASE '${folder}'`,
      'DETACH memory',
      'USE memory',
      'BEGIN',
      'CHECKPOINT',
      'VACUUM',
      'PREPARE one AS SELECT 1',
      'EXECUTE one',
      'SET VARIABLE one = 1',
      'CREATE SECRET one (TYPE s3)',
      'CREATE MACRO one() AS 1',
      'CREATE OR REPLACE VIEW events AS SELECT 1',
      'INSERT INTO events SELECT 1',
      'EXPLAIN SELECT 1',
      'SELECT 1 \u0000 FROM events',
      'SELECT 1; SELECT 2',
      'SELECT ?',
      '',
    ])
      expect([reading, await refusal(reading)]).toEqual([
        reading,
        expect.stringMatching(/^UsageError: .{10}/),
      ]);
    const only =
      'expected a statement that reads tables only: no files, settings, network or extensions, or run `affilog sql` on a ' +
      'machine of the installation';
    for (const [name, reading] of [
      ['read_csv: ', `FROM read_csv('${outside}')`],
      ['duckdb_extensions: ', 'FROM duckdb_extensions()'],
      ['', `FROM '${outside}'`],
    ])
      expect(await refusal(reading!)).toBe(`UsageError: ${name}${only}`);
    const lambda = 'SELECT list_transform([1, 2], lambda x: x * 2) AS l';
    expect(await refusal(lambda)).toBe('answered {"l":[2,4]}\n');
    const series = 'SELECT count(*) AS n FROM range(3), generate_series(1, 2), (SELECT unnest([1, 2]))';
    expect(await refusal(series)).toBe('answered {"n":12}\n');
    expect(await readFile(outside, 'utf8')).toBe('a,b\n1,2\n');
    expect((await readFile(own)).equals(before)).toBe(true);
  }, 60_000);

  it.each([
    // Nothing else is refused for the time that it takes on a busy machine.
    ['SELECT count(*) FROM range(1000000000000)', /has run for 3 s: select less/],
    ['SELECT list(range) FROM range(1000000000)', /more than 192MB of memory: select or group less/],
    ['SELECT * FROM range(20000)', /more than 10000 rows: add LIMIT/],
    ["SELECT repeat('x', 10000) FROM range(3000)", /more than 8000000 characters: select less/],
    [`SELECT '${'x'.repeat(30_000)}'`, /has 30009 characters: expected at most 8000/],
    ["SELECT error(repeat('x', 20000000))", /^UsageError: .{0,100}x{1800,2000}…$/],
    ['SELECT * FROM nothing', /Table with name nothing does not exist/],
    ['SELECT nothing FROM events', /"nothing" not found/],
    ['SELEC 1', /syntax error/],
  ])(
    'are refused with what is wrong and what helps: %.40s',
    async (statement, message) => {
      const ms = statement.includes('1000000000000') ? 3_000 : 300_000;
      expect(await refusal(statement, { ...REMOTE, ms })).toMatch(message);
    },
    300_000,
  );
});

describe('affilog sql (decisions X115)', () => {
  const sql = async (args: readonly string[], terminal?: string): Promise<Run> =>
    await run(['sql', ...args], { DATA_DIR: folder }, terminal === undefined ? {} : { terminal });
  beforeEach(async () => {
    const data = { at: '2026-01-31T12:00:00.000Z', sourceProductId: 'a,"b"', price: 1299 };
    await engines.log.append('feed-1', NO_STREAM, [{ ...newEvent(data), type: 'ProductRepriced' }]);
  });
  const statement = 'SELECT time, sourceProductId, price, currency FROM ProductRepriced';

  it('prints a table, CSV or JSON, and as of which position that is', async () => {
    const { code, out, err } = await sql([statement]);
    expect(code).toBe(0);
    expect(out.split('\n').map((line) => line.trim())).toEqual([
      'time                    sourceProductId  price  currency',
      '----------------------  ---------------  -----  --------',
      '2026-01-31 12:00:00+00  a,"b"            12.99',
      '1 row',
      '',
    ]);
    expect(err).toContain('as of position: log 1\n');
    expect((await sql([statement, '--format', 'csv'])).out).toBe(
      'time,sourceProductId,price,currency\r\n2026-01-31 12:00:00+00,"a,""b""",12.99,\r\n',
    );
    expect((await sql([statement, '--format', 'json'])).out).toBe(
      '{"time":"2026-01-31 12:00:00+00","sourceProductId":"a,\\"b\\"","price":12.99,"currency":null}\n',
    );
  });

  it('writes a file in the format that its name has', async () => {
    for (const name of ['a.csv', 'a.json', 'a.parquet'])
      expect((await sql([statement, '--out', join(folder, name)])).code).toBe(0);
    expect(await readFile(join(folder, 'a.csv'), 'utf8')).toContain('12.99');
    expect(await readFile(join(folder, 'a.json'), 'utf8')).toContain('12.99');
    const cents = `SELECT price * 100 AS cents FROM '${join(folder, 'a.parquet')}'`;
    expect((await sql([cents, '--format', 'csv'])).out).toBe('cents\r\n1299.00\r\n');
    const { code, err } = await sql([statement, '--format', 'parquet']);
    expect([code, err]).toEqual([2, expect.stringContaining('--format parquet: expected --out too')]);
  });

  it('has a prompt that answers statement by statement, and continues after an error', async () => {
    const typed =
      'SELECT 6 *\n 7 AS a;\nSELECT nothing;\nSELECT price FROM ProductRepriced;\nDESCRIBE ProductRepriced;\n';
    const { code, out, err } = await sql([], typed);
    expect(code).toBe(0);
    expect(out).toContain('42');
    expect(out).toContain('12.99');
    expect(out).toMatch(/^price +DECIMAL\(18,2\) +Price.*, in units of its currency$/m);
    expect(err).toContain('Referenced column "nothing" was not found');
  });

  it('leaves a file as it is unless the answer is complete', async () => {
    const path = join(folder, 'a.csv');
    await writeFile(path, 'before');
    for (const failing of [
      'SELECT * FROM nothing',
      "SELECT error('late') FROM range(5000) WHERE range = 4999",
    ])
      expect((await sql([failing, '--out', path])).code).toBe(2);
    expect(await readFile(path, 'utf8')).toBe('before');
    expect((await readdir(folder)).filter((name) => name.startsWith('a.csv'))).toEqual(['a.csv']);
    expect((await sql(['SELECT 1 AS a', '--out', path])).code).toBe(0);
    expect(await readFile(path, 'utf8')).toBe('a\r\n1\r\n');
  });

  it.each([
    ['', 'expected a statement'],
    ["PRAGMA table_info('events')", 'expected another statement than PRAGMA: SHOW TABLES lists tables'],
    [
      'PIVOT ProductRepriced ON feedId USING count(*)',
      '2 statements: expected one. PIVOT is one if it names',
    ],
  ])('says what is expected instead of %j', async (refused, message) => {
    const { code, err } = await sql([refused]);
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });

  it('exits with 2 for a statement that cannot be answered', async () => {
    const { code, err } = await sql(['SELECT * FROM nothing']);
    expect([code, err]).toEqual([2, expect.stringContaining('Table with name nothing does not exist')]);
  });
});
