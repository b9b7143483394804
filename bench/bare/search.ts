import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from '@photostructure/sqlite';

type Values = readonly (string | number)[];

/** A search in `BareTables`: two statements, for someone who knows the tables. */
export interface BareQuery {
  readonly count: string;
  readonly page: string;
  readonly values: Values;
}

/** Range of row numbers. */
export type Range = readonly [first: number, last: number];

const PAGE = 100;

/** Documents that match an FTS5 expression, ordered by columns of `keys k` as `a`, `b`, ... */
export function byTokens(match: string, range: Range, order: string): BareQuery {
  return query(
    `FROM tokens t CROSS JOIN keys k ON k.row = t.rowid
     WHERE t.tokens MATCH ?1 AND t.rowid BETWEEN ?2 AND ?3 AND k.f_visible = 1`,
    order,
    [match, ...range],
  );
}

/** Documents of a feed in a price range, by price, from the index. */
export function byPrice(feed: number, min: number, max: number): BareQuery {
  return query(
    `FROM keys k INDEXED BY by_price
     WHERE k.f_feedId = ?1 AND k.f_price BETWEEN ?2 AND ?3 AND k.f_visible = 1`,
    'k.f_price',
    [feed, min, max],
  );
}

/** All documents of a feed, newest first, from the index of times. */
export function newest(feed: number): BareQuery {
  return query(`FROM keys k INDEXED BY by_modified WHERE k.f_feedId = ?1 AND k.f_visible = 1`, NEWEST, [
    feed,
  ]);
}

export const NEWEST = 'k.f_modified DESC';

/** First those that match another expression too, then the newest. */
export function relevance(match: string): string {
  return `k.row IN (SELECT m.rowid FROM tokens m WHERE m.tokens MATCH '${match}' AND m.rowid BETWEEN ?2 AND ?3) DESC, ${NEWEST}`;
}

/** Offers grouped by product, groups ordered by their cheapest offer. */
export function grouped(match: string, range: Range): BareQuery {
  const from = `FROM tokens t CROSS JOIN keys k ON k.row = t.rowid
    WHERE t.tokens MATCH ?1 AND t.rowid BETWEEN ?2 AND ?3 AND k.f_visible = 1`;
  return {
    count: `SELECT count(DISTINCT k.f_groupId) ${from}`,
    page: `
      WITH hits AS MATERIALIZED (
        SELECT k.row AS row, k.id AS id, k.version AS version, k.f_groupId AS name, k.f_price AS price ${from}),
      page AS MATERIALIZED (
        SELECT name, min(price) AS least, id AS best FROM hits GROUP BY name ORDER BY least, best LIMIT ${PAGE})
      SELECT h.id, h.version, body FROM page CROSS JOIN hits h ON h.name = page.name CROSS JOIN bodies USING (row)
      ORDER BY least, best, price, h.id`,
    values: [match, ...range],
  };
}

/** Selects the page before reading bodies. */
function query(from: string, order: string, values: Values): BareQuery {
  return {
    count: `SELECT count(*) ${from}`,
    page: `
      WITH page AS MATERIALIZED (
        SELECT k.row AS row, k.id AS id, k.version AS version ${from} ORDER BY ${order}, k.id LIMIT ${PAGE})
      SELECT id, version, body FROM page CROSS JOIN bodies USING (row)`,
    values,
  };
}

/** Searches in `BareTables` with only SQLite. */
export class BareSearch {
  private readonly database: DatabaseSyncInstance;
  private readonly statements = new Map<string, StatementSyncInstance>();

  constructor(file: string) {
    this.database = new DatabaseSync(file, { returnArrays: true, readOnly: true, timeout: 5000 });
  }

  /** Runs both statements on one snapshot and reads all rows of the page; returns the number of matches. */
  run({ count, page, values }: BareQuery): number {
    this.database.exec('BEGIN');
    const [total] = this.prepared(count).get(...values) as [number];
    this.prepared(page).all(...values);
    this.database.exec('COMMIT');
    return total;
  }

  close(): void {
    this.database.close();
  }

  private prepared(sql: string): StatementSyncInstance {
    let statement = this.statements.get(sql);
    if (statement === undefined) {
      statement = this.database.prepare(sql);
      this.statements.set(sql, statement);
    }
    return statement;
  }
}
