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

/** Raised with every change of the tables below, of tokens and of digests: files of another one are made again. */
export const LAYOUT_VERSION = 1;

/**
 * How a collection lies in its file:
 * - `keys`: what is sorted, grouped and compared by, kept narrow; `bodies`: the rest, by the same row number;
 * - `tokens`: one inverted index of all words and exact values;
 * - `partitions`: each partition value has a slot, 2^32 row numbers that follow one another: a query that
 *   names partitions touches only their part of every table and list.
 */
export const SLOT = 2 ** 32;

const PREPARED = `
  CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT;
  CREATE TABLE bodies (row INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
  CREATE TABLE removed (id TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID, STRICT;
  CREATE TABLE partitions (value INTEGER PRIMARY KEY, slot INTEGER NOT NULL UNIQUE,
    last INTEGER NOT NULL, documents INTEGER NOT NULL) STRICT;
  CREATE VIRTUAL TABLE tokens USING fts5 (t, content = '', contentless_delete = 1, detail = none,
    tokenize = "${TOKENIZER}");`;

/** A document as it lies in the tables. */
export interface Row {
  /** The value of its partition. */
  readonly partition: number;
  /** Of the columns, in their order. */
  readonly values: readonly SqlValue[];
  /** The text that is indexed; empty when there is nothing to find it by. */
  readonly tokens: string;
}

/** The partition of everything where a collection has none. */
const WHOLE = 0;

interface CodedField extends Field {
  /** First character(s) of its tokens. */
  readonly code: string;
}

/** A collection's declaration, read as tables. */
export class Layout {
  readonly partition: string | undefined;
  readonly sorts: readonly string[];
  /** Fields that have a column in `keys`, in the order of the columns. */
  readonly columns: readonly CodedField[];
  private readonly declaration: Declaration;
  private readonly fields: readonly CodedField[];

  constructor(spec: CollectionSpec) {
    this.declaration = new Declaration(spec);
    this.fields = [...this.declaration.fields.values()].map((field) => this.coded(field));
    this.columns = this.fields.filter(({ type }) => type === 'number' || type === 'column');
    this.partition = spec.partition;
    this.sorts = spec.sorts ?? [];
  }

  /** The declared field of this name, which has to be of one of these types. */
  field(name: string, ...types: readonly FieldType[]): CodedField {
    return this.coded(this.declaration.field(name, ...types));
  }

  private coded(field: Field): CodedField {
    const width = this.declaration.fields.size <= 36 ? 1 : 2;
    return { ...field, code: field.index.toString(36).padStart(width, '0') };
  }

  /** The tables, empty. */
  tables(): string {
    const columns = this.columns.map(
      ({ name, type }) => `, ${column(name)} ${type === 'number' ? 'INTEGER' : 'TEXT'}`,
    );
    return `${PREPARED}
      CREATE TABLE keys (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL,
        digest TEXT NOT NULL${columns.join('')}) STRICT;`;
  }

  /** A statement for each index that listings are read from: in the order of a sort field within each partition. */
  indexes(): readonly string[] {
    const first = this.partition === undefined ? '' : `${column(this.partition)}, `;
    return this.sorts.map(
      (name) => `CREATE INDEX IF NOT EXISTS ${sortIndex(name)} ON keys (${first}${column(name)}, id);`,
    );
  }

  /**
   * What is written of a document; `UndeclaredField` where it is not as declared. Its partition is a token too, for
   * filters that combine it with others.
   */
  row({ id, fields }: Document): Row {
    checkId(id);
    const values: SqlValue[] = [];
    let tokens = '';
    let known = 0;
    for (const { name, type, code } of this.fields) {
      const value = fields[name];
      if (type === 'number' || type === 'column') values.push(isScalar(value) ? value : null);
      if (value === undefined) continue;
      if (!isOf(type, value)) throw undeclared(name, id, type);
      known += 1;
      if (type === 'number' && name !== this.partition) continue;
      tokens += tokensOf(code, typeof value === 'object' ? value : [String(value)]);
    }
    const names = Object.keys(fields);
    if (names.length > known)
      throw undeclared(names.find((name) => !this.declaration.fields.has(name)) ?? '', id);
    return { partition: this.partitionOf(fields, id), values, tokens };
  }

  private partitionOf(fields: Document['fields'], id: string): number {
    if (this.partition === undefined) return WHOLE;
    const partition = fields[this.partition];
    if (typeof partition !== 'number') throw new UndeclaredField(`${this.partition} of ${id} is missing`);
    return partition;
  }
}

/** The column of a field, quoted: set apart from the columns that every collection has. */
export function column(field: string): string {
  return `"f_${field.replaceAll('"', '""')}"`;
}

export function sortIndex(field: string): string {
  return `"by_${field.replaceAll('"', '""')}"`;
}

function isScalar(value: FieldValue | undefined): value is string | number {
  return typeof value === 'number' || typeof value === 'string';
}

function undeclared(name: string, id: string, type?: FieldType): UndeclaredField {
  return new UndeclaredField(`${name} of ${id} is not as declared: ${type ?? 'no such field'}`);
}
