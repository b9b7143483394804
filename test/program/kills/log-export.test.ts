import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openLog } from '../../../src/engines/embedded/log/open-log';
import { layoutFolder } from '../../../src/engines/embedded/store/registry';
import { type EventLog } from '../../../src/kernel/event-log';
import { type ExportManifest } from '../../../src/operations/export-log';
import { fill } from '../../contracts/event-log/events';
import { PROJECTIONS } from '../../../projections';
import { openEmbeddedStore } from '../../../src/engines/embedded/store/open-store';
import { EVERYTHING, type Found } from '../../../src/kernel/query';
import { startEsdbServer } from '../../support/esdb-server';
import { killedAt, signalAt } from '../../support/killed';
import { removeFolder, runProgram, Server, temporaryFolder } from '../../support/server';
import { eventsOf } from '../../support/temporary-log';

/** For three files. */
const COUNT = 201_000;

let folder: string;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => removeFolder(folder));

async function withLogIn<T>(data: string, use: (log: EventLog) => Promise<T>): Promise<T> {
  const { log } = await openLog(join(data, 'log.sqlite'), false);
  return await use(log).finally(() => log.close());
}

const killed = (args: readonly string[], data: string, moment: string, nth = 1): Promise<string | null> =>
  killedAt(args, { DATA_DIR: data }, moment, { nth });

/** Runs the program and presses Ctrl+C at a moment; what it has said then, and its exit code. */
async function stopped(args: readonly string[], data: string, moment: string, nth = 1) {
  const at = signalAt(moment, { nth, signal: 'SIGINT' });
  const { code, stderr } = await runProgram(args, { DATA_DIR: data, ...at });
  return { code, last: stderr.trim().split('\n').at(-1) };
}

const INTERRUPTED = { code: 1, last: 'affilog: interrupted: run the command again to continue' };

/** Of the events that every test exports. */
let data: string;
beforeAll(async () => {
  data = join(folder, 'data');
  // Makes the data folder.
  await runProgram(['log', 'export', join(folder, 'empty')], { DATA_DIR: data });
  await withLogIn(data, (log) => fill(log, 'feed-1', COUNT));
}, 120_000);

async function manifestIn(of: string): Promise<ExportManifest> {
  return JSON.parse(await readFile(join(of, 'manifest.json'), 'utf8')) as ExportManifest;
}

test.each([
  { ending: 'ndjson', options: [] },
  { ending: 'ndjson.gz', options: ['--gzip'] },
  { ending: 'csv', options: ['--format', 'csv'] },
  { ending: 'csv.gz', options: ['--format', 'csv', '--gzip'] },
  { ending: 'parquet', options: ['--format', 'parquet'] },
])(
  'an export to .$ending that is killed loses and doubles nothing, and has the same bytes (decisions X105)',
  async ({ ending, options }) => {
    const [whole, into] = [`whole-${ending}`, `into-${ending}`].map((name) => join(folder, name)) as [
      string,
      string,
    ];
    const exported = await runProgram(['log', 'export', whole, ...options], { DATA_DIR: data });
    expect([exported.code, exported.stdout]).toEqual([
      0,
      expect.stringMatching(`^${COUNT} events up to position \\d+, files: 3`),
    ]);
    // In the middle of the first file, once that is there, and in the middle of the last one.
    // DuckDB writes Parquet itself.
    const inMiddleOf = (name: string): string =>
      ending === 'parquet' ? `renaming ${name}.parquet` : `written ${name}.${ending}.part`;
    const moments = [
      inMiddleOf('events-000001'),
      `renamed events-000001.${ending}`,
      inMiddleOf('events-000003'),
    ];
    for (const moment of moments)
      expect(await killed(['log', 'export', into, ...options], data, moment)).toBe('SIGKILL');
    expect((await manifestIn(into)).isComplete).toBe(false);
    expect((await runProgram(['log', 'export', into, ...options], { DATA_DIR: data })).code).toBe(0);
    const manifest = await manifestIn(whole);
    expect(manifest.events).toBe(COUNT);
    expect(await manifestIn(into)).toEqual(manifest);
    const names = manifest.files.map(({ name }) => name);
    for (const at of [whole, into]) expect((await readdir(at)).sort()).toEqual([...names, 'manifest.json']);
    for (const name of names)
      expect((await readFile(join(into, name))).equals(await readFile(join(whole, name)))).toBe(true);
  },
  300_000,
);

test('an import that is killed loses and doubles nothing (decisions X105)', async () => {
  const [other, from] = ['other', 'from'].map((name) => join(folder, name)) as [string, string];
  expect((await runProgram(['log', 'export', from], { DATA_DIR: data })).code).toBe(0);
  for (const nth of [2, 5])
    expect(await killed(['log', 'import', from], other, 'committed Happened', nth)).toBe('SIGKILL');
  const imported = await runProgram(['log', 'import', from], { DATA_DIR: other });
  expect([imported.code, imported.stdout]).toEqual([
    0,
    expect.stringMatching(`^${COUNT} events, [1-9]\\d* of them`),
  ]);
  expect(await withLogIn(other, eventsOf)).toEqual(await withLogIn(data, eventsOf));
}, 300_000);

test('Ctrl+C stops an export and an import, says what to do, and the same command continues (decisions X105)', async () => {
  const [into, other] = ['stopped', 'stopped-import'].map((name) => join(folder, name)) as [string, string];
  expect(await stopped(['log', 'export', into], data, 'renamed events-000001.ndjson')).toEqual(INTERRUPTED);
  const exported = await runProgram(['log', 'export', into], { DATA_DIR: data });
  expect([exported.code, (await manifestIn(into)).events]).toEqual([0, COUNT]);
  expect(await stopped(['log', 'import', into], other, 'committed Happened', 3)).toEqual(INTERRUPTED);
  const refused = await runProgram(['log', 'stats'], { DATA_DIR: other });
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('log import')]);
  const imported = await runProgram(['log', 'import', into], { DATA_DIR: other });
  expect([imported.code, imported.stdout]).toEqual([
    0,
    expect.stringMatching(`^${COUNT} events, [1-9]\\d* of them`),
  ]);
  expect(await withLogIn(other, eventsOf)).toEqual(await withLogIn(data, eventsOf));
}, 300_000);

/** The documents of all read models of the domain in a data folder. */
async function documentsIn(data: string): Promise<Readonly<Record<string, readonly Found[]>>> {
  const store = openEmbeddedStore({
    directory: layoutFolder(join(data, 'read')),
    threads: false,
    readers: 0,
  });
  try {
    const all: Record<string, Found[]> = {};
    for (const { collection } of PROJECTIONS) {
      const found: Found[] = [];
      for await (const page of store.scan({ collection: collection.name }, EVERYTHING)) found.push(...page);
      all[collection.name] = found;
    }
    return all;
  } finally {
    await store.close();
  }
}

const lines = ({ stdout }: { readonly stdout: string }): readonly string[] => stdout.trim().split('\n');

test('read models are the same after an export and an import that was killed (decisions X105)', async () => {
  const [sold, into, other, esdbData, back] = ['sold', 'moved', 'new', 'served', 'back'].map((name) =>
    join(folder, name),
  ) as [string, string, string, string, string];
  const server = await Server.start(sold, { args: ['--demo'] });
  expect(await server.end()).toBe(0);
  expect((await runProgram(['log', 'export', into, '--gzip'], { DATA_DIR: sold })).code).toBe(0);
  expect(await killed(['log', 'import', into], other, 'committed ', 20)).toBe('SIGKILL');
  const imported = await runProgram(['log', 'import', into], { DATA_DIR: other });
  expect([imported.code, imported.stdout]).toEqual([
    0,
    expect.stringMatching(/^\d+ events, [1-9]\d* of them/),
  ]);
  expect((await runProgram(['rebuild', 'all'], { DATA_DIR: other })).code).toBe(0);

  const before = await documentsIn(sold);
  expect(Object.entries(before).flatMap(([name, found]) => (found.length === 0 ? [name] : []))).toEqual(
    expect.not.arrayContaining(['products', 'vouchers', 'transactions', 'claims', 'price-history']),
  );
  expect(await documentsIn(other)).toEqual(before);

  // The same verbs over EventStoreDB: there the events are at other positions.
  const esdb = await startEsdbServer();
  try {
    const settings = { DATA_DIR: esdbData, EVENT_LOG: esdb.url };
    const known = /^\d+ events/.exec(imported.stdout)?.[0];
    expect(lines(await runProgram(['log', 'import', into], settings))[0]).toMatch(`${known}, 0 of them`);
    expect(lines(await runProgram(['log', 'check'], settings))).toEqual([`${known}, no problems`]);
    const [stats, same] = [settings, { DATA_DIR: sold }].map((of) => runProgram(['log', 'stats'], of));
    expect((await stats!).stdout).toBe((await same!).stdout);
    const copied = await runProgram(['log', 'copy', '--from', esdb.url, '--to', 'sqlite:'], {
      DATA_DIR: back,
    });
    expect([copied.code, copied.stdout]).toEqual([
      0,
      expect.stringMatching(`^${known} in both logs, 0 of them`),
    ]);
    const again = join(folder, 'again');
    expect((await runProgram(['log', 'export', again], settings)).stdout).toMatch(known!);
  } finally {
    await esdb.stop();
  }
  expect((await runProgram(['rebuild', 'all'], { DATA_DIR: back })).code).toBe(0);
  expect(await documentsIn(back)).toEqual(before);
}, 300_000);
