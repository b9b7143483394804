import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from '@photostructure/sqlite';
import { iterate } from '../../src/engines/embedded/connection';
import { LOG_PRAGMAS } from '../../src/engines/embedded/log/schema';

/** An event's id, type, data and meta. */
export type EventTexts = readonly [id: string, type: string, data: string, meta: string];

/** Events per statement. */
const ROWS = 10;

/**
 * A log with only SQLite, in this thread: the engine's pragmas, tables, indexes and statements
 * (`src/engines/embedded/log/schema.ts`).
 */
export class BareLog {
  private readonly database: DatabaseSyncInstance;
  private readonly one: StatementSyncInstance;
  private readonly several: StatementSyncInstance;
  private readonly last: StatementSyncInstance;
  private readonly appended: StatementSyncInstance;

  constructor(file: string) {
    this.database = new DatabaseSync(file, { returnArrays: true });
    this.database.exec(`
      ${LOG_PRAGMAS}
      CREATE TABLE events (
        position INTEGER PRIMARY KEY, id TEXT NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL, meta TEXT NOT NULL
      ) STRICT;
      CREATE TABLE appends (
        position INTEGER PRIMARY KEY, stream TEXT NOT NULL, revision INTEGER NOT NULL, events INTEGER NOT NULL,
        bytes INTEGER NOT NULL, UNIQUE (stream, revision)
      ) STRICT;
    `);
    const insert = (rows: number): string =>
      `INSERT INTO events (id, type, data, meta) VALUES ${Array<string>(rows).fill('(?, ?, ?, ?)').join()}`;
    this.one = this.database.prepare(insert(1));
    this.several = this.database.prepare(insert(ROWS));
    this.last = this.database.prepare(
      'SELECT revision FROM appends WHERE stream = ? ORDER BY revision DESC LIMIT 1',
    );
    this.appended = this.database.prepare(
      'INSERT INTO appends (position, stream, revision, events, bytes) VALUES (?, ?, ?, ?, ?)',
    );
  }

  /** Appends to a stream in one transaction, which is durable when this returns. */
  append(stream: string, events: readonly EventTexts[]): void {
    this.appendTogether([[stream, events]]);
  }

  /** Appends to several streams in one transaction. */
  appendTogether(appends: Iterable<readonly [stream: string, events: readonly EventTexts[]]>): void {
    this.database.exec('BEGIN IMMEDIATE');
    for (const [stream, events] of appends) this.insert(stream, events);
    this.database.exec('COMMIT');
  }

  private insert(stream: string, events: readonly EventTexts[]): void {
    const [revision] = (this.last.get(stream) as [number] | undefined) ?? [-1];
    let position: number | bigint = 0;
    let at = 0;
    for (; at + ROWS <= events.length; at += ROWS) {
      position = this.several.run(...events.slice(at, at + ROWS).flat()).lastInsertRowid;
    }
    for (; at < events.length; at += 1) position = this.one.run(...(events[at] ?? [])).lastInsertRowid;
    const bytes = events.reduce((sum, [, , data]) => sum + data.length, 0);
    this.appended.run(position, stream, revision + events.length, events.length, bytes);
  }

  close(): void {
    this.database.close();
  }
}

/** The events of a stream in a log file, in order. */
export function eventsIn(file: string, stream: string): EventTexts[] {
  const database = new DatabaseSync(file, { returnArrays: true, readOnly: true });
  try {
    const events = database.prepare(`
      SELECT e.id, e.type, e.data, e.meta FROM appends a
      CROSS JOIN events e ON e.position > a.position - a.events AND e.position <= a.position
      WHERE a.stream = ? ORDER BY e.position`);
    return events.all(stream) as EventTexts[];
  } finally {
    database.close();
  }
}

/** The events of each stream of a category in a log file, in order. */
export function streamsIn(file: string, category: string): ReadonlyMap<string, readonly EventTexts[]> {
  const database = new DatabaseSync(file, { returnArrays: true, readOnly: true });
  try {
    const events = database.prepare(`
      SELECT a.stream, e.id, e.type, e.data, e.meta FROM appends a
      CROSS JOIN events e ON e.position > a.position - a.events AND e.position <= a.position
      WHERE a.stream >= ?1 || '-' AND a.stream < ?1 || '.' ORDER BY e.position`);
    const streams = new Map<string, EventTexts[]>();
    for (const [stream, ...event] of events.all(category) as [string, ...EventTexts][]) {
      const found = streams.get(stream);
      if (found === undefined) streams.set(stream, [event]);
      else found.push(event);
    }
    return streams;
  } finally {
    database.close();
  }
}

/** Reads all columns of a log file; returns their characters. */
export function readAll(file: string): number {
  const database = new DatabaseSync(file, { returnArrays: true, readOnly: true });
  const statement = database.prepare(
    `SELECT a.stream, e.id, e.type, e.data, e.meta FROM appends a
     CROSS JOIN events e ON e.position > a.position - a.events AND e.position <= a.position ORDER BY a.position, e.position`,
  );
  let characters = 0;
  for (const row of iterate<string[]>(database, statement)) for (const text of row) characters += text.length;
  database.close();
  return characters;
}

/** Appends events in batches of the server's size. */
export function appendAll(log: BareLog, stream: string, events: readonly EventTexts[]): void {
  for (let at = 0; at < events.length; at += BATCH) log.append(stream, events.slice(at, at + BATCH));
}

const BATCH = 499;

/** Appends events of many streams to a new log, `together` streams in one transaction; returns the milliseconds. */
export function appendStreams(
  file: string,
  streams: readonly (readonly [stream: string, events: readonly EventTexts[]])[],
  together: number,
): number {
  const log = new BareLog(file);
  try {
    const start = performance.now();
    for (let at = 0; at < streams.length; at += together)
      log.appendTogether(streams.slice(at, at + together));
    return performance.now() - start;
  } finally {
    log.close();
  }
}
