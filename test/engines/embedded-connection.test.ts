import { constants, DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  closeDatabase,
  iterate,
  openDatabase,
  releaseClosedFiles,
  SqliteConnection,
} from '../../src/engines/embedded/connection';
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
  const connection = new SqliteConnection('the read store', openWithoutRollback);
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
  const connection = new SqliteConnection('the read store', openWithoutRollback);
  connection.use(({ database }) => {
    database.exec('BEGIN; INSERT INTO numbers VALUES (1)');
  });
  connection.close();
  expect(openFilesIn(folder)).toEqual([]);
});

describe('a file that another connection makes one with a WAL', () => {
  /** Attempts to open it, of which the other connection lets the second one succeed. */
  function attemptsWithin(timeout: number): number {
    const file = join(folder, 'data.sqlite');
    const other = new DatabaseSync(file);
    other.exec('BEGIN IMMEDIATE');
    let attempts = 0;
    try {
      const opened = openDatabase(file, { timeout }, (database) => {
        attempts += 1;
        if (attempts === 2) other.exec('COMMIT');
        database.exec('PRAGMA journal_mode = WAL');
      });
      closeDatabase(opened);
      return attempts;
    } finally {
      closeDatabase(other);
    }
  }

  test('is opened nevertheless: SQLite itself would not wait', () => {
    expect(attemptsWithin(60_000)).toBe(2);
  });

  test('is locked for those who do not wait', () => {
    expect(() => attemptsWithin(0)).toThrow('database is locked');
  });
});

describe('what an iterator reads is not garbage-collected before it', () => {
  const NUMBERS = "SELECT value FROM json_each('[1,2,3]')";

  /** Whether the statement, and its database, remain while an iterator `begun` exists, and then without it. */
  async function remaining(
    begun: (connection: SqliteConnection) => Iterator<unknown>,
  ): Promise<readonly (readonly boolean[])[]> {
    const read: WeakRef<object>[] = [];
    const open = (): DatabaseSyncInstance => {
      const database = new DatabaseSync(':memory:');
      const prepare = database.prepare.bind(database);
      return Object.defineProperty(database, 'prepare', {
        value(sql: string) {
          const statement = prepare(sql);
          if (sql === NUMBERS) read.push(new WeakRef(statement), new WeakRef(database));
          return statement;
        },
      });
    };
    const remain = async (): Promise<readonly boolean[]> => {
      // What a WeakRef was made of, or has returned, stays until the end of the job.
      await new Promise(setImmediate);
      releaseClosedFiles();
      return read.map((one) => one.deref() !== undefined);
    };
    const held = [begun(new SqliteConnection('the read store', open))];
    const during = await remain();
    held.pop();
    return [during, await remain()];
  }

  function begin(connection: SqliteConnection): Iterator<unknown> {
    const rows = connection.use(({ database, prepared }) => iterate(database, prepared(NUMBERS)));
    rows.next();
    return rows;
  }

  test('after its connection was closed', async () => {
    const remained = await remaining((connection) => {
      const rows = begin(connection);
      connection.close();
      return rows;
    });
    expect(remained).toEqual([
      [true, true],
      [false, false],
    ]);
  });

  test('after many other statements were prepared', async () => {
    let kept: SqliteConnection | undefined;
    const remained = await remaining((connection) => {
      kept = connection;
      const rows = begin(connection);
      connection.use(({ prepared }) => {
        for (let other = 0; other < 1_000; other += 1) prepared(`SELECT ${other}`).get();
      });
      return rows;
    });
    expect(remained).toEqual([
      [true, true],
      [false, true],
    ]);
    kept?.close();
  });
});
