import { constants, DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { mkdtemp, readdir, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '../../src/engines/embedded/connection';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'affilog-connection-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Open descriptors of files in the folder. */
async function openFiles(): Promise<number> {
  const names = await readdir('/proc/self/fd');
  const targets = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')));
  return targets.filter((target) => target.startsWith(folder)).length;
}

/** A file whose transactions cannot be rolled back. */
function openWithoutRollback(): DatabaseSyncInstance {
  const database = new DatabaseSync(join(folder, 'data.sqlite'));
  database.exec('CREATE TABLE IF NOT EXISTS numbers (n INTEGER)');
  database.setAuthorizer((action, operation) =>
    action === constants.SQLITE_TRANSACTION && operation === 'ROLLBACK'
      ? constants.SQLITE_DENY
      : constants.SQLITE_OK,
  );
  return database;
}

test('a rollback that fails hides neither the error nor keeps the file open', async () => {
  const connection = new Connection('the read store', openWithoutRollback);
  const failing = (): void =>
    connection.use(({ database }) => {
      database.exec('BEGIN; INSERT INTO numbers VALUES (1)');
      throw new RangeError('the first error');
    });
  expect(failing).toThrow(new RangeError('the first error'));
  expect(await openFiles()).toBe(0);
  connection.use(({ database }) => {
    database.exec('BEGIN IMMEDIATE; COMMIT');
  });
  connection.close();
  expect(await openFiles()).toBe(0);
});

test('closing within a transaction that cannot be rolled back closes the file', async () => {
  const connection = new Connection('the read store', openWithoutRollback);
  connection.use(({ database }) => {
    database.exec('BEGIN; INSERT INTO numbers VALUES (1)');
  });
  connection.close();
  expect(await openFiles()).toBe(0);
});
