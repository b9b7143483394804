import { hash } from 'node:crypto';
import { type Position } from '../../../kernel/event';
import { type Write } from '../../../kernel/read-store';
import { type GenerationFile } from './generation-file';
import { type IndexedDocument } from '../search/segment';
import { type PartitionChange } from '../search/manifest';
import { writeBytes } from '../search/bytes';
import { type DeclaredField } from '../../validation';
import { removalsOf, VERSION } from './search';
import { column, type DocumentRow, type Layout, SLOT } from './layout';
import { type SqlRow, type SqlValue, type StoreFile } from './store-file';

/** A write that is validated and ready for the tables; without `put` a removal. Can be sent to another thread. */
export interface PreparedWrite {
  readonly id: string;
  readonly version: Position;
  /** The removal is not remembered. */
  readonly forget?: true;
  readonly put?: { readonly row: DocumentRow; readonly body: string };
}

/** Raises `UndeclaredField`. */
export function prepareWrites(layout: Layout, writes: readonly Write[]): readonly PreparedWrite[] {
  return writes.map((write) => {
    const { version } = write;
    if ('remove' in write)
      return { id: write.remove, version, ...(write.forget === true ? { forget: true } : {}) };
    return { id: write.put.id, version, put: { row: layout.row(write.put), body: write.put.body } };
  });
}

/**
 * Writes a batch with its checkpoint in one transaction. A checkpoint by itself is one statement: most batches concern
 * few collections.
 */
export function writeBatch(
  generation: GenerationFile,
  writes: readonly PreparedWrite[],
  checkpoint: Position | undefined,
): void {
  if (writes.length === 0) {
    if (checkpoint !== undefined) generation.recordFact('checkpoint', checkpoint);
    return;
  }
  generation.writing(() => {
    new Batch(generation).write(writes);
    if (checkpoint !== undefined) generation.recordFact('checkpoint', checkpoint);
  });
}

/** The stored state of a document before the batch, or of its removal, which has no `at`. */
interface KnownState {
  readonly version: Position;
  readonly at?: { readonly row: number; readonly digest: string };
}

interface Partition {
  readonly slot: number;
  last: number;
}

const REMEMBER = 'INSERT OR REPLACE INTO removed VALUES (?, CAST(? AS INTEGER))';
const FORGET = 'DELETE FROM removed WHERE id = ?';

/** What becomes of the index of one partition. */
interface IndexChange extends PartitionChange {
  readonly joining: PartitionChange['joining'][number][];
  readonly deleted: string[];
  readonly added: IndexedDocument[];
}

/** Reads all states at once, then writes table by table, for locality of pages. */
class Batch {
  private readonly file: StoreFile;
  private readonly layout: Layout;
  private readonly partitions = new Map<number, Partition>();
  private readonly changes = new Map<number, IndexChange>();
  private readonly insert: string;
  private readonly update: string;

  constructor(private readonly generation: GenerationFile) {
    const { file, layout } = generation;
    this.file = file;
    this.layout = layout;
    const columns = layout.texts.map(({ name }) => column(name));
    const set = ['version = CAST(? AS INTEGER)', 'digest = ?', ...columns.map((name) => `${name} = ?`)];
    this.insert = `INSERT INTO keys VALUES (?, ?, CAST(? AS INTEGER), ?${', ?'.repeat(columns.length)})`;
    this.update = `UPDATE keys SET ${set.join(', ')} WHERE row = ?`;
  }

  write(writes: readonly PreparedWrite[]): void {
    const texts = new TokenTexts(writes.length);
    const stored = this.storedStates(writes);
    const bodies: [sql: string, ...values: SqlValue[]][] = [];
    const indexed: Indexed[] = [];
    for (const { id, version, forget, put } of newest(writes, stored).values()) {
      const before = stored.get(id);
      if (put === undefined) {
        if (before?.at !== undefined) this.removeRow(id, before.at);
        if (forget !== true) this.file.run(REMEMBER, id, version);
        else if (before !== undefined && before.at === undefined) this.file.run(FORGET, id);
        continue;
      }
      const { body, row: document } = put;
      const target = this.partition(document.partition);
      const { tokens, digest } = texts.add(document);
      const { at } = before ?? {};
      if (at !== undefined && Math.floor(at.row / SLOT) === target.slot) {
        this.file.run(this.update, version, digest, ...document.texts, at.row);
        bodies.push(['UPDATE bodies SET body = ?2 WHERE row = ?1', at.row, body]);
        if (digest === at.digest) continue;
        this.changeOf(document.partition).deleted.push(id.toWellFormed());
        indexed.push({ id, row: at.row, document, tokens });
        continue;
      }
      if (at !== undefined) this.removeRow(id, at);
      else if (before !== undefined) this.file.run(FORGET, id);
      target.last += 1;
      const row = target.slot * SLOT + target.last;
      this.file.run(this.insert, row, id, version, digest, ...document.texts);
      bodies.push(['INSERT INTO bodies VALUES (?, ?)', row, body]);
      indexed.push({ id, row, document, tokens });
    }
    for (const [sql, ...values] of bodies) this.file.run(sql, ...values);
    for (const [value, { last }] of this.partitions)
      this.file.run('UPDATE partitions SET last = ? WHERE value = ?', last, value);
    this.addToIndex(indexed);
    this.generation.writeToIndex([...this.changes.values()]);
  }

  private changeOf(partition: number): IndexChange {
    let change = this.changes.get(partition);
    if (change === undefined) {
      change = { partition, joining: [], deleted: [], added: [] };
      this.changes.set(partition, change);
    }
    return change;
  }

  private addToIndex(indexed: readonly Indexed[]): void {
    const groups = this.layout.groups.map((field, at) => this.groupsOf(field, at, indexed));
    for (const [position, { id, row, document, tokens }] of indexed.entries()) {
      const numbers = document.numbers.slice();
      for (const ofField of groups) numbers.push(ofField[position] ?? NaN);
      this.changeOf(document.partition).added.push({ id: id.toWellFormed(), row, tokens, numbers });
    }
  }

  /**
   * The number of each document's value of a field; NaN is none, and a negative one stands for the document's own id,
   * if no other document has that as its value.
   */
  private groupsOf({ index, name }: DeclaredField, at: number, indexed: readonly Indexed[]): Float64Array {
    const { groups } = this.generation;
    const numbers = new Map<string, number>();
    const own: string[] = [];
    for (const { id, document } of indexed) {
      const value = document.values[at];
      if (value === id) own.push(value);
      else if (value !== undefined) numbers.set(value, groups.get(index, value) ?? NaN);
    }
    const find = (values: readonly string[]): void => {
      for (const [number, key] of this.file.all(GROUPS, index, JSON.stringify(values)))
        numbers.set(values[Number(key)] ?? '', Number(number));
    };
    const unnumbered = (): readonly string[] =>
      [...numbers.keys()].filter((value) => Number.isNaN(numbers.get(value)));
    const unknown = unnumbered();
    if (unknown.length > 0) {
      find(unknown);
      for (const value of unknown) groups.note(index, value, numbers.get(value) ?? NaN);
      const missing = unnumbered();
      if (missing.length > 0) {
        const array = JSON.stringify(missing);
        this.file.run('INSERT INTO groups (field, value) SELECT ?, value FROM json_each(?)', index, array);
        find(missing);
        this.join(name, array, numbers);
      }
    }
    if (
      own.length > 0 &&
      this.file.first('SELECT 1 FROM groups WHERE field = ? LIMIT 1', index) !== undefined
    )
      find(own);
    const found = new Float64Array(indexed.length).fill(NaN);
    for (const [place, { document }] of indexed.entries()) {
      const value = document.values[at];
      if (value !== undefined) found[place] = numbers.get(value) ?? -1;
    }
    return found;
  }

  /** Documents whose ids are new values of a field may have been groups of their own until now. */
  private join(column: string, values: string, numbers: ReadonlyMap<string, number>): void {
    const query = 'SELECT k.id, k.row FROM json_each(?) j CROSS JOIN keys k ON k.id = j.value';
    for (const [id, row] of this.file.all(query, values) as readonly [string, number][])
      this.changeOf(this.partitionOf(row)).joining.push({ id, column, number: numbers.get(id) ?? NaN });
  }

  /** The stored states of the documents in a batch. */
  private storedStates(writes: readonly PreparedWrite[]): ReadonlyMap<string, KnownState> {
    const ids = writes.map(({ id }) => id);
    const states = new Map<string, KnownState>();
    for (const [id, version] of removalsOf(this.file, ids)) states.set(id, { version });
    const rows = this.file.all(
      `SELECT k.id, ${VERSION}, row, digest FROM json_each(?) CROSS JOIN keys k ON k.id = value`,
      JSON.stringify(ids),
    ) as readonly [string, Position, number, string][];
    for (const [id, version, row, digest] of rows) states.set(id, { version, at: { row, digest } });
    return states;
  }

  private removeRow(id: string, { row }: { readonly row: number }): void {
    this.file.run('DELETE FROM keys WHERE row = ?', row);
    this.file.run('DELETE FROM bodies WHERE row = ?', row);
    this.changeOf(this.partitionOf(row)).deleted.push(id.toWellFormed());
  }

  private partitionOf(row: number): number {
    const slot = Math.floor(row / SLOT);
    const [value] = this.file.first('SELECT value FROM partitions WHERE slot = ?', slot) as [number];
    return value;
  }

  private partition(value: number): Partition {
    let partition = this.partitions.get(value);
    if (partition === undefined) {
      const stored = (): SqlRow | undefined =>
        this.file.first('SELECT slot, last FROM partitions WHERE value = ?', value);
      let row = stored();
      if (row === undefined) {
        this.file.run(
          'INSERT INTO partitions SELECT ?, coalesce(max(slot) + 1, 0), 0 FROM partitions',
          value,
        );
        row = stored();
      }
      const [slot, last] = row as [number, number];
      partition = { slot, last };
      this.partitions.set(value, partition);
    }
    return partition;
  }
}

/** The newest write of each document, unless the stored version is newer. */
function newest(
  writes: readonly PreparedWrite[],
  stored: ReadonlyMap<string, KnownState>,
): ReadonlyMap<string, PreparedWrite> {
  const newestById = new Map<string, PreparedWrite>();
  for (const write of writes) {
    const { version } = newestById.get(write.id) ?? stored.get(write.id) ?? write;
    if (write.version >= version) newestById.set(write.id, write);
  }
  return newestById;
}

/** A document that is to be added to the index. */
interface Indexed {
  readonly id: string;
  readonly row: number;
  readonly document: DocumentRow;
  readonly tokens: Uint8Array;
}

/** The numbers of values of a field, each with its position in the array. */
const GROUPS = `
  SELECT number, j.key FROM json_each(?2) j CROSS JOIN groups g ON g.field = ?1 AND g.value = j.value`;

/** Bytes that are allocated at once, at most: of a few documents only what they need. */
const CHUNK = 2 ** 20;

/** The tokens of the documents of a batch as bytes. */
class TokenTexts {
  private chunk = new Uint8Array(0);
  private at = 0;
  /** The numbers of a document. */
  private own = new Float64Array(0);

  /** `left`: how many documents are to be added. */
  constructor(private left: number) {}

  /** The bytes of a document's tokens, and the digest of all that the search index has of it. */
  add({ tokens, numbers }: DocumentRow): { readonly tokens: Uint8Array; readonly digest: string } {
    if (this.own.length !== numbers.length) this.own = new Float64Array(numbers.length);
    this.own.set(numbers);
    const own = new Uint8Array(this.own.buffer);
    const room = tokens.length * 3 + own.length;
    if (this.at + room > this.chunk.length) {
      this.chunk = new Uint8Array(Math.max(room, Math.min(CHUNK, room * this.left)));
      this.at = 0;
    }
    this.left -= 1;
    const text = this.chunk.subarray(this.at);
    const length = writeBytes(tokens, text);
    text.set(own, length);
    this.at += length;
    const digest = hash('sha1', text.subarray(0, length + own.length)).slice(0, 24);
    return { tokens: text.subarray(0, length), digest };
  }
}
