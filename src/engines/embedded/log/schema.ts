import { type DatabaseSyncInstance } from '@photostructure/sqlite';
import { EngineUnavailable } from '../../../kernel/event-log';
import { openDatabase } from '../connection';

/** What the log is called in messages. */
export const SUBJECT = 'the event log';

/** Milliseconds that a commit waits for another process to finish its own. */
const PATIENCE = 5_000;
const VERSION = 1;

/**
 * An event's position is its row id: rows are only ever added, at the end, by one transaction at a time, so
 * that whoever sees a position sees everything before it.
 *
 * Stream and revision are kept once per append, not per event: an append's events have consecutive positions
 * and consecutive revisions, so its last ones (`position`, `revision`) and their number say it all. An append of
 * 500 events touches the index once, and who looks for some streams never reads the events of the others.
 */
const TABLES = `
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
    UNIQUE (stream, revision)
  ) STRICT;
  PRAGMA user_version = ${VERSION};
`;

/** The columns of both tables, as SQLite describes them, with 1 for the key; null where there is no table. */
const COLUMNS = ['events', 'appends']
  .map(
    (table) => `(SELECT group_concat(name || ' ' || type || ' ' || pk) FROM pragma_table_info('${table}'))`,
  )
  .join(", ' / ', ");
const OURS =
  'position INTEGER 1,id TEXT 0,type TEXT 0,data TEXT 0,meta TEXT 0 / ' +
  'position INTEGER 1,stream TEXT 0,revision INTEGER 0,events INTEGER 0,bytes INTEGER 0';

/** Each event of each append, as `events` of the append named `a` and the event named `e`. */
export const EVENTS_OF_APPENDS =
  'appends a CROSS JOIN events e ON e.position > a.position - a.events AND e.position <= a.position';

/** The last position, 0 in an empty log. */
export const HEAD = 'SELECT coalesce(max(position), 0) FROM appends';

/** The revision of the event `e` in the append `a`. */
export const REVISION = '(a.revision - a.position + e.position)';

/**
 * What is committed is on the disk. Pages of 8 KB hold several events of about 1 KB each: appends of 500 are a third
 * faster than with the usual 4 KB.
 */
export const LOG_PRAGMAS = `
  PRAGMA page_size = 8192;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA wal_autocheckpoint = 1000;
  PRAGMA journal_size_limit = 67108864;`;

/** Opens the log's file to append; a new one is made with its tables. */
export function openToAppend(file: string): DatabaseSyncInstance {
  return openDatabase(file, { timeout: PATIENCE, returnArrays: true }, (database) => {
    database.exec(LOG_PRAGMAS);
    // Also when there is nothing to make: a file that may not be written is found out now.
    database.exec('BEGIN IMMEDIATE');
    if (versionOf(database) === 0 && isEmpty(database)) database.exec(TABLES);
    database.exec('COMMIT');
    const version = versionOf(database);
    if (version > VERSION)
      throw new EngineUnavailable(`${SUBJECT} is not available: a newer version has written it`);
    if (version !== VERSION || columnsOf(database) !== OURS)
      throw new EngineUnavailable(`${SUBJECT} is not available: its file is damaged, or is no event log`);
  });
}

/** Opens a log that is there, to read. */
export function openToRead(file: string): DatabaseSyncInstance {
  return openDatabase(file, { timeout: PATIENCE, returnArrays: true, readOnly: true }, () => undefined);
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
