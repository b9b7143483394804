import { pathToFileURL } from 'node:url';
import { EngineUnavailable } from '../../../kernel/event-log';
import { Connection, openDatabase } from '../connection';
import { QueryClock } from './query-clock';

export type SqlValue = string | number | bigint | null | Uint8Array;
export type SqlRow = readonly SqlValue[];

/** Milliseconds that a transaction waits for another process to finish its own. */
export const PATIENCE = 5_000;

/** A connection to one SQLite file of the store, for one thread: one that mends itself. */
export class StoreFile {
  private readonly connection: Connection;

  /**
   * `setUp` is run whenever the file is opened. A file that is not there is made only with `create`. `clock` stops
   * queries.
   */
  constructor(
    path: string,
    {
      create,
      setUp,
      clock = new QueryClock(),
    }: { readonly create: boolean; readonly setUp: string; readonly clock?: QueryClock },
  ) {
    const url = `${pathToFileURL(path).href}?mode=${create ? 'rwc' : 'rw'}`;
    this.connection = new Connection(
      'the read store',
      () =>
        openDatabase(url, { timeout: PATIENCE, returnArrays: true }, (database) => {
          database.function('in_time', { directOnly: true }, () => clock.check());
          database.exec(setUp);
        }),
      () => clock.hasStopped,
    );
  }

  /** Runs statements without parameters. */
  execute(sql: string): void {
    this.connection.use(({ database }) => {
      database.exec(sql);
    });
  }

  /** The first row of what may as well not work now; the file is opened again after a failure. */
  attempt(sql: string): SqlRow | undefined {
    try {
      return this.first(sql);
    } catch (error) {
      if (!(error instanceof EngineUnavailable)) throw error;
      return undefined;
    }
  }

  /** Runs a statement; the number of rows changed. */
  run(sql: string, ...values: SqlRow): number {
    return this.connection.use(({ prepared }) => prepared(sql).run(...values).changes);
  }

  /** The first row of a result: the values of its columns. */
  first(sql: string, ...values: SqlRow): SqlRow | undefined {
    return this.connection.use(({ prepared }) => prepared(sql).get(...values) as SqlRow | undefined);
  }

  all(sql: string, ...values: SqlRow): readonly SqlRow[] {
    return this.connection.use(({ prepared }) => prepared(sql).all(...values) as readonly SqlRow[]);
  }

  /** The rows one by one; the statement is not to be used again meanwhile. */
  *each(sql: string, ...values: SqlRow): Generator<SqlRow, undefined> {
    const rows = this.connection.use(
      ({ prepared }) => prepared(sql).iterate(...values) as Iterator<SqlRow, undefined>,
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

  /** All that `work` reads is of one moment. */
  reading<Result>(work: () => Result): Result {
    return this.transaction('BEGIN', work);
  }

  /** All that `work` writes is written as a whole or not at all; other writers wait. */
  writing<Result>(work: () => Result): Result {
    return this.transaction('BEGIN IMMEDIATE', work);
  }

  /** Ends a transaction that was begun by `BEGIN` and has written to temporary tables at most, if there is one. */
  endReading(): void {
    if (this.connection.isTransaction) this.attempt('COMMIT');
  }

  close(): void {
    this.connection.close();
  }

  /** A rollback that fails closes the connection, which rolls back too: the error it is done for is the one to raise. */
  private rollBack(): void {
    try {
      if (this.connection.isTransaction) this.execute('ROLLBACK');
    } catch {
      // The connection opens the file again when it is next used.
    }
  }

  private transaction<Result>(begin: string, work: () => Result): Result {
    this.execute(begin);
    try {
      const result = work();
      this.execute('COMMIT');
      return result;
    } catch (error) {
      this.rollBack();
      throw error;
    }
  }
}

/** Resets a statement; of a connection that was closed meanwhile there is nothing to reset. */
function endRows(rows: Iterator<SqlRow, undefined>): void {
  try {
    rows.return?.();
  } catch {
    // What it was ended for is what counts.
  }
}
