import { type DatabaseSyncInstance } from '@photostructure/sqlite';
import { NO_STREAM } from '../../../kernel/event';
import { type Appended, RevisionConflict } from '../../../kernel/event-log';
import { Connection, type Session } from '../connection';
import { refuseTorn, refuseTornIndex } from './damage';
import { type PackedAppend, TEXTS, toPosition } from './packed';
import { EVENTS_OF_APPENDS, HEAD, openToAppend, REVISION, SUBJECT } from './schema';

/** Waits for readers of other processes for a moment (ms). */
const FOLD = 'PRAGMA busy_timeout = 500; PRAGMA wal_checkpoint(TRUNCATE)';

/** What became of one append of a commit. */
export type Outcome = Appended | RevisionConflict;

/** Events inserted by one statement: crossing into SQLite once for several is a third faster. */
const ROWS = 10;

const LAST = 'SELECT revision FROM appends WHERE stream = ? ORDER BY revision DESC LIMIT 1';
const EARLIER = `
  SELECT e.id, e.position FROM ${EVENTS_OF_APPENDS}
  WHERE a.stream = ?1 AND a.revision > ?2 AND ${REVISION} > ?2
  ORDER BY a.revision, e.position LIMIT ?3`;
const INSERT_APPEND =
  'INSERT INTO appends (position, stream, revision, events, bytes) VALUES (?, ?, ?, ?, ?)';

/**
 * Appends to the log's file. It remembers nothing between two commits: other processes may append to it too.
 */
export class LogWriter {
  readonly #connection: Connection;

  constructor(file: string, open: (file: string) => DatabaseSyncInstance = openToAppend) {
    this.#connection = new Connection(SUBJECT, () => open(file));
  }

  /** Opens the file, makes it when it is not there. Raises `EngineUnavailable`, also where its end is damaged. */
  open(): void {
    this.#connection.use(refuseTorn);
  }

  /** For who opens the log for long. Raises `EngineUnavailable` when its index of streams is damaged. */
  checkIndex(): void {
    this.#connection.use(refuseTornIndex);
  }

  /**
   * Makes several appends in one transaction, each judged by itself in this order: a conflict is an outcome and
   * stops nothing. `EngineUnavailable` says that none was made, or that all were and the answer was lost.
   */
  commit(appends: readonly PackedAppend[]): readonly Outcome[] {
    return this.#connection.use((session) => {
      session.database.exec('BEGIN IMMEDIATE');
      const outcomes = appends.map((append) => judge(session, append));
      session.database.exec('COMMIT');
      return outcomes;
    });
  }

  /** Has everything in the one file, unless another process is using it: a copy of that is a backup. */
  close(): void {
    try {
      this.#connection.use(({ database }) => database.exec(FOLD));
    } catch {
      // What could not be moved stays in the files beside it, which belong to it.
    }
    this.#connection.close();
  }
}

function judge(session: Session, { stream, expected, texts, bytes }: PackedAppend): Outcome {
  const count = texts.length / TEXTS;
  const actual = (session.prepared(LAST).get(stream) as [number] | undefined)?.[0] ?? NO_STREAM;
  if (expected !== actual)
    return madeEarlier(session, stream, expected, texts) ?? new RevisionConflict(stream, expected, actual);
  if (count === 0)
    return { revision: actual, position: toPosition((session.prepared(HEAD).get() as [number])[0]) };
  const position = insert(session, texts);
  session.prepared(INSERT_APPEND).run(position, stream, expected + count, count, bytes);
  return { revision: expected + count, position: toPosition(position) };
}

/** The same events were appended right there before, be it long ago or a moment. */
function madeEarlier(
  session: Session,
  stream: string,
  expected: number,
  texts: readonly string[],
): Appended | undefined {
  const count = texts.length / TEXTS;
  const there = session.prepared(EARLIER).all(stream, expected, count) as [id: string, position: number][];
  const last = there.at(-1);
  if (last === undefined || there.length < count) return undefined;
  if (there.some(([id], index) => id !== texts[index * TEXTS])) return undefined;
  return { revision: expected + count, position: toPosition(last[1]) };
}

/** Returns the position of the last one. */
function insert(session: Session, texts: readonly string[]): number {
  let at = 0;
  let position = 0;
  while (at < texts.length) {
    const rows = texts.length - at < ROWS * TEXTS ? 1 : ROWS;
    const end = at + rows * TEXTS;
    position = Number(session.prepared(INSERT_EVENTS[rows]).run(...texts.slice(at, end)).lastInsertRowid);
    at = end;
  }
  return position;
}

const INSERT_EVENTS = { 1: insertOf(1), [ROWS]: insertOf(ROWS) };

function insertOf(rows: number): string {
  return `INSERT INTO events (id, type, data, meta) VALUES ${Array<string>(rows).fill('(?, ?, ?, ?)').join()}`;
}
