import { pathToFileURL } from 'node:url';
import { EngineUnavailable } from '../../../kernel/event-log';
import { callDriver, SqliteConnection, iterate, openDatabase } from '../connection';

export type SqlValue = string | number | bigint | null | Uint8Array;
export type SqlRow = readonly SqlValue[];

/** How long (ms) a transaction waits for that of another process. */
export const LOCK_TIMEOUT_MS = 5_000;

/** A self-healing connection to one SQLite file of the store, for one thread. */
export class StoreFile {
  private readonly connection: SqliteConnection;

  /**
   * `setUp` runs whenever the file is opened. A missing file is created only with `create`. `subject` is named in
   * errors.
   */
  constructor(
    path: string,
    {
      create,
      setUp,
      subject = 'the read store',
    }: { readonly create: boolean; readonly setUp: string; readonly subject?: string },
  ) {
    const url = `${pathToFileURL(path).href}?mode=${create ? 'rwc' : 'rw'}`;
    this.connection = new SqliteConnection(subject, () =>
      openDatabase(url, { timeout: LOCK_TIMEOUT_MS, returnArrays: true }, (database) => {
        database.exec(setUp);
      }),
    );
  }

  /** Runs statements without parameters. */
  execute(sql: string): void {
    this.connection.use(({ database }) => {
      database.exec(sql);
    });
  }

  /** Like `first`, for statements that may fail: undefined if the engine is unavailable. */
  attempt(sql: string): SqlRow | undefined {
    try {
      return this.first(sql);
    } catch (error) {
      if (!(error instanceof EngineUnavailable)) throw error;
      return undefined;
    }
  }

  /** Runs a statement and returns the number of rows changed. */
  run(sql: string, ...values: SqlRow): number {
    return this.connection.use(({ prepared }) => prepared(sql).run(...values).changes);
  }

  /** The first row of a result. */
  first(sql: string, ...values: SqlRow): SqlRow | undefined {
    return this.connection.use(({ prepared }) => prepared(sql).get(...values) as SqlRow | undefined);
  }

  all(sql: string, ...values: SqlRow): readonly SqlRow[] {
    return this.connection.use(({ prepared }) => prepared(sql).all(...values) as readonly SqlRow[]);
  }

  /** Iterates the rows. The same statement must not be used meanwhile. */
  *each(sql: string, ...values: SqlRow): Generator<SqlRow, undefined> {
    const rows = this.connection.use(({ database, prepared }) =>
      iterate<SqlRow>(database, prepared(sql), ...values),
    );
    try {
      for (;;) {
        const { done, value } = this.connection.use(() => rows.next());
        if (done === true) return undefined;
        yield value;
      }
    } finally {
      endRows(rows);
    }
  }

  /** Runs `work` in a read transaction: it reads from one snapshot. */
  reading<Result>(work: () => Result): Result {
    return this.transaction('BEGIN', work);
  }

  /** Runs `work` in a write transaction. Other writers wait. */
  writing<Result>(work: () => Result): Result {
    return this.transaction('BEGIN IMMEDIATE', work);
  }

  /** Ends the current read transaction, if there is one. It may have written to temporary tables. */
  endReading(): void {
    if (this.connection.isTransaction) this.attempt('COMMIT');
  }

  close(): void {
    this.connection.close();
  }

  /** Rolls back. A failure closes the connection, which rolls back too; callers raise their original error. */
  private rollBack(): void {
    try {
      if (this.connection.isTransaction) this.execute('ROLLBACK');
    } catch {
      // The connection reopens the file on next use.
    }
  }

  private transaction<Result>(begin: string, work: () => Result): Result {
    this.run(begin);
    try {
      const result = work();
      this.run('COMMIT');
      return result;
    } catch (error) {
      this.rollBack();
      throw error;
    }
  }
}

/** Resets a statement, unless its connection was closed meanwhile. */
function endRows(rows: Iterator<SqlRow, undefined>): void {
  try {
    callDriver(() => rows.return?.());
  } catch {
    // The connection is closed, and the statement with it.
  }
}
