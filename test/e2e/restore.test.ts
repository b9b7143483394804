import { copyFile, cp, mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { generateProducts } from '../../bench/generate';
import {
  ADVERTISER,
  folderWithNetwork,
  PUBLISHER,
  removeFolder,
  runProgram,
  Server,
  temporaryFolder,
} from '../support/server';

/** The first part is in the backup, the second is lost. */
const PRODUCTS = [...generateProducts({ count: 60, categories: [{ id: '1' }] })];
const BEFORE = PRODUCTS.slice(0, 40);
const AFTER = PRODUCTS.slice(40);

let folder: string;
let backup: string;
let server: Server | undefined;
beforeEach(async () => {
  [folder, backup] = [await folderWithNetwork(), await temporaryFolder()];
});
afterEach(async () => {
  await stop();
  await removeFolder(folder);
  await removeFolder(backup);
});

async function start(dataDir = folder): Promise<void> {
  server = await Server.start(dataDir);
}

async function stop(): Promise<void> {
  expect(await server?.end()).not.toBe(1);
  server = undefined;
}

async function post(products: readonly unknown[]): Promise<void> {
  const answer = await fetch(`${server!.url}/1.0/products;fid=22?token=${ADVERTISER}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify({ products }),
  });
  expect([answer.status, await answer.text()]).toEqual([200, '{"errors":[]}']);
}

async function found(): Promise<number> {
  const answer = await fetch(`${server!.url}/1.0/products;fid=22?token=${PUBLISHER}`);
  return ((await answer.json()) as { productHeader: { totalHits: number } }).productHeader.totalHits;
}

/** Posts the first products, stops, copies, starts and posts the others. */
async function withCopy(copy: () => Promise<void>): Promise<void> {
  await start();
  await post(BEFORE);
  await stop();
  await copy();
  await start();
  await post(AFTER);
  expect(await found()).toBe(60);
  await stop();
}

const logFile = () => join(folder, 'log.sqlite');

/** Restores the log as described in docs/operations.md. */
async function restoreLog(): Promise<void> {
  for (const suffix of ['-wal', '-shm']) await rm(`${logFile()}${suffix}`, { force: true });
  await copyFile(join(backup, 'log.sqlite'), logFile());
}

describe('backups (docs/operations.md, Backup)', () => {
  it('after a stop, log.sqlite contains everything: no write-ahead log is left', async () => {
    await start();
    await post(PRODUCTS);
    await stop();
    const wal = await stat(`${logFile()}-wal`).catch(() => ({ size: 0 }));
    expect(wal.size).toBe(0);
    await copyFile(logFile(), join(backup, 'log.sqlite'));
    await start(backup);
    expect(await found()).toBe(60);
  });

  it('of the log only: the read models are refused until they are rebuilt, and lost products can be posted again', async () => {
    await withCopy(() => copyFile(logFile(), join(backup, 'log.sqlite')));
    await restoreLog();
    expect(await runProgram(['serve'], { DATA_DIR: folder, PORT: '0' })).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^affilog: READ_STORE .*older backup.*affilog rebuild all --force`\n$/),
    });
    expect(await runProgram(['rebuild', 'all', '--force'], { DATA_DIR: folder })).toMatchObject({ code: 0 });
    await start();
    expect(await found()).toBe(40);
    await post(PRODUCTS);
    expect(await found()).toBe(60);
  });

  it('of the log only, with read/ removed: the read models are built at the start', async () => {
    await withCopy(() => copyFile(logFile(), join(backup, 'log.sqlite')));
    await restoreLog();
    await rm(join(folder, 'read'), { recursive: true });
    await start();
    expect(await found()).toBe(40);
    await post(PRODUCTS);
    expect(await found()).toBe(60);
  });

  it('of the read models only: they catch up with the log', async () => {
    await withCopy(() => cp(join(folder, 'read'), join(backup, 'read'), { recursive: true }));
    await rm(join(folder, 'read'), { recursive: true });
    await cp(join(backup, 'read'), join(folder, 'read'), { recursive: true });
    await start();
    expect(await found()).toBe(60);
  });

  it('of nothing, with lost read models: they are built at the start', async () => {
    await withCopy(() => mkdir(join(backup, 'nothing')).then(() => undefined));
    await rm(join(folder, 'read'), { recursive: true });
    await start();
    expect(await found()).toBe(60);
  });
});
