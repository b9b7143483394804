import { pathToFileURL } from 'node:url';
import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from '@photostructure/sqlite';
import { EngineUnavailable } from '../../../kernel/event-log';
import { toUnavailable } from '../unavailable';

export type SqlValue = string | number | bigint | null | Uint8Array;
export type SqlRow = readonly SqlValue[];

/** Statements kept prepared: their texts vary with the shape of a query, not with its values. */
const MOST_STATEMENTS = 200;

/**
 * A connection to one SQLite file of the store, for one thread. Failures of the machine are `EngineUnavailable`;
 * after one the file is opened anew when it is used again, so that work goes on as soon as the trouble ends.
 */
export class StoreFile {
  private database: DatabaseSyncInstance | undefined;
  private readonly statements = new Map<string, StatementSyncInstance>();
  private closed = false;

  /** `setUp` is run whenever the file is opened. A file that is not there is made only with `create`. */
  constructor(
    private readonly path: string,
    private readonly options: { readonly create: boolean; readonly setUp: string },
  ) {}

  /** Runs statements without parameters. */
  execute(sql: string): void {
    this.use((database) => {
      database.exec(sql);
    });
  }

  /** Runs a statement; the number of rows changed. */
  run(sql: string, ...values: SqlRow): number {
    return this.use((database) => this.statement(database, sql).run(...values).changes);
  }

  /** The first row of a result: the values of its columns. */
  first(sql: string, ...values: SqlRow): SqlRow | undefined {
    return this.use((database) => this.statement(database, sql).get(...values) as SqlRow | undefined);
  }

  all(sql: string, ...values: SqlRow): readonly SqlRow[] {
    return this.use((database) => this.statement(database, sql).all(...values) as readonly SqlRow[]);
  }

  /** The rows one by one; the statement is not to be used again meanwhile. */
  *each(sql: string, ...values: SqlRow): Generator<SqlRow> {
    const rows = this.use(
      (database) => this.statement(database, sql).iterate(...values) as Iterator<SqlRow, undefined>,
    );
    try {
      for (;;) {
        const { done, value } = this.use(() => rows.next());
        if (done === true) return;
        yield value;
      }
    } finally {
      rows.return?.();
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

  close(): void {
    this.closed = true;
    this.disconnect();
  }

  private transaction<Result>(begin: string, work: () => Result): Result {
    this.execute(begin);
    try {
      const result = work();
      this.execute('COMMIT');
      return result;
    } catch (error) {
      if (this.database?.isTransaction === true) this.execute('ROLLBACK');
      throw error;
    }
  }

  private use<Result>(work: (database: DatabaseSyncInstance) => Result): Result {
    if (this.closed) throw new EngineUnavailable('the read store is closed');
    try {
      return work((this.database ??= this.connect()));
    } catch (error) {
      const failure = toUnavailable('the read store', error);
      if (failure instanceof EngineUnavailable) this.disconnect();
      throw failure;
    }
  }

  private connect(): DatabaseSyncInstance {
    const mode = this.options.create ? 'rwc' : 'rw';
    const database = new DatabaseSync(`${pathToFileURL(this.path).href}?mode=${mode}`, { timeout: 5_000 });
    try {
      database.exec(this.options.setUp);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  }

  private disconnect(): void {
    const { database } = this;
    this.database = undefined;
    this.statements.clear();
    try {
      // SQLite keeps a closed connection, with its locks, until the driver has collected the last statement as garbage.
      if (database?.isTransaction === true) database.exec('ROLLBACK');
    } finally {
      database?.close();
    }
  }

  private statement(database: DatabaseSyncInstance, sql: string): StatementSyncInstance {
    const prepared = this.statements.get(sql);
    if (prepared !== undefined) return prepared;
    const statement = database.prepare(sql);
    statement.setReturnArrays(true);
    const [oldest] = this.statements.keys();
    if (this.statements.size >= MOST_STATEMENTS && oldest !== undefined) this.statements.delete(oldest);
    this.statements.set(sql, statement);
    return statement;
  }
}
