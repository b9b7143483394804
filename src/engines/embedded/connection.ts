import {
  DatabaseSync,
  type DatabaseSyncInstance,
  type DatabaseSyncOptions,
  type StatementSyncInstance,
} from '@photostructure/sqlite';
import { EngineUnavailable } from '../../kernel/event-log';
import { toUnavailable } from './unavailable';

/** Statements kept prepared: the texts of queries vary with their shape, not with their values. */
const MOST_STATEMENTS = 200;

/** An open database with its prepared statements. */
export interface Session {
  readonly database: DatabaseSyncInstance;
  readonly prepared: (sql: string) => StatementSyncInstance;
}

/**
 * A connection to a SQLite file that mends itself: opened when it is first used, and anew after any failure of the
 * machine, so that work goes on by itself as soon as the disk has room or can be written again.
 */
export class Connection {
  #session: Session | undefined;
  #closed = false;

  /**
   * `subject` is named in errors; `open` opens the file and makes it ready. `wasStopped`: the work has just ended because
   * the caller stopped it. Nothing is wrong with the connection then: its cache and prepared statements are kept.
   */
  constructor(
    private readonly subject: string,
    private readonly open: () => DatabaseSyncInstance,
    private readonly wasStopped: () => boolean = () => false,
  ) {}

  /** Does some work; when it fails, what it did not commit is rolled back. Raises `EngineUnavailable`. */
  use<T>(work: (session: Session) => T): T {
    if (this.#closed) throw new EngineUnavailable(`${this.subject} is closed`);
    try {
      this.#session ??= sessionOf(this.open());
      return work(this.#session);
    } catch (error) {
      if (!this.wasStopped() || !this.#rollBack()) this.#drop();
      throw toUnavailable(this.subject, error);
    }
  }

  /** Whether a transaction is under way. */
  get isTransaction(): boolean {
    return this.#session?.database.isTransaction === true;
  }

  close(): void {
    this.#closed = true;
    this.#drop();
  }

  /** False when it could not. */
  #rollBack(): boolean {
    try {
      if (this.isTransaction) this.#session?.database.exec('ROLLBACK');
      return true;
    } catch {
      return false;
    }
  }

  #drop(): void {
    const session = this.#session;
    this.#session = undefined;
    if (session !== undefined) closeDatabase(session.database);
  }
}

function sessionOf(database: DatabaseSyncInstance): Session {
  const statements = new Map<string, StatementSyncInstance>();
  return {
    database,
    prepared(sql) {
      const known = statements.get(sql);
      if (known !== undefined) return known;
      const statement = database.prepare(sql);
      const [oldest] = statements.keys();
      if (statements.size >= MOST_STATEMENTS && oldest !== undefined) statements.delete(oldest);
      statements.set(sql, statement);
      return statement;
    },
  };
}

/** Opens a file and makes it ready with `setUp`; when that fails nothing stays open. */
export function openDatabase(
  file: string,
  options: DatabaseSyncOptions,
  setUp: (database: DatabaseSyncInstance) => void,
): DatabaseSyncInstance {
  const database = new DatabaseSync(file, options);
  try {
    setUp(database);
    return database;
  } catch (error) {
    closeDatabase(database);
    throw error;
  }
}

/**
 * Closes a database, whatever state it is in. A transaction outlives `close` until its statements are collected as
 * garbage: the file would stay locked. So does its page cache, which the collector does not know the size of. Neither
 * step may keep the file open or hide the error that it is closed for.
 */
function closeDatabase(database: DatabaseSyncInstance): void {
  try {
    if (database.isTransaction) database.exec('ROLLBACK');
    database.exec('PRAGMA shrink_memory');
  } catch {
    // Closing the connection rolls back too.
  } finally {
    database.close();
  }
}
