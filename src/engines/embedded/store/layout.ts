import { hash } from 'node:crypto';
import {
  type CollectionSpec,
  type Document,
  type FieldType,
  type FieldValue,
  MAX_COUNTED,
  UndeclaredField,
} from '../../../kernel/read-store';
import { checkId, Declaration, type DeclaredField, isOf } from '../../validation';
import { type Schema } from '../search/segment';
import { type SqlValue } from './store-file';

/**
 * The search index contains tokens: a field's code followed by a word or by a whole value. So words and exact values
 * are found, combined and counted in the same way. The tokens of a document are one text, each preceded by a line
 * feed, which is cheap to send to another thread.
 */

const SEPARATOR = '\n';
/** The start of values that are hashed: a control character, so that they are not counted as values. */
const HASHED = '\u0001';

/** What the tokens of a field begin with, and how many UTF-16 units of a value they have: longer ones are hashed. */
export interface Tokenized {
  readonly code: string;
  readonly longest: number;
}

/** The token of a value. Different values have different tokens; long ones are hashed (160 bits). */
export function tokenOf({ code, longest }: Tokenized, value: string): string {
  return (
    code + (isPlain(value, longest) ? value : HASHED + hash('sha1', value.toWellFormed())).toWellFormed()
  );
}

function isPlain(value: string, longest: number): boolean {
  return value.length <= longest && !value.includes(SEPARATOR) && !value.startsWith(HASHED);
}

/** The text of the tokens of a field's values. */
function tokensOf(field: Tokenized, values: readonly string[]): string {
  if (values.length === 0) return '';
  const { code, longest } = field;
  const before = SEPARATOR + code;
  // Values rarely need hashing.
  if (values.every((value) => isPlain(value, longest))) return before + values.join(before).toWellFormed();
  return SEPARATOR + values.map((value) => tokenOf(field, value)).join(SEPARATOR);
}

/**
 * Increment it with every change of the tables below, of tokens, of digests or of the search index: a store of another
 * version is in another folder (`layoutFolder`), and is built anew.
 */
export const LAYOUT_VERSION = 10;

/**
 * The tables of a collection:
 * - `keys`: narrow rows, with the texts to sort by; `bodies`: the rest, with the same row number;
 * - `blobs`: the search index (`../search`), which finds row numbers by words, values and numbers;
 * - `groups`: the number that stands for a value of a `column` field in the index;
 * - `partitions`: each partition value has a slot of 2^32 consecutive row numbers, so that a query for some partitions
 *   reads only their part of every table.
 */
export const SLOT = 2 ** 32;

const TABLES = `
  CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT;
  CREATE TABLE bodies (row INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
  CREATE TABLE removed (id TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID, STRICT;
  CREATE TABLE partitions (value INTEGER PRIMARY KEY, slot INTEGER NOT NULL UNIQUE, last INTEGER NOT NULL) STRICT;
  CREATE TABLE blobs (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL) STRICT;
  CREATE TABLE groups (number INTEGER PRIMARY KEY, field INTEGER NOT NULL, value TEXT NOT NULL,
    UNIQUE (field, value)) STRICT;`;

/** A document as stored. Can be sent to another thread. */
export interface DocumentRow {
  readonly partition: number;
  /** The texts to sort by, in the order of the columns of `keys`. */
  readonly texts: readonly SqlValue[];
  /** The values of the `number` fields, in order; NaN is missing. */
  readonly numbers: readonly number[];
  /** The values of the `column` fields, in order. */
  readonly values: readonly (string | undefined)[];
  /** The tokens, as one text. */
  readonly tokens: string;
}

/** The only partition of a collection that declares none. */
const SINGLE_PARTITION = 0;

/** Of values that are neither words nor counted. */
const MAX_LENGTH = 64;

interface CodedField extends DeclaredField {
  /** First character(s) of its tokens. */
  readonly code: string;
  /** Longer values, in UTF-16 units, are hashed. */
  readonly longest: number;
}

/**
 * Maps a collection's declaration to tables and to the search index. The index has the numbers, and those of groups, as
 * columns. Its default order is the first sort field, greatest first.
 */
export class Layout {
  readonly partition: string | undefined;
  readonly sorts: readonly string[];
  /** The schema of the search index. */
  readonly schema: Schema;
  /** Fields by how they are stored, in the order of the declaration. */
  readonly numbers: readonly CodedField[];
  readonly groups: readonly CodedField[];
  readonly texts: readonly CodedField[];
  private readonly declaration: Declaration;
  private readonly fields: readonly CodedField[];
  private readonly codes: ReadonlyMap<string, CodedField>;

  constructor(spec: CollectionSpec) {
    this.declaration = new Declaration(spec);
    const all = [...this.declaration.fields.values()];
    this.codes = new Map(all.map((field) => [field.name, this.coded(field)]));
    this.fields = [...this.codes.values()];
    const those = (wanted: FieldType): CodedField[] => this.fields.filter(({ type }) => type === wanted);
    this.numbers = those('number');
    this.groups = those('column');
    this.texts = those('text');
    this.partition = spec.partition;
    this.sorts = spec.sorts ?? [];
    const [first, ...orders] = this.sorts;
    const groups = namesOf(this.groups);
    const partition = this.fields.find((field) => field.name === spec.partition && this.hasTokens(field));
    this.schema = {
      columns: [...namesOf(this.numbers), ...groups],
      ...(first === undefined ? {} : { defaultOrder: { column: first, descending: true } }),
      orders,
      groups,
      ...(partition && { partitionToken: (value) => tokenOf(partition, String(value)) }),
    };
  }

  /** The declared field with this name and one of these types. */
  field(name: string, ...types: readonly FieldType[]): CodedField {
    return this.codedAs(this.declaration.field(name, ...types));
  }

  private codedAs(field: DeclaredField): CodedField {
    return this.codes.get(field.name) ?? this.coded(field);
  }

  private coded(field: DeclaredField): CodedField {
    const width = this.declaration.fields.size <= 36 ? 1 : 2;
    return {
      ...field,
      code: field.index.toString(36).padStart(width, '0'),
      longest: field.type === 'words' || this.declaration.isFacet(field.name) ? MAX_COUNTED : MAX_LENGTH,
    };
  }

  /** The declared field with this name whose values are counted. */
  facet(name: string): CodedField {
    return this.codedAs(this.declaration.facet(name));
  }

  /** Statements that create the tables. */
  tables(): string {
    // As bytes: the driver would cut a text at a U+0000.
    const texts = this.texts.map(({ name }) => `, ${column(name)} BLOB`);
    return `${TABLES}
      CREATE TABLE keys (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL,
        digest TEXT NOT NULL${texts.join('')}) STRICT;`;
  }

  /**
   * Whether values of a field are found by their tokens: all but numbers that documents are sorted by, and texts. The
   * partition has tokens too, for filters that combine it with others.
   */
  hasTokens({ name, type }: DeclaredField): boolean {
    return type === 'number' ? !this.sorts.includes(name) : type !== 'text';
  }

  /** The row of a document. Raises `UndeclaredField`. */
  row({ id, fields }: Document): DocumentRow {
    checkId(id);
    let tokens = '';
    let declared = 0;
    for (const field of this.fields) {
      const { name, type } = field;
      const value = fields[name];
      if (value === undefined) continue;
      if (!isOf(type, value)) throw undeclared(name, id, type);
      declared += 1;
      if (this.hasTokens(field))
        tokens += tokensOf(field, typeof value === 'object' ? value : [String(value)]);
    }
    const names = Object.keys(fields);
    if (names.length > declared)
      throw undeclared(names.find((name) => !this.declaration.fields.has(name)) ?? '', id);
    return {
      partition: this.partitionOf(fields, id),
      texts: this.texts.map(({ name }) => bytesOf(fields[name])),
      numbers: this.numbers.map(({ name }) => Number(fields[name] ?? NaN)),
      values: this.groups.map(({ name }) => textOf(fields[name])),
      tokens,
    };
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

function namesOf(fields: readonly DeclaredField[]): readonly string[] {
  return fields.map(({ name }) => name);
}

const UTF8 = new TextEncoder();

function bytesOf(value: FieldValue | undefined): SqlValue {
  return typeof value === 'string' ? UTF8.encode(value) : null;
}

function textOf(value: FieldValue | undefined): string | undefined {
  return typeof value === 'string' ? value.toWellFormed() : undefined;
}

function undeclared(name: string, id: string, type?: FieldType): UndeclaredField {
  return new UndeclaredField(`${name} of ${id} is not as declared: ${type ?? 'no such field'}`);
}
