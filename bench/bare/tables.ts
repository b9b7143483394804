import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from '@photostructure/sqlite';
import { GENERATION_PRAGMAS, PAGE_PRAGMA } from '../../src/engines/embedded/store/generation-file';

type Row = readonly (string | number | null | Uint8Array)[];

/** Rows of a read model, ready to insert, in the same order. */
export interface Rows {
  readonly keys: readonly Row[];
  readonly bodies: readonly Row[];
  /** Text for the inverted index. */
  readonly tokens: readonly Row[];
}

/** The rows of keys and bodies in a read store file. */
export function rowsIn(file: string): Omit<Rows, 'tokens'> {
  const database = new DatabaseSync(file, { returnArrays: true, readOnly: true });
  try {
    const all = (table: string): Row[] =>
      database.prepare(`SELECT * FROM ${table} ORDER BY row`).all() as Row[];
    return { keys: all('keys'), bodies: all('bodies') };
  } finally {
    database.close();
  }
}

/**
 * A read model's tables, indexes and FTS5 index, filled with only SQLite: the engine's pragmas, and its schema, copied
 * from a file of the engine.
 */
export class BareTables {
  private readonly database: DatabaseSyncInstance;
  private readonly indexes: readonly string[];
  private readonly key: StatementSyncInstance;
  private readonly body: StatementSyncInstance;
  private readonly token: StatementSyncInstance;

  constructor(file: string, schema: Schema) {
    this.database = new DatabaseSync(file);
    this.database.exec(`
      ${PAGE_PRAGMA}
      ${GENERATION_PRAGMAS}
      ${schema.tables.join(';\n')};
    `);
    this.indexes = schema.indexes;
    const { columns } = this.database
      .prepare(`SELECT count(*) AS columns FROM pragma_table_info('keys')`)
      .get() as {
      columns: number;
    };
    this.key = this.database.prepare(`INSERT INTO keys VALUES (?${', ?'.repeat(columns - 1)})`);
    this.body = this.database.prepare('INSERT INTO bodies VALUES (?, ?)');
    this.token = this.database.prepare('INSERT INTO tokens (rowid, t) VALUES (CAST(? AS INTEGER), ?)');
  }

  /** Creates the indexes of `keys`. */
  createIndexes(): void {
    for (const sql of this.indexes) this.database.exec(sql);
  }

  insert({ keys, bodies, tokens }: Partial<Rows>): void {
    this.database.exec('BEGIN IMMEDIATE');
    for (const row of keys ?? []) this.key.run(...row);
    for (const row of bodies ?? []) this.body.run(...row);
    for (const row of tokens ?? []) this.token.run(...row);
    this.database.exec('COMMIT');
  }

  close(): void {
    this.database.close();
  }
}

/** Statements that create tables and indexes. */
export interface Schema {
  readonly tables: readonly string[];
  readonly indexes: readonly string[];
}

/** The schema of a finished read store file, without the tables that FTS5 creates itself. */
export function schemaOf(file: string): Schema {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const statements = (type: string): string[] => {
      const rows = database
        .prepare(
          `SELECT sql FROM sqlite_schema WHERE type = ? AND sql IS NOT NULL AND name NOT GLOB 'tokens_*'`,
        )
        .all(type) as { sql: string }[];
      return rows.map(({ sql }) => sql);
    };
    return { tables: statements('table'), indexes: statements('index') };
  } finally {
    database.close();
  }
}
