import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { generateProducts } from '../../../bench/generate';
import {
  folderWithNetwork,
  foundProducts,
  postProducts,
  PUBLISHER,
  removeFolder,
  runProgram,
  Server,
  temporaryFolder,
} from '../../support/server';

const PRODUCTS = [...generateProducts({ count: 2_000, categories: [{ id: '1' }] })];

async function post(url: string, products: readonly unknown[]): Promise<string> {
  const answer = await postProducts(url, products);
  return `${answer.status} ${await answer.text()}`;
}

const UNAVAILABLE =
  /^500 \{"errors":\[\{"code":"5","message":"Service not responding \(request [\w-]{36}\)"\}\]\}$/;

describe('an unusable log', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await temporaryFolder();
  });
  afterEach(() => removeFolder(folder));

  const withTables = (sql: string) => async (file: string) => {
    const database = new DatabaseSync(file);
    database.exec(sql);
    database.close();
  };

  it.each([
    ['is not a database', (file: string) => writeFile(file, 'hello\n'.repeat(1000))],
    ['is a folder', (file: string) => mkdir(file)],
    ['is another database', withTables('CREATE TABLE events (a TEXT)')],
    [
      'is another database of the same version',
      withTables('CREATE TABLE a (b TEXT); PRAGMA user_version = 1'),
    ],
  ])('that %s is reported in one line, exit code 1', async (_, damage) => {
    await damage(join(folder, 'log.sqlite'));
    for (const verb of [['serve'], ['rebuild', 'all'], ['parked', 'list']])
      expect(await runProgram(verb, { DATA_DIR: folder, PORT: '0' })).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/^affilog: the event log is not available: [^\n]*\n$/),
      });
  });
});

describe('a log in which events are missing (decisions X91)', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await folderWithNetwork();
  });
  afterEach(() => removeFolder(folder));

  function remove(sql: string): void {
    const database = new DatabaseSync(join(folder, 'log.sqlite'));
    database.exec(sql);
    database.close();
  }

  it('of a feed: the server is not ready and reports the position', async () => {
    const server = await Server.start(folder);
    expect(await post(server.url, PRODUCTS)).toBe('200 {"errors":[]}');
    await server.end();
    await rm(join(folder, 'read'), { recursive: true });
    remove('DELETE FROM events WHERE position = 1000');
    const damaged = await Server.start(folder);
    const reason = 'the event log is damaged: there is no event at position 1000; restore it from a backup';
    for (;;) {
      const ready = await fetch(`${damaged.url}/health/ready`);
      expect(ready.status).toBe(503);
      const { projector } = (await ready.json()) as { projector?: string };
      if (projector === reason) break;
    }
    await damaged.end();
  });

  it('of the reference data: the server does not start and reports the position in one line', async () => {
    remove('DELETE FROM events WHERE position = 3');
    expect(await runProgram(['serve'], { DATA_DIR: folder, PORT: '0' })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /affilog: the event log is damaged: there is no event at position 3;[^\n]*\n$/,
      ),
    });
  });
});

test('with a file in place of the spool folder, requests that need it are answered with 5, all others work (decisions A12)', async () => {
  const folder = await folderWithNetwork();
  await rm(join(folder, 'spool'), { recursive: true, force: true });
  await writeFile(join(folder, 'spool'), '');
  await writeFile(join(folder, 'cache'), '');
  const server = await Server.start(folder, { environment: { LOG_LEVEL: 'silent' } });
  const large = PRODUCTS.map((product) => ({ ...product, description: 'x'.repeat(1_000) }));
  expect(await post(server.url, large)).toMatch(UNAVAILABLE);
  expect(await post(server.url, PRODUCTS.slice(0, 10))).toBe('200 {"errors":[]}');
  const download = await fetch(`${server.url}/1.0/productsUnlimited;fid=22?token=${PUBLISHER}`);
  expect(`${download.status} ${await download.text()}`).toMatch(UNAVAILABLE);
  expect(await foundProducts(server.url)).toBe(10);
  expect(await (await fetch(`${server.url}/health/ready`)).json()).toMatchObject({
    unexpectedFailures: 0,
  });
  expect(await server.end()).toBe(0);
  expect(await readdir(folder)).toContain('spool');
  await removeFolder(folder);
});
