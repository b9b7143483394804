import { writeFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openLog } from '../../../src/engines/embedded/log/open-log';
import { openEngines } from '../../../src/engines/open';
import { rebuildProjections } from '../../../src/operations/rebuild';
import { fill, newEvent } from '../../contracts/event-log/events';
import { golden } from '../../support/golden';
import { killedAt, signalAt } from '../../support/killed';
import { NETWORK, removeFolder, runProgram, Server, temporaryFolder } from '../../support/server';

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => removeFolder(folder));

interface SavedFile {
  readonly name: string;
}

interface SavedManifest {
  readonly events: Readonly<Record<string, readonly SavedFile[]>>;
  readonly models: Readonly<Record<string, { readonly base: readonly SavedFile[] }>>;
  readonly readings: Readonly<Record<string, { readonly files: readonly SavedFile[] }>>;
}

const NONE: SavedManifest = { events: {}, models: {}, readings: {} };

/** The manifest of the snapshot in the folder. */
async function manifest(): Promise<SavedManifest> {
  const layouts = await readdir(join(folder, 'analytics')).catch(() => []);
  const [layout] = layouts.filter((name) => /^[0-9a-f]{16}$/.test(name));
  if (layout === undefined) return NONE;
  const file = join(folder, 'analytics', layout, 'manifest.json');
  const text = await readFile(file, 'utf8').catch(() => undefined);
  return text === undefined ? NONE : (JSON.parse(text) as SavedManifest);
}

test('a snapshot that is killed loses and doubles nothing (decisions X115)', async () => {
  await runProgram(['log', 'stats'], { DATA_DIR: folder });
  const { log } = await openLog(join(folder, 'log.sqlite'), false);
  await fill(log, 'feed-1', 150_000);
  await log.close();
  const statement =
    'SELECT count(*) AS n, count(DISTINCT position) AS positions, max(position) AS last FROM events';
  // Of eight segments.
  const moments = [
    ['renaming manifest.json', 1],
    ['renamed manifest.json', 2],
    ['renaming ', 1],
    ['renamed manifest.json', 3],
    ['renaming manifest.json', 2],
  ] as const;
  for (const [moment, nth] of moments)
    expect(await killedAt(['sql', statement], { DATA_DIR: folder }, moment, { nth })).toBe('SIGKILL');
  const { code, stdout } = await runProgram(['sql', statement, '--format', 'json'], { DATA_DIR: folder });
  expect([code, stdout]).toEqual([0, '{"n":150000,"positions":150000,"last":150000}\n']);
}, 120_000);

test('a snapshot that Ctrl+C stops is continued (decisions X115)', async () => {
  await runProgram(['log', 'stats'], { DATA_DIR: folder });
  const { log } = await openLog(join(folder, 'log.sqlite'), false);
  await fill(log, 'feed-1', 120_000);
  await log.close();
  const statement = 'SELECT count(*) AS n, count(DISTINCT position) AS positions FROM events';
  const files = async (): Promise<readonly SavedFile[]> => Object.values((await manifest()).events).flat();
  const stopped = await runProgram(['sql', statement], {
    DATA_DIR: folder,
    ...signalAt('renamed manifest.json', { signal: 'SIGINT' }),
  });
  expect([stopped.code, stopped.stderr]).toEqual([
    1,
    expect.stringMatching(/affilog: interrupted: run the command again to continue\n$/),
  ]);
  const known = await files();
  expect(known).not.toEqual([]);
  const { code, stdout } = await runProgram(['sql', statement, '--format', 'json'], { DATA_DIR: folder });
  expect([code, stdout]).toEqual([0, '{"n":120000,"positions":120000}\n']);
  expect((await files()).slice(0, known.length)).toEqual(known);
}, 120_000);

test('a large read model that is killed is continued, and loses and doubles nothing (decisions X116)', async () => {
  const { data } = golden<{ readonly type: string; readonly data: object }>('ProductListed').event;
  const count = 90_000;
  const engines = await openEngines({
    dataDir: folder,
    eventLog: 'sqlite:',
    readStore: 'sqlite:',
    threads: false,
  });
  for (let from = 0; from < count; from += 500) {
    const events = Array.from({ length: 500 }, (_, at) => ({
      ...newEvent({ ...data, sourceProductId: `p${from + at}` }),
      type: 'ProductListed',
    }));
    await engines.log.append('feed-1', from - 1, events);
  }
  await rebuildProjections(engines, 'products');
  await engines.close();
  const statement = 'SELECT count(*) AS n, count(DISTINCT sourceProductId) AS ids FROM products';
  let known: readonly SavedFile[] = [];
  // The log has five segments. The second one continues behind the first file.
  for (const [nth, files] of [
    [6, 1],
    [2, 3],
  ] as const) {
    const at = { nth };
    expect(await killedAt(['sql', statement], { DATA_DIR: folder }, 'renamed manifest.json', at)).toBe(
      'SIGKILL',
    );
    const { files: read } = (await manifest()).readings['products']!;
    expect(read).toHaveLength(files);
    expect(read.slice(0, known.length)).toEqual(known);
    known = read;
  }
  const { code, stdout } = await runProgram(['sql', statement, '--format', 'json'], { DATA_DIR: folder });
  expect([code, stdout]).toEqual([0, `{"n":${count},"ids":${count}}\n`]);
  const { models, readings } = await manifest();
  expect(models['products']?.base.slice(0, known.length)).toEqual(known);
  expect(readings).toEqual({});
}, 300_000);

test('a statement over HTTP that uses too much ends its own process only (decisions X116)', async () => {
  const token = '9'.repeat(40);
  const network = {
    ...NETWORK,
    organisations: [...NETWORK.organisations, { id: 99, kind: 'operator', name: 'Desk' }],
    tokens: [...NETWORK.tokens, { token, organisationId: 99, system: 'OPS' }],
  };
  const file = join(folder, 'network.json');
  writeFileSync(file, JSON.stringify(network));
  const data = join(folder, 'data');
  const imported = await runProgram(['network', 'import', file], { DATA_DIR: data });
  expect(imported.code).toBe(0);
  const server = await Server.start(data);
  const ask = async (q: string): Promise<readonly [number, string]> => {
    const answer = await fetch(`${server.url}/ops/1.0/sql?token=${token}&q=${encodeURIComponent(q)}`);
    return [answer.status, await answer.text()];
  };
  const ok = 'SELECT count(*) > 0 AS some FROM ProgramDefined';
  expect(await ask(ok)).toEqual([200, '{"some":true}\n']);
  expect(await ask('SELECT range(0, 1000000000)')).toEqual([
    400,
    expect.stringContaining('needs too much memory: select less'),
  ]);
  const logging = "SELECT * FROM enable_logging('QueryLog', storage = 'file', storage_path = '/nowhere/log')";
  expect((await ask(logging))[0]).toBeLessThan(500);
  expect(await ask('SELECT * FROM nothing')).toEqual([
    400,
    expect.stringContaining('nothing does not exist'),
  ]);
  expect(await ask('SELECT name FROM programs')).toEqual([200, '{"name":"Seller DE"}\n']);
  const [status, views] = await ask('SELECT "sql" FROM duckdb_views()');
  expect([status, views.includes('.parquet'), views.includes(folder)]).toEqual([200, true, false]);
  expect(await ask('SELECT name, value FROM duckdb_settings()')).toEqual([
    400,
    expect.stringContaining('duckdb_settings: expected a statement that reads tables only'),
  ]);
  expect(await server.end()).toBe(0);
  expect(server.stderr).toBe('');
}, 120_000);
