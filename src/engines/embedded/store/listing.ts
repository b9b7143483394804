import { type Found } from '../../../kernel/query';
import { documentOf, VERSION } from './documents';
import { type Sql } from './sql';
import { type SqlRow, type StoreFile } from './store-file';

/** Documents per batch: few enough to be collected as short-lived garbage. */
const BATCH = 100;
/** Documents copied per statement. */
const COPY_BATCH = 500;

/** Documents in the order of a query, read in the current transaction, or from a copy that outlasts it. */
export class Listing {
  /** Rows of id, version and row number. */
  private readonly keys: Generator<SqlRow, undefined>;
  /** Rows of id, version and body, if copied. */
  private copied: Generator<SqlRow, undefined> | undefined;

  /** `query` selects id, version and row number; `table` is the name of the temporary table for the copy. */
  constructor(
    private readonly file: StoreFile,
    query: Sql,
    private readonly table: string,
  ) {
    this.keys = file.each(query.text, ...query.values);
  }

  /** The next documents; undefined after the last ones. */
  next(): readonly Found[] | undefined {
    const rows = take(this.copied ?? this.keys, BATCH);
    if (rows.length === 0) return undefined;
    return this.copied === undefined ? withBodies(this.file, rows) : rows.map(documentOf);
  }

  /** Copies the rest in steps. After the last step, the transaction may end. */
  *copy(): Generator<undefined> {
    const { file, keys, table } = this;
    file.execute(`CREATE TEMP TABLE ${table} (n INTEGER PRIMARY KEY, id TEXT, version TEXT, body TEXT)`);
    for (let rows = take(keys, COPY_BATCH); rows.length > 0; rows = take(keys, COPY_BATCH)) {
      file.run(
        `INSERT INTO ${table} (id, version, body)
         SELECT k.id, ${VERSION}, b.body FROM json_each(?) j CROSS JOIN keys k ON k.row = j.value CROSS JOIN bodies b USING (row)`,
        JSON.stringify(rows.map(([, , row]) => row)),
      );
      yield;
    }
    this.copied = file.each(`SELECT id, version, body FROM ${table} ORDER BY n`);
  }

  end(): void {
    this.keys.return(undefined);
    this.copied?.return(undefined);
  }
}

function take(rows: Generator<SqlRow, undefined>, most: number): readonly SqlRow[] {
  const next: SqlRow[] = [];
  while (next.length < most) {
    const { done, value } = rows.next();
    if (done === true) break;
    next.push(value);
  }
  return next;
}

/** Documents from rows of id, version and row number. */
function withBodies(file: StoreFile, keys: readonly SqlRow[]): readonly Found[] {
  const bodies = file.all(
    'SELECT b.row, b.body FROM json_each(?) j CROSS JOIN bodies b ON b.row = j.value',
    JSON.stringify(keys.map(([, , row]) => row)),
  );
  const byRow = new Map(bodies.map(([row, body]) => [row, body]));
  return keys.map(([id = null, version = null, row]) => documentOf([id, version, byRow.get(row) ?? null]));
}
