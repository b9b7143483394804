import { copyFile, cp, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { generateProducts } from '../../../bench/generate';
import { openDeliveryLog } from '../../../src/engines/embedded/log/open-log';
import { DeliveryHistory } from '../../support/delivery-history';
import {
  folderWithNetwork,
  foundProducts,
  postProducts,
  removeFolder,
  runProgram,
  Server,
  temporaryFolder,
} from '../../support/server';

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

async function start(dataDir = folder, args: readonly string[] = []): Promise<void> {
  server = await Server.start(dataDir, { args });
}

async function stop(): Promise<void> {
  expect(await server?.end()).not.toBe(1);
  server = undefined;
}

async function post(products: readonly unknown[]): Promise<void> {
  const answer = await postProducts(server!.url, products);
  expect([answer.status, await answer.text()]).toEqual([200, '{"errors":[]}']);
}

const found = (): Promise<number> => foundProducts(server!.url);

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

const OPERATOR = '9'.repeat(40);

/** Subjects of the messages that operators are shown, once they are available. */
async function messages(): Promise<readonly string[]> {
  for (;;) {
    const answer = await fetch(`${server!.url}/ops/1.0/deliveries?token=${OPERATOR}`);
    const listed = (await answer.json()) as readonly { readonly transactionId: string }[];
    if (answer.ok) return listed.map(({ transactionId }) => transactionId).sort();
    await pause(20);
  }
}

/** Waits until operators are shown these messages. */
async function shown(...subjects: readonly string[]): Promise<void> {
  while ((await messages()).join() !== subjects.join()) await pause(20);
}

async function write(...subjects: readonly string[]): Promise<void> {
  const { log } = await openDeliveryLog(join(folder, 'deliveries.sqlite'), false);
  const history = new DeliveryHistory(log);
  for (const subject of subjects) await history.due(subject, { at: new Date().toISOString() });
  await log.close();
}

test('deliveries.sqlite removed: its messages are not listed any more, those of the new one are (docs/operations.md, Backup; decisions X31)', async () => {
  const organisations = [{ id: 90, kind: 'operator', name: 'Desk' }];
  const tokens = [{ organisationId: 90, system: 'OPS', token: OPERATOR }];
  const network = join(backup, 'operator.json');
  await writeFile(network, JSON.stringify({ organisations, tokens }));
  expect(await runProgram(['network', 'import', network], { DATA_DIR: folder })).toMatchObject({ code: 0 });
  const withoutNotifier = ['--roles', 'api,projector'];
  await write('old', 'older');
  await start(folder, withoutNotifier);
  await shown('old', 'older');
  await stop();

  for (const suffix of ['', '-wal', '-shm'])
    await rm(join(folder, `deliveries.sqlite${suffix}`), { force: true });
  await start(folder, withoutNotifier);
  expect(await messages()).toEqual([]);
  expect(server!.stderr).toMatch(/deliveries, receivers, receiver-health are of another log/);
  await stop();

  await write('new');
  await start(folder, withoutNotifier);
  await shown('new');
  expect(server!.stderr).toBe('');
});
