import {
  type CollectionSpec,
  type Document,
  type FieldType,
  type FieldValue,
  UndeclaredField,
} from '../../../kernel/read-store';
import { checkId, Declaration, type Field, isOf } from '../../declaration';
import { type SqlValue } from './store-file';
import { TOKENIZER, tokensOf } from './tokens';

/**
 * Increment it with every change of the tables below, of tokens or of digests: files of another version are rebuilt.
 */
export const LAYOUT_VERSION = 1;

/**
 * The tables of a collection:
 * - `keys`: narrow rows for sorting, grouping and comparing; `bodies`: the rest, with the same row number;
 * - `tokens`: one inverted index of all words and exact values;
 * - `partitions`: each partition value has a slot of 2^32 consecutive row numbers, so that a query for some partitions
 *   reads
 *   only their part of every table and index.
 */
export const SLOT = 2 ** 32;

const TABLES = `
  CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT;
  CREATE TABLE bodies (row INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
  CREATE TABLE removed (id TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID, STRICT;
  CREATE TABLE partitions (value INTEGER PRIMARY KEY, slot INTEGER NOT NULL UNIQUE,
    last INTEGER NOT NULL, documents INTEGER NOT NULL) STRICT;
  CREATE VIRTUAL TABLE tokens USING fts5 (t, content = '', contentless_delete = 1, detail = none,
    tokenize = "${TOKENIZER}");`;

/** A document as stored in the tables. */
export interface DocumentRow {
  readonly partition: number;
  /** The values of the columns, in order. */
  readonly values: readonly SqlValue[];
  /** The text to index; empty if there is nothing to search for. */
  readonly tokens: string;
}

/** The only partition of a collection that declares none. */
const SINGLE_PARTITION = 0;

interface CodedField extends Field {
  /** First character(s) of its tokens. */
  readonly code: string;
}

/** Maps a collection's declaration to tables. */
export class Layout {
  readonly partition: string | undefined;
  readonly sorts: readonly string[];
  /** The fields with a column in `keys`, in the order of the columns. */
  readonly columns: readonly CodedField[];
  private readonly declaration: Declaration;
  private readonly fields: readonly CodedField[];

  constructor(spec: CollectionSpec) {
    this.declaration = new Declaration(spec);
    this.fields = [...this.declaration.fields.values()].map((field) => this.coded(field));
    this.columns = this.fields.filter(({ type }) => hasColumn(type));
    this.partition = spec.partition;
    this.sorts = spec.sorts ?? [];
  }

  /** The declared field with this name and one of these types. */
  field(name: string, ...types: readonly FieldType[]): CodedField {
    return this.coded(this.declaration.field(name, ...types));
  }

  private coded(field: Field): CodedField {
    const width = this.declaration.fields.size <= 36 ? 1 : 2;
    return { ...field, code: field.index.toString(36).padStart(width, '0') };
  }

  /** Statements that create the tables. */
  tables(): string {
    const columns = this.columns.map(({ name, type }) => `, ${column(name)} ${SQL_TYPES[type] ?? 'TEXT'}`);
    return `${TABLES}
      CREATE TABLE keys (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL,
        digest TEXT NOT NULL${columns.join('')}) STRICT;`;
  }

  /** Statements that create the indexes for listings: each by a sort field within the partitions. */
  indexes(): readonly string[] {
    const first = this.partition === undefined ? '' : `${column(this.partition)}, `;
    return this.sorts.map(
      (name) => `CREATE INDEX IF NOT EXISTS ${sortIndex(name)} ON keys (${first}${column(name)}, id);`,
    );
  }

  /**
   * The row of a document. Raises `UndeclaredField`. The partition is indexed as a token too, for filters that combine
   * it with others.
   */
  row({ id, fields }: Document): DocumentRow {
    checkId(id);
    const values: SqlValue[] = [];
    let tokens = '';
    let declared = 0;
    for (const { name, type, code } of this.fields) {
      const value = fields[name];
      if (hasColumn(type)) values.push(sqlValueOf(type, value));
      if (value === undefined) continue;
      if (!isOf(type, value)) throw undeclared(name, id, type);
      declared += 1;
      if (type === 'text' || (type === 'number' && name !== this.partition)) continue;
      tokens += tokensOf(code, typeof value === 'object' ? value : [String(value)]);
    }
    const names = Object.keys(fields);
    if (names.length > declared)
      throw undeclared(names.find((name) => !this.declaration.fields.has(name)) ?? '', id);
    return { partition: this.partitionOf(fields, id), values, tokens };
  }

  private partitionOf(fields: Document['fields'], id: string): number {
    if (this.partition === undefined) return SINGLE_PARTITION;
    const partition = fields[this.partition];
    if (typeof partition !== 'number') throw new UndeclaredField(`${this.partition} of ${id} is missing`);
    return partition;
  }
}

/** The quoted column of a field, with a prefix to avoid clashes with the columns of every collection. */
export function column(field: string): string {
  return `"f_${field.replaceAll('"', '""')}"`;
}

export function sortIndex(field: string): string {
  return `"by_${field.replaceAll('"', '""')}"`;
}

/** Whether fields of a type are columns of `keys`. */
function hasColumn(type: FieldType): boolean {
  return type === 'number' || type === 'column' || type === 'text';
}

/** Texts as bytes: the driver would cut one at a U+0000. */
const SQL_TYPES: Readonly<Partial<Record<FieldType, string>>> = { number: 'INTEGER', text: 'BLOB' };

const UTF8 = new TextEncoder();

function sqlValueOf(type: FieldType, value: FieldValue | undefined): SqlValue {
  if (type === 'text' && typeof value === 'string') return UTF8.encode(value);
  return typeof value === 'number' || typeof value === 'string' ? value : null;
}

function undeclared(name: string, id: string, type?: FieldType): UndeclaredField {
  return new UndeclaredField(`${name} of ${id} is not as declared: ${type ?? 'no such field'}`);
}
