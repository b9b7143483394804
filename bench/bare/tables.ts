import { hash } from 'node:crypto';
import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from '@photostructure/sqlite';
import { GENERATION_PRAGMAS, PAGE_PRAGMA } from '../../src/engines/embedded/store/generation-file';
import { type CollectionSpec, type Document, type FieldType } from '../../src/kernel/read-store';

type Row = readonly (string | number | null | Uint8Array)[];

/** Rows of a read model, ready to insert, in the same order. */
export interface Rows {
  readonly keys: readonly Row[];
  readonly bodies: readonly Row[];
  /** Text for the inverted index. */
  readonly tokens: readonly Row[];
}

const COLUMN_TYPES: Readonly<Partial<Record<FieldType, string>>> = {
  number: 'INTEGER',
  column: 'TEXT',
  text: 'BLOB',
};

/** Token characters: ASCII without capitals, blanks and control characters, and everything beyond ASCII. */
const TOKENIZER = `ascii tokenchars '!#$%&()*+,-./:;<=>?@[\\]^_\`{|}~'`;

/** Characters that the index would fold or take as the end of a token. */
const ESCAPED = /["'A-Z~\u0000-\u0020\u007f]/g;

/** The expression that finds a value of a field, or a word in it. */
export function phrase(spec: CollectionSpec, field: string, value: string): string {
  return `"${tokenOf(Object.keys(spec.fields).indexOf(field), value)}"`;
}

function tokenOf(field: number, value: string): string {
  const escaped =
    value.length > 64
      ? `~~${hash('sha1', value)}`
      : value.replace(ESCAPED, (character) =>
          /[A-Z]/.test(character)
            ? `~${character.toLowerCase()}`
            : `~${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
        );
  return field.toString(36) + escaped;
}

/** The rows of documents, numbered from 1. */
export function rowsOf(spec: CollectionSpec, documents: readonly Document[]): Rows {
  const fields = Object.entries(spec.fields);
  const columns = fields.filter(([, type]) => COLUMN_TYPES[type] !== undefined);
  return {
    keys: documents.map(({ id, fields: values }, at) => [
      at + 1,
      id,
      1,
      ...columns
        .map(([name]) => values[name] ?? null)
        .map((value) => (typeof value === 'object' ? null : value)),
    ]),
    bodies: documents.map(({ body }, at) => [at + 1, body]),
    tokens: documents.map(({ fields: values }, at) => {
      const tokens = fields.flatMap(([name, type], field) => {
        const value = values[name];
        if (value === undefined || type === 'text' || (type === 'number' && name !== spec.partition))
          return [];
        return (typeof value === 'object' ? value : [String(value)]).map((one) => tokenOf(field, one));
      });
      return [at + 1, tokens.join(' ')];
    }),
  };
}

/**
 * A read model with only SQLite: a table of keys with indexes to sort by, bodies, and an FTS5 index of words and
 * values.
 */
export class BareTables {
  private readonly database: DatabaseSyncInstance;
  private readonly spec: CollectionSpec;
  private readonly key: StatementSyncInstance;
  private readonly body: StatementSyncInstance;
  private readonly token: StatementSyncInstance;

  constructor(file: string, spec: CollectionSpec) {
    this.spec = spec;
    this.database = new DatabaseSync(file);
    const columns = Object.entries(spec.fields).flatMap(([name, type]) => {
      const sql = COLUMN_TYPES[type];
      return sql === undefined ? [] : [`, "f_${name}" ${sql}`];
    });
    this.database.exec(`
      ${PAGE_PRAGMA}
      ${GENERATION_PRAGMAS}
      CREATE TABLE keys (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL${columns.join('')});
      CREATE TABLE bodies (row INTEGER PRIMARY KEY, body TEXT NOT NULL);
      CREATE VIRTUAL TABLE tokens USING fts5 (t, content = '', contentless_delete = 1, detail = none,
        tokenize = "${TOKENIZER}");
    `);
    this.key = this.database.prepare(`INSERT INTO keys VALUES (?, ?, ?${', ?'.repeat(columns.length)})`);
    this.body = this.database.prepare('INSERT INTO bodies VALUES (?, ?)');
    this.token = this.database.prepare('INSERT INTO tokens (rowid, t) VALUES (CAST(? AS INTEGER), ?)');
  }

  /** Creates the indexes to sort by. */
  createIndexes(): void {
    const first = this.spec.partition === undefined ? '' : `"f_${this.spec.partition}", `;
    for (const name of this.spec.sorts ?? [])
      this.database.exec(`CREATE INDEX "by_${name}" ON keys (${first}"f_${name}", id)`);
  }

  insert({ keys, bodies, tokens }: Partial<Rows>): void {
    this.database.exec('BEGIN IMMEDIATE');
    for (const row of keys ?? []) this.key.run(...row);
    for (const row of bodies ?? []) this.body.run(...row);
    for (const row of tokens ?? []) this.token.run(...row);
    this.database.exec('COMMIT');
  }

  /** Inserts documents and creates the indexes. */
  fill(documents: readonly Document[]): void {
    for (let from = 0; from < documents.length; from += BATCH) {
      const { keys, bodies, tokens } = rowsOf(this.spec, documents.slice(from, from + BATCH));
      const numbered = (rows: readonly Row[]): Row[] =>
        rows.map(([row, ...others]) => [Number(row) + from, ...others]);
      this.insert({ keys: numbered(keys), bodies: numbered(bodies), tokens: numbered(tokens) });
    }
    this.createIndexes();
  }

  close(): void {
    this.database.close();
  }
}

const BATCH = 1_000;
