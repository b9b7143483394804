import { type DatabaseSyncInstance } from '@photostructure/sqlite';
import { type NewEvent, NO_STREAM, positionOf, type Position } from '../../../kernel/event';
import { type Appended, RevisionConflict, EngineUnavailable } from '../../../kernel/event-log';
import { COMMIT_APPENDS, COMMIT_SECONDS, FSYNC_SECONDS } from '../../../runtime/metrics';
import { SqliteConnection, type DatabaseSession } from '../connection';
import { refuseTorn, refuseTornIndex } from './log-reader';
import {
  eventsOfAppends,
  expireSlice,
  HEAD,
  type LogKind,
  openToAppend,
  REVISION,
  shrinkSlice,
  SUBJECTS,
} from './schema';
import { checkAppend } from '../../validation';

/** Texts of one event in `PackedAppend.texts`: id, type, data, meta. */
export const TEXTS = 4;

/** A validated append, in the form that is fastest to send to another thread and to insert. */
export interface PackedAppend {
  readonly stream: string;
  readonly expected: number;
  /** The texts of all events, concatenated. */
  readonly texts: readonly string[];
  /** Their size, as counted by `APPEND_LIMITS`. */
  readonly bytes: number;
}

/** Validates an append and packs it. Raises `UnacceptableAppend`. */
export function pack(stream: string, expected: number, events: readonly NewEvent[]): PackedAppend {
  const bytes = checkAppend(stream, expected, events);
  const texts: string[] = [];
  for (const { id, type, data, meta } of events) texts.push(id, type, data, meta);
  return { stream, expected, texts, bytes };
}

/** Moves the WAL into the file; waits up to 500 ms for readers in other processes. */
const CHECKPOINT_WAL = 'PRAGMA busy_timeout = 500; PRAGMA wal_checkpoint(TRUNCATE)';

/** The same while others append: the rest is moved later. */
const CHECKPOINT_SOON =
  'PRAGMA busy_timeout = 50; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA busy_timeout = 5000';

export type CommitResult = Appended | RevisionConflict;

/** Events per INSERT: a third faster than one at a time, which calls SQLite for each. */
const ROWS_PER_INSERT = 10;

const LAST_REVISION = 'SELECT revision FROM appends WHERE stream = ? ORDER BY revision DESC LIMIT 1';
const EVENTS_AFTER = `
  SELECT e.id, e.position FROM ${eventsOfAppends({ after: 'a.position - a.revision + ?2' })}
  WHERE a.stream = ?1 AND a.revision > ?2 AND ${REVISION} <= ?2 + ?3
  ORDER BY a.revision, e.position LIMIT ?3`;
const INSERT_APPEND =
  'INSERT INTO appends (position, stream, revision, events, bytes) VALUES (?, ?, ?, ?, ?)';

/**
 * Appends to the log's file. Caches nothing between commits, since other processes may append too.
 */
export class LogWriter {
  readonly #connection: SqliteConnection;

  constructor(
    file: string,
    private readonly kind: LogKind = 'events',
    open: (file: string, kind: LogKind) => DatabaseSyncInstance = openToAppend,
  ) {
    this.#connection = new SqliteConnection(SUBJECTS[kind], () => open(file, kind));
  }

  /** Opens the file, and creates it if needed. Raises `EngineUnavailable`, also if the end of the log is damaged. */
  open(): void {
    this.#connection.use(refuseTorn);
  }

  /** For long-running processes. Raises `EngineUnavailable` if the index of streams is damaged. */
  checkIndex(): void {
    this.#connection.use(refuseTornIndex);
  }

  /**
   * Makes several appends in one transaction. Each is checked on its own, in order: a conflict is an outcome and does
   * not affect the others. After `EngineUnavailable`, either none was made, or all were and the answer was lost.
   */
  commit(appends: readonly PackedAppend[]): readonly CommitResult[] {
    return this.#connection.use((session) => {
      const began = performance.now();
      session.database.exec('BEGIN IMMEDIATE');
      const outcomes = appends.map((append) => appendOne(session, append));
      const inserted = performance.now();
      session.database.exec('COMMIT');
      this.#count(appends.length, began, inserted);
      return outcomes;
    });
  }

  /** The last position, also of appends by others. */
  head(): Position {
    return this.#connection.use(({ prepared }) => positionOf((prepared(HEAD).get() as [number])[0]));
  }

  #count(appends: number, began: number, inserted: number): void {
    const log = { log: this.kind };
    const now = performance.now();
    COMMIT_APPENDS.observe(appends, log);
    COMMIT_SECONDS.observe((now - began) / 1000, log);
    FSYNC_SECONDS.observe((now - inserted) / 1000, log);
  }

  /** In a log that expires, deletes a slice of what was appended before a time (epoch ms). False: there was nothing. */
  expire(before: number): boolean {
    return this.#connection.use((session) => {
      session.database.exec('BEGIN IMMEDIATE');
      const didDelete = expireSlice(session, before);
      session.database.exec('COMMIT');
      return didDelete;
    });
  }

  /**
   * Makes the file smaller by a slice of its free space. False: there was none, and the WAL is empty too if nobody uses
   * it.
   */
  shrink(): boolean {
    return this.#connection.use((session) => {
      const didShrink = shrinkSlice(session);
      if (!didShrink) session.database.exec(CHECKPOINT_SOON);
      return didShrink;
    });
  }

  /** Moves the WAL into the file, unless another process uses it, so that a copy of the file is a backup. */
  close(): void {
    try {
      this.#connection.use(({ database }) => database.exec(CHECKPOINT_WAL));
    } catch {
      // What could not be moved stays in the WAL, which remains part of the log.
    }
    this.#connection.close();
  }
}

function appendOne(session: DatabaseSession, { stream, expected, texts, bytes }: PackedAppend): CommitResult {
  const count = texts.length / TEXTS;
  const actual = (session.prepared(LAST_REVISION).get(stream) as [number] | undefined)?.[0] ?? NO_STREAM;
  if (expected !== actual)
    return findRepeated(session, stream, expected, texts) ?? new RevisionConflict(stream, expected, actual);
  if (count === 0)
    return { revision: actual, position: positionOf((session.prepared(HEAD).get() as [number])[0]) };
  const position = insert(session, texts);
  session.prepared(INSERT_APPEND).run(position, stream, expected + count, count, bytes);
  return { revision: expected + count, position: positionOf(position) };
}

/** Finds the append if it was made before: the same event ids follow `expected` in the stream. */
function findRepeated(
  session: DatabaseSession,
  stream: string,
  expected: number,
  texts: readonly string[],
): Appended | undefined {
  const count = texts.length / TEXTS;
  const stored = session.prepared(EVENTS_AFTER).all(stream, expected, count) as [
    id: string,
    position: number,
  ][];
  const last = stored.at(-1);
  if (last === undefined || stored.length < count) return undefined;
  if (stored.some(([id], index) => id !== texts[index * TEXTS])) return undefined;
  return { revision: expected + count, position: positionOf(last[1]) };
}

/** Returns the position of the last event. */
function insert(session: DatabaseSession, texts: readonly string[]): number {
  let position = 0;
  for (let at = 0; at < texts.length;) {
    const rows = Math.min(ROWS_PER_INSERT, (texts.length - at) / TEXTS);
    const end = at + rows * TEXTS;
    const values = rows * TEXTS === texts.length ? texts : texts.slice(at, end);
    position = Number(session.prepared(INSERT_EVENTS[rows] ?? '').run(...values).lastInsertRowid);
    at = end;
  }
  return position;
}

/** By the number of rows. */
const INSERT_EVENTS = Array.from({ length: ROWS_PER_INSERT + 1 }, (_, rows) => insertOf(rows));

function insertOf(rows: number): string {
  return `INSERT INTO events (id, type, data, meta) VALUES ${Array<string>(rows).fill('(?, ?, ?, ?)').join()}`;
}

/** What became of an append in the log thread: errors of a class do not survive the way between threads. */
export type Sent = Appended | { readonly actual: number };

/** Bytes after which appends are sent at once: a large load does not delay the answers to small ones. */
const MOST_BYTES = 1024 * 1024;

interface Waiting {
  readonly append: PackedAppend;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Sends appends to the log thread: all those of one round of the event loop in one message, since a message costs
 * several times what committing a small append does.
 */
export class AppendSender {
  #waiting: Waiting[] = [];
  #bytes = 0;

  constructor(private readonly send: (appends: readonly PackedAppend[]) => Promise<readonly Sent[]>) {}

  /** Resolves when the append is on disk. Raises `RevisionConflict`, `EngineUnavailable`. */
  append(append: PackedAppend): Promise<Appended> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#flush());
      this.#waiting.push({ append, resolve, reject });
      this.#bytes += append.bytes;
      if (this.#bytes >= MOST_BYTES) this.#flush();
    });
  }

  #flush(): void {
    const sending = this.#waiting;
    this.#waiting = [];
    this.#bytes = 0;
    if (sending.length === 0) return;
    this.send(sending.map(({ append }) => append))
      .then((results) => settle(sending, results))
      .catch((error: unknown) => {
        for (const { reject } of sending) reject(error);
      });
  }
}

function settle(sent: readonly Waiting[], results: readonly Sent[]): void {
  for (const [index, { append, resolve, reject }] of sent.entries()) {
    const result = results[index];
    if (result !== undefined && 'position' in result) resolve(result);
    else reject(new RevisionConflict(append.stream, append.expected, result?.actual ?? NaN));
  }
}

/** A commit: the position of its last event, and the streams that it has appended to. */
export interface Commit {
  readonly position: Position;
  /**
   * That before its first event, if nothing of others is in between: not of a commit that repeats an earlier append.
   */
  readonly after?: Position;
  readonly streams: ReadonlySet<string>;
}

/** Maximum bytes per transaction, so that concurrent loads do not wait for one huge commit. */
const COMMIT_BYTES = 16 * 1024 * 1024;

interface PendingAppend {
  readonly append: PackedAppend;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Group commit: concurrent appends share one transaction and one wait for the disk. All appends that arrive within one
 * round of the event loop are committed together.
 */
export class GroupCommit {
  #pending: PendingAppend[] = [];
  #closed = false;

  /** `subject` is named in errors. `committed` is called after each commit that appended something. */
  constructor(
    private readonly commit: (appends: readonly PackedAppend[]) => readonly CommitResult[],
    private readonly committed: (commit: Commit) => void,
    private readonly subject: string = SUBJECTS.events,
  ) {}

  /** Resolves when the append is on disk. Raises `RevisionConflict`, `EngineUnavailable`. */
  append(append: PackedAppend): Promise<Appended> {
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        reject(new EngineUnavailable(`${this.subject} is closed`));
        return;
      }
      if (this.#pending.length === 0) setImmediate(() => this.#flush());
      this.#pending.push({ append, resolve, reject });
    });
  }

  /** Commits pending appends and refuses later ones. */
  close(): void {
    this.#closed = true;
    while (this.#pending.length > 0) this.#flush();
  }

  #flush(): void {
    const group = this.#nextGroup();
    if (group.length === 0) return;
    if (this.#pending.length > 0) setImmediate(() => this.#flush());
    try {
      const outcomes = this.commit(group.map(({ append }) => append));
      this.#settle(group, outcomes);
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  #settle(group: readonly PendingAppend[], outcomes: readonly CommitResult[]): void {
    let position: Position = '';
    let [first, last, isWhole] = [-1, -1, true];
    const streams = new Set<string>();
    for (const [index, { append, resolve, reject }] of group.entries()) {
      const outcome = outcomes[index];
      if (outcome === undefined || outcome instanceof RevisionConflict) reject(outcome);
      else {
        if (outcome.position > position) position = outcome.position;
        streams.add(append.stream);
        const end = Number(outcome.position);
        const start = end - append.texts.length / TEXTS;
        if (first < 0) first = start;
        else isWhole &&= start === last;
        last = end;
        resolve(outcome);
      }
    }
    if (position === '') return;
    this.committed({ position, streams, ...(isWhole ? { after: positionOf(first) } : {}) });
  }

  #nextGroup(): readonly PendingAppend[] {
    let bytes = 0;
    const end = this.#pending.findIndex(({ append }) => (bytes += append.bytes) > COMMIT_BYTES);
    return this.#pending.splice(0, end === -1 ? this.#pending.length : end);
  }
}
