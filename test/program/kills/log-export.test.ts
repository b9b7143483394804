import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openLog } from '../../../src/engines/embedded/log/open-log';
import { type EventLog } from '../../../src/kernel/event-log';
import { type Manifest } from '../../../src/operations/export-log';
import { fill } from '../../contracts/event-log/events';
import { DIST } from '../../support/built';
import { removeFolder, runProgram, temporaryFolder } from '../../support/server';
import { eventsOf } from '../../support/temporary-log';

const COUNT = 250_000;

let folder: string;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => removeFolder(folder));

async function withLogIn<T>(data: string, use: (log: EventLog) => Promise<T>): Promise<T> {
  const { log } = await openLog(join(data, 'log.sqlite'), false);
  return await use(log).finally(() => log.close());
}

/** Runs the program and kills it as soon as something is so, unless it has ended before. */
async function killed(args: readonly string[], data: string, isSo: () => boolean): Promise<string | null> {
  const child = spawn(process.execPath, [join(DIST, 'src/main.js'), ...args], {
    env: { PATH: process.env.PATH, DATA_DIR: data },
    stdio: 'ignore',
  });
  const watch = setInterval(() => {
    if (isSo()) child.kill('SIGKILL');
  }, 1);
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
  clearInterval(watch);
  return signal;
}

test('an export and an import that are killed lose and double nothing (decisions X105)', async () => {
  const [data, other, whole, into] = ['data', 'other', 'whole', 'into'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
    string,
  ];
  // Makes the data folder.
  await runProgram(['log', 'export', join(folder, 'empty')], { DATA_DIR: data });
  await withLogIn(data, (log) => fill(log, 'feed-1', COUNT));
  const exported = await runProgram(['log', 'export', whole], { DATA_DIR: data });
  expect([exported.code, exported.stdout]).toEqual([0, expect.stringContaining(`${COUNT} events, files: 3`)]);

  for (const name of ['events-000001.ndjson.part', 'events-000001.ndjson', 'events-000003.ndjson.part'])
    expect(await killed(['log', 'export', into], data, () => existsSync(join(into, name)))).toBe('SIGKILL');
  expect((await runProgram(['log', 'export', into], { DATA_DIR: data })).code).toBe(0);
  const manifests = await Promise.all(
    [whole, into].map(
      async (of) => JSON.parse(await readFile(join(of, 'manifest.json'), 'utf8')) as Manifest,
    ),
  );
  expect(manifests[1]).toEqual(manifests[0]);
  for (const { name } of manifests[0]!.files)
    expect((await readFile(join(into, name))).equals(await readFile(join(whole, name)))).toBe(true);

  const wal = join(other, 'log.sqlite-wal');
  for (const bytes of [1_000_000, 3_000_000])
    expect(
      await killed(['log', 'import', into], other, () => existsSync(wal) && statSync(wal).size > bytes),
    ).toBe('SIGKILL');
  const imported = await runProgram(['log', 'import', into], { DATA_DIR: other });
  expect([imported.code, imported.stdout]).toEqual([
    0,
    expect.stringMatching(/^250000 events, [1-9]\d* of them/),
  ]);
  expect(await withLogIn(other, eventsOf)).toEqual(await withLogIn(data, eventsOf));
});
