import { constants } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  DatabaseSync,
  type DatabaseSyncInstance,
  type DatabaseSyncOptions,
  type StatementSyncInstance,
} from '@photostructure/sqlite';
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';
import { EngineUnavailable } from '../../kernel/event-log';

/** Size of the cache of prepared statements. The SQL of a query depends on its shape, not on its values. */
const MAX_STATEMENTS = 200;

/** An open database with its prepared statements. */
export interface DatabaseSession {
  readonly database: DatabaseSyncInstance;
  readonly prepared: (sql: string) => StatementSyncInstance;
}

/**
 * A self-healing connection to a SQLite file: opened on first use, and reopened after a failure, so that work continues
 * as soon as the disk has space or is writable again.
 */
export class SqliteConnection {
  #session: DatabaseSession | undefined;
  #closed = false;

  /** `subject` is named in errors. `open` opens the file and configures it. */
  constructor(
    private readonly subject: string,
    private readonly open: () => DatabaseSyncInstance,
  ) {}

  /** Runs `work`. If it fails, uncommitted changes are rolled back. Raises `EngineUnavailable`. */
  use<T>(work: (session: DatabaseSession) => T): T {
    if (this.#closed) throw new EngineUnavailable(`${this.subject} is closed`);
    return callDriver(() => {
      try {
        this.#session ??= sessionOf(this.open());
        return work(this.#session);
      } catch (error) {
        this.#drop();
        throw toFailure(this.subject, error);
      }
    });
  }

  get isTransaction(): boolean {
    return this.#session?.database.isTransaction === true;
  }

  close(): void {
    this.#closed = true;
    this.#drop();
  }

  #drop(): void {
    const session = this.#session;
    this.#session = undefined;
    if (session !== undefined) closeDatabase(session.database);
  }
}

function sessionOf(database: DatabaseSyncInstance): DatabaseSession {
  const statements = new Map<string, StatementSyncInstance>();
  return {
    database,
    prepared(sql) {
      const cached = statements.get(sql);
      if (cached !== undefined) return cached;
      const statement = database.prepare(sql);
      const [oldest] = statements.keys();
      if (statements.size >= MAX_STATEMENTS && oldest !== undefined) statements.delete(oldest);
      statements.set(sql, statement);
      return statement;
    },
  };
}

/**
 * The rows of a statement, one by one. The driver's iterator uses its statement, and that its database, but keeps
 * neither from being garbage-collected, not even when the connection is closed meanwhile: a process that reads on then
 * crashes. The iterator returned here holds both.
 */
export function iterate<Row>(
  database: DatabaseSyncInstance,
  statement: StatementSyncInstance,
  ...values: readonly unknown[]
): IterableIterator<Row, undefined> {
  const rows = statement.iterate(...values) as IterableIterator<Row, undefined>;
  return Object.assign(rows, { held: [statement, database] });
}

/**
 * Opens a file and configures it with `setUp`; closes it again if that fails. Where SQLite does not wait for a lock, as
 * when several connections make a new file one with a WAL, it is repeated for the `timeout`.
 */
export function openDatabase(
  file: string,
  options: DatabaseSyncOptions,
  setUp: (database: DatabaseSyncInstance) => void,
): DatabaseSyncInstance {
  const end = performance.now() + (options.timeout ?? 0);
  return callDriver(() => {
    for (;;) {
      const database = new DatabaseSync(file, options);
      try {
        setUp(database);
        return database;
      } catch (error) {
        closeDatabase(database);
        if (!isLocked(error) || performance.now() >= end) throw error;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      }
    }
  });
}

function isLocked(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'sqliteCode' in error &&
    (Number(error.sqliteCode) & 0xff) === BUSY
  );
}

/**
 * Closes a database in any state. An open transaction and the page cache would outlive `close` until the statements are
 * garbage-collected: the file would stay locked, and memory in use that the collector does not know of. A failure here
 * must neither keep the file open nor hide the error that it is closed for.
 */
export function closeDatabase(database: DatabaseSyncInstance): void {
  callDriver(() => {
    try {
      if (database.isTransaction) database.exec('ROLLBACK');
      database.exec('PRAGMA shrink_memory');
    } catch {
      // Closing rolls back too.
    } finally {
      database.close();
      closed += 1;
      if (closed === MOST_CLOSED) setImmediate(releaseClosedFiles);
    }
  });
}

/** How many databases may be closed before their files are released: each has up to three descriptors. */
const MOST_CLOSED = 100;
/** Databases of this thread that were closed since their files were released. */
let closed = 0;

let collectGarbage: (() => void) | undefined;

/**
 * Frees the files of closed connections. SQLite keeps a file open until all statements prepared on it are finalized,
 * which the driver does when they are garbage-collected: an idle thread might never do that. Takes as long as a full
 * collection of this thread's heap, so call it only for rare events, such as the removal of a file.
 */
export function releaseClosedFiles(): void {
  closed = 0;
  setFlagsFromString('--expose-gc');
  collectGarbage ??= runInNewContext('gc') as () => void;
  collectGarbage();
}

const DAMAGED = 'its file is damaged';
const LOCKED = 'another process has locked it';
const BUSY = 5;

/**
 * SQLite's result codes for failures of the machine: the primary code, its fixed message in SQLite, and ours. The
 * driver's errors when reading several rows have no code. Any other error is a bug of ours.
 */
const FAILURES = [
  [3, 'access permission denied', 'access to its files is denied'],
  [BUSY, 'database is locked', LOCKED],
  [6, 'database table is locked', LOCKED],
  [7, 'out of memory', 'there is not enough memory'],
  [8, 'attempt to write a readonly database', 'it is read-only'],
  [10, 'disk I/O error', 'reading or writing its file failed'],
  [11, 'database disk image is malformed', DAMAGED],
  [13, 'database or disk is full', 'the disk is full'],
  [14, 'unable to open database file', 'its file cannot be opened'],
  [15, 'locking protocol', LOCKED],
  [22, 'large file support is disabled', 'the file system does not support a file of this size'],
  [26, 'file is not a database', DAMAGED],
] as const;

/** The driver's message for an integer that is never stored: the file is damaged. */
const TOO_LARGE = /^Value is too large to be represented/;

/** Messages for the system errors behind an I/O error, where the driver reports them. */
const SYSTEM: Readonly<Record<number, string>> = {
  [constants.errno.EACCES]: 'access to its files is denied',
  [constants.errno.EPERM]: 'access to its files is denied',
  [constants.errno.ENOSPC]: 'the disk is full',
  [constants.errno.EDQUOT]: 'the disk is full',
  [constants.errno.EFBIG]: 'its file may not grow',
  [constants.errno.EROFS]: 'it is read-only',
};

/**
 * Translates an error of SQLite. Failures of the machine become `EngineUnavailable`, with a message for operators that
 * contains no path; bugs are returned as they are. `subject` is what failed: "the event log".
 */
export function toFailure(subject: string, error: unknown): unknown {
  if (typeof error !== 'object' || error === null || !('message' in error)) return error;
  const system = 'systemErrno' in error ? SYSTEM[Number(error.systemErrno)] : undefined;
  const message = String(error.message);
  const known = FAILURES.find(([code, text]) =>
    'sqliteCode' in error ? code === (Number(error.sqliteCode) & 0xff) : text === message,
  );
  const reason = TOO_LARGE.test(message) ? DAMAGED : known?.[2];
  if (reason === undefined) return error;
  return new EngineUnavailable(`${subject} is not available: ${system ?? reason}`, { cause: error });
}

/** Runs work on files. Raises `EngineUnavailable`, without a path in the message, if it fails. */
export function onDisk<Result>(subject: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new EngineUnavailable(`${subject} is not available: its folder cannot be used (${code})`, {
      cause: error,
    });
  }
}

/** Threads inherit what has this name from the thread that starts them. */
const NAME = 'affilog: calls of the SQLite driver';

/** Indexes: how many threads are in a call; 1 once the process exits. */
const RUNNING = 0;
const EXITING = 1;

/** How long (ms) a process that exits waits: those who stop it kill it soon. */
const EXIT_MS = 1_000;

const calls = callsOfProcess();

function callsOfProcess(): Int32Array {
  const inherited = getEnvironmentData(NAME) as SharedArrayBuffer | undefined;
  if (inherited !== undefined) return new Int32Array(inherited);
  const buffer = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  setEnvironmentData(NAME, buffer);
  const created = new Int32Array(buffer);
  if (isMainThread) process.on('exit', () => untilNoneIsIn(created));
  return created;
}

/** Whether this thread is in a call. */
let isCalling = false;

/**
 * Runs `work`, which calls the driver. A thread that is terminated in such a call aborts the process: the driver throws
 * a C++ exception that nobody catches. Since a process that exits terminates its threads, its main thread first waits
 * until none of them is in a call; from then on, a thread that begins one stops here.
 */
export function callDriver<Result>(work: () => Result): Result {
  if (isCalling) return work();
  Atomics.add(calls, RUNNING, 1);
  isCalling = true;
  try {
    if (isExiting() && !isMainThread) {
      leave();
      // Until the thread is terminated.
      Atomics.wait(calls, EXITING, 1);
    }
    return work();
  } finally {
    leave();
  }
}

function isExiting(): boolean {
  return Atomics.load(calls, EXITING) === 1;
}

function leave(): void {
  isCalling = false;
  Atomics.sub(calls, RUNNING, 1);
  if (isExiting()) Atomics.notify(calls, RUNNING);
}

function untilNoneIsIn(all: Int32Array): void {
  Atomics.store(all, EXITING, 1);
  for (const end = performance.now() + EXIT_MS; performance.now() < end;) {
    const running = Atomics.load(all, RUNNING);
    if (running === 0) return;
    Atomics.wait(all, RUNNING, running, Math.max(0, end - performance.now()));
  }
}
