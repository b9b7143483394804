import { type DatabaseSyncInstance } from '@photostructure/sqlite';
import { EngineUnavailable } from '../../../kernel/event-log';
import { openDatabase, type DatabaseSession } from '../connection';

/** How long (ms) a commit waits for that of another process. */
const LOCK_TIMEOUT_MS = 5_000;
const VERSION = 1;

/** The domain's log, or that of deliveries, whose events expire. */
export type LogKind = 'events' | 'deliveries';

/** The name of a log in error messages. */
export const SUBJECTS: Readonly<Record<LogKind, string>> = {
  events: 'the event log',
  deliveries: 'the delivery log',
};

/**
 * An event's position is its row id. Rows are only added, at the end, by one transaction at a time, so a reader who
 * sees a position sees everything before it.
 *
 * Stream and revision are stored per append, not per event. The events of an append have consecutive positions and
 * revisions, so the last ones and the number of events suffice. An append of 500 events updates the index once, and
 * reading some streams never touches the events of others.
 */
const tablesWith = (columns: string): string => `
  CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    data TEXT NOT NULL,
    meta TEXT NOT NULL
  ) STRICT;
  CREATE TABLE appends (
    position INTEGER PRIMARY KEY,
    stream TEXT NOT NULL,
    revision INTEGER NOT NULL,
    events INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    ${columns}
    UNIQUE (stream, revision)
  ) STRICT;
  PRAGMA user_version = ${VERSION};
`;

/**
 * In a log that expires, `at` is when an append was made (epoch ms), and `expired.position` the position up to which
 * everything is deleted but the last event of each stream. Its file shrinks: the pragma has an effect in an empty file
 * only.
 */
const SETUP: Readonly<Record<LogKind, { readonly first: string; readonly tables: string }>> = {
  events: { first: '', tables: tablesWith('') },
  deliveries: {
    first: 'PRAGMA auto_vacuum = INCREMENTAL;',
    tables: `
      ${tablesWith("at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)),")}
      CREATE TABLE expired (position INTEGER NOT NULL) STRICT;
      INSERT INTO expired VALUES (0);
    `,
  },
};

/** The columns of both tables as SQLite describes them, 1 marking the key; null if a table is missing. */
const COLUMNS = ['events', 'appends']
  .map(
    (table) => `(SELECT group_concat(name || ' ' || type || ' ' || pk) FROM pragma_table_info('${table}'))`,
  )
  .join(", ' / ', ");
const EVENT_COLUMNS =
  'position INTEGER 1,id TEXT 0,type TEXT 0,data TEXT 0,meta TEXT 0 / ' +
  'position INTEGER 1,stream TEXT 0,revision INTEGER 0,events INTEGER 0,bytes INTEGER 0';
const EXPECTED_COLUMNS: Readonly<Record<LogKind, string>> = {
  events: EVENT_COLUMNS,
  deliveries: `${EVENT_COLUMNS},at INTEGER 0`,
};

/**
 * A FROM clause: each append `a` with its events `e`. Bounds of the events' positions, in SQL, belong here and not in
 * WHERE: in a part of a long append, SQLite then reads no other events.
 */
export function eventsOfAppends({
  after,
  upTo,
}: { readonly after?: string; readonly upTo?: string } = {}): string {
  const [first, last] = ['a.position - a.events', 'a.position'];
  const low = after === undefined ? first : `max(${first}, ${after})`;
  const high = upTo === undefined ? last : `min(${last}, ${upTo})`;
  return `appends a CROSS JOIN events e ON e.position > ${low} AND e.position <= ${high}`;
}

/** The last position, 0 in an empty log. */
export const HEAD = 'SELECT coalesce(max(position), 0) FROM appends';

/** The revision of the event `e` in the append `a`. */
export const REVISION = '(a.revision - a.position + e.position)';

/**
 * Commits wait for the disk. Pages of 8 KB hold several events of about 1 KB, which makes appends of 500 events a third
 * faster than with the default of 4 KB.
 */
export const LOG_PRAGMAS = `
  PRAGMA page_size = 8192;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA wal_autocheckpoint = 1000;
  PRAGMA journal_size_limit = 67108864;`;

/** Opens the log's file for appending, and creates the file and its tables if needed. */
export function openToAppend(file: string, kind: LogKind = 'events'): DatabaseSyncInstance {
  const { first, tables } = SETUP[kind];
  const subject = SUBJECTS[kind];
  return openDatabase(file, { timeout: LOCK_TIMEOUT_MS, returnArrays: true }, (database) => {
    database.exec(first + LOG_PRAGMAS);
    // Even if the tables exist, to detect a file that is not writable.
    database.exec('BEGIN IMMEDIATE');
    if (versionOf(database) === 0 && isEmpty(database)) database.exec(tables);
    database.exec('COMMIT');
    const version = versionOf(database);
    if (version > VERSION)
      throw new EngineUnavailable(`${subject} is not available: it was written by a newer version`);
    if (version !== VERSION || columnsOf(database) !== EXPECTED_COLUMNS[kind])
      throw new EngineUnavailable(
        `${subject} is not available: its file is damaged, or it is a log of another kind`,
      );
  });
}

/** Opens an existing log for reading. */
export function openToRead(file: string): DatabaseSyncInstance {
  return openDatabase(
    file,
    { timeout: LOCK_TIMEOUT_MS, returnArrays: true, readOnly: true },
    () => undefined,
  );
}

function columnsOf(database: DatabaseSyncInstance): string {
  return (database.prepare(`SELECT ${COLUMNS}`).get() as (string | null)[]).join('');
}

function isEmpty(database: DatabaseSyncInstance): boolean {
  return database.prepare('SELECT 1 FROM sqlite_schema').get() === undefined;
}

function versionOf(database: DatabaseSyncInstance): number {
  return (database.prepare('PRAGMA user_version').get() as [number])[0];
}

/** An append of a slice: `isOld`: it is older than what is retained. */
type Row = readonly [position: number, stream: string, revision: number, events: number, bytes: number];

/** Limits of a slice, so that appends do not wait long for it. */
const SLICE = { appends: 500, bytes: 4 * 1024 * 1024 } as const;

/** Pages (8 KB) returned to the file system at a time. */
const PAGES = 500;

const EXPIRED = 'SELECT position FROM expired';
const NEXT = `
  SELECT position, stream, revision, events, bytes, at < ? FROM appends WHERE position > ? ORDER BY position LIMIT ${SLICE.appends}`;
const LAST = 'SELECT revision FROM appends WHERE stream = ? ORDER BY revision DESC LIMIT 1';
/** What was the last of its stream before. */
const SUPERSEDED = `
  SELECT position, stream, revision, events, bytes FROM appends a WHERE position <= (${EXPIRED}) AND at < ?
    AND EXISTS (SELECT 1 FROM appends b WHERE b.stream = a.stream AND b.revision > a.revision) LIMIT ${SLICE.appends}`;
const DELETE_EVENTS = 'DELETE FROM events WHERE position > ? AND position <= ?';
const DELETE_APPEND = 'DELETE FROM appends WHERE position = ?';
const KEEP_LAST_EVENT = `
  UPDATE appends SET events = 1, bytes =
    (SELECT octet_length(type) + octet_length(data) + octet_length(meta) FROM events WHERE events.position = appends.position)
  WHERE position = ?`;

/** The position up to which a log has expired. */
export function expiredUpTo({ prepared }: Pick<DatabaseSession, 'prepared'>): number {
  return (prepared(EXPIRED).get() as [number])[0];
}

/**
 * Deletes one slice of the appends made before a time (epoch ms), in the transaction of the caller. False: there was
 * nothing.
 */
export function expireSlice({ prepared }: DatabaseSession, before: number): boolean {
  const superseded = prepared(SUPERSEDED).all(before) as unknown as Row[];
  for (const row of superseded) deleteAppend(row);
  const upTo = expiredUpTo({ prepared });
  const next = prepared(NEXT).all(before, upTo) as unknown as [...Row, isOld: number][];
  let bytes = 0;
  let last: number | undefined;
  for (const [...row] of next) {
    const [position, stream, revision, events, size, isOld] = row;
    // A later append that is older was made when the clock was set back: it is kept as long as this one.
    if (isOld === 0 || bytes > SLICE.bytes) break;
    bytes += size;
    last = position;
    const isLast = (prepared(LAST).get(stream) as [number])[0] === revision;
    if (!isLast) deleteAppend([position, stream, revision, events, size]);
    else if (events > 1) {
      prepared(DELETE_EVENTS).run(position - events, position - 1);
      prepared(KEEP_LAST_EVENT).run(position);
    }
  }
  if (last !== undefined) prepared('UPDATE expired SET position = ?').run(last);
  return superseded.length > 0 || last !== undefined;

  function deleteAppend([position, , , events]: Row): void {
    prepared(DELETE_EVENTS).run(position - events, position);
    prepared(DELETE_APPEND).run(position);
  }
}

/** Returns free pages to the file system. False: there are none. */
export function shrinkSlice({ database, prepared }: DatabaseSession): boolean {
  const [free] = prepared('PRAGMA freelist_count').get() as [number];
  if (free === 0) return false;
  database.exec(`PRAGMA incremental_vacuum(${PAGES})`);
  return true;
}
