import { setImmediate as turn } from 'node:timers/promises';
import { type Position } from '../../../kernel/event';
import { type Filter, type Found } from '../../../kernel/query';
import { documentOf, VERSION } from './bodies';
import { type GenerationFile } from './generation-file';
import { and, countOf, type Hits, hitsOf, matchingRows, withRanges } from './hits';
import { column } from './layout';
import { raw, sql } from './sql';
import { type SqlRow, type StoreFile } from './store-file';

/** Documents of a batch: looked up together, and few enough to be garbage before it is worth while to keep them. */
const BATCH = 100;
/** Documents copied by one statement. */
const COPIED = 500;
/** For how long (ms) is copied before other work of this thread goes on: the sooner it is done, the less the WAL grows. */
const SLICE_MS = 50;

/**
 * All documents that match, by id, as of the moment it began: one transaction on a connection that is open for this
 * alone. As long as it lasts, the WAL cannot be reused, and grows with whatever is written. So it may be ended early, or
 * made to go on from a copy.
 */
export class Scan {
  readonly checkpoint: Position;
  private readonly file: StoreFile;
  private readonly hits: Hits | undefined;
  /** Id, version and row number of each. */
  private keys: Generator<SqlRow, undefined> | undefined;
  /** Id, version and body of what has been copied. */
  private copied: Generator<SqlRow, undefined> | undefined;
  private copying: Promise<void> | undefined;
  private hasEnded = false;

  /** Begins, with the documents whose ids come after one. */
  constructor(
    private readonly generation: GenerationFile,
    filter: Filter,
    after?: string,
  ) {
    this.file = generation.file;
    this.file.execute('BEGIN');
    this.checkpoint = generation.checkpoint();
    this.hits = hitsOf(generation, filter);
    if (this.hits === undefined) return;
    const { hits } = this;
    const later = and(after === undefined ? undefined : sql`k.id > ${after}`);
    const rows =
      hits.match === undefined && hits.values === undefined
        ? sql`FROM keys k WHERE true${and(hits.where)}`
        : matchingRows(hits, generation.layout);
    const query = sql`${withRanges(hits)} SELECT k.id, ${raw(VERSION)}, k.row ${rows}${later} ORDER BY k.id`;
    this.keys = this.file.each(query.text, ...query.values);
  }

  /** How many match, but for those that come before. */
  count(): number {
    return this.hits === undefined ? 0 : countOf(this.generation, this.hits);
  }

  /** The next documents; undefined after the last ones, and once it has been ended. */
  async next(): Promise<readonly Found[] | undefined> {
    await this.copying;
    const rows = take(this.copied ?? this.keys, BATCH);
    if (rows.length === 0) return undefined;
    return this.copied === undefined ? withBodies(this.file, rows) : rows.map(documentOf);
  }

  /**
   * One document of each value of a field. The first row of each is noted in one pass: to sort all rows by the value
   * would take three times as long.
   */
  *samples(field: string): Generator<readonly Found[]> {
    const { hits, file, generation } = this;
    if (hits === undefined) return;
    const value = raw(`k.${column(generation.layout.field(field, 'column').name)}`);
    file.execute('CREATE TEMP TABLE samples (value TEXT PRIMARY KEY, row INTEGER NOT NULL) WITHOUT ROWID');
    const noted = sql`INSERT OR IGNORE INTO samples ${withRanges(hits)}
      SELECT ${value}, k.row ${matchingRows(hits, generation.layout)} AND ${value} IS NOT NULL`;
    file.run(noted.text, ...noted.values);
    const keys = file.each(
      `SELECT k.id, ${VERSION}, k.row FROM samples CROSS JOIN keys k USING (row) ORDER BY k.row`,
    );
    for (let rows = take(keys, BATCH); rows.length > 0; rows = take(keys, BATCH))
      yield withBodies(file, rows);
  }

  /** Copies what is left into a temporary table and ends the transaction; `next` waits for that. */
  copy(): void {
    this.copying ??= this.copyRest();
    // The next call raises it.
    this.copying.catch(() => undefined);
  }

  /** Ends the transaction, whatever is left. */
  end(): void {
    this.hasEnded = true;
    this.keys?.return(undefined);
    this.copied?.return(undefined);
    this.file.endReading();
  }

  private async copyRest(): Promise<void> {
    const { file, keys } = this;
    file.execute('CREATE TEMP TABLE rest (n INTEGER PRIMARY KEY, id TEXT, version TEXT, body TEXT)');
    let pauseAt = performance.now() + SLICE_MS;
    for (let rows = take(keys, COPIED); rows.length > 0; rows = take(keys, COPIED)) {
      file.run(
        `INSERT INTO rest (id, version, body)
         SELECT k.id, ${VERSION}, b.body FROM json_each(?) j CROSS JOIN keys k ON k.row = j.value CROSS JOIN bodies b USING (row)`,
        JSON.stringify(rows.map(([, , row]) => row)),
      );
      if (performance.now() < pauseAt) continue;
      await turn();
      if (this.hasEnded) return;
      pauseAt = performance.now() + SLICE_MS;
    }
    file.endReading();
    this.copied = file.each('SELECT id, version, body FROM rest ORDER BY n');
  }
}

/** The next rows, at most so many. */
function take(rows: Generator<SqlRow, undefined> | undefined, most: number): readonly SqlRow[] {
  const taken: SqlRow[] = [];
  while (rows !== undefined && taken.length < most) {
    const { done, value } = rows.next();
    if (done === true) break;
    taken.push(value);
  }
  return taken;
}

/** The documents of some rows of id, version and row number. */
function withBodies(file: StoreFile, keys: readonly SqlRow[]): readonly Found[] {
  const bodies = file.all(
    'SELECT b.row, b.body FROM json_each(?) j CROSS JOIN bodies b ON b.row = j.value',
    JSON.stringify(keys.map(([, , row]) => row)),
  );
  const byRow = new Map(bodies.map(([row, body]) => [row, body]));
  return keys.map(([id = null, version = null, row]) => documentOf([id, version, byRow.get(row) ?? null]));
}
