import { constants, DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '../../src/engines/embedded/connection';
import { openFilesIn } from '../support/open-files';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'affilog-connection-'));
});
afterEach(() => rm(folder, { recursive: true }));

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

test('a failing rollback neither hides the original error nor keeps the file open', () => {
  const connection = new Connection('the read store', openWithoutRollback);
  const failing = (): void =>
    connection.use(({ database }) => {
      database.exec('BEGIN; INSERT INTO numbers VALUES (1)');
      throw new RangeError('the first error');
    });
  expect(failing).toThrow(new RangeError('the first error'));
  expect(openFilesIn(folder)).toEqual([]);
  connection.use(({ database }) => {
    database.exec('BEGIN IMMEDIATE; COMMIT');
  });
  connection.close();
  expect(openFilesIn(folder)).toEqual([]);
});

test('closing closes the file even if its transaction cannot be rolled back', () => {
  const connection = new Connection('the read store', openWithoutRollback);
  connection.use(({ database }) => {
    database.exec('BEGIN; INSERT INTO numbers VALUES (1)');
  });
  connection.close();
  expect(openFilesIn(folder)).toEqual([]);
});
