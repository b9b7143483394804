import { type Found } from '../../../kernel/query';
import { documentOf, VERSION } from './bodies';
import { type Sql } from './sql';
import { type SqlRow, type StoreFile } from './store-file';

/** Documents of a batch: looked up together, and few enough to be garbage before it is worth while to keep them. */
const BATCH = 100;
/** Documents copied by one statement. */
const COPIED = 500;

/** Documents in the order of a query, looked up in the transaction under way, or copied to outlast it. */
export class Listing {
  /** Id, version and row number of each. */
  private readonly keys: Generator<SqlRow, undefined>;
  /** Id, version and body of what has been copied. */
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

  /** Copies what is left, in steps. When all steps are done, the transaction may end. */
  *copy(): Generator<undefined> {
    const { file, keys, table } = this;
    file.execute(`CREATE TEMP TABLE ${table} (n INTEGER PRIMARY KEY, id TEXT, version TEXT, body TEXT)`);
    for (let rows = take(keys, COPIED); rows.length > 0; rows = take(keys, COPIED)) {
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

/** The next rows, at most so many. */
function take(rows: Generator<SqlRow, undefined>, most: number): readonly SqlRow[] {
  const taken: SqlRow[] = [];
  while (taken.length < most) {
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
