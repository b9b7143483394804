import { hash } from 'node:crypto';
import { type Position } from '../../../kernel/event';
import { type Write } from '../../../kernel/read-store';
import { type GenerationFile } from './generation-file';
import { column, type DocumentRow, type Layout, SLOT } from './layout';
import { VERSION } from './documents';
import { type SqlValue, type StoreFile } from './store-file';

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
  generation.file.writing(() => {
    new Batch(generation).write(writes);
    if (checkpoint !== undefined) generation.recordFact('checkpoint', checkpoint);
  });
}

/** The stored state of a document before the batch, or of its removal, which has no `at`. */
interface StoredState {
  readonly version: Position;
  readonly at?: { readonly row: number; readonly digest: string };
}

interface Partition {
  readonly slot: number;
  last: number;
  documents: number;
}

/** The index requires integers, and the driver binds large numbers as floating point. */
const INDEX = 'INSERT INTO tokens (rowid, t) VALUES (CAST(? AS INTEGER), ?)';
const REINDEX = 'INSERT OR REPLACE INTO tokens (rowid, t) VALUES (CAST(? AS INTEGER), ?)';
const UNINDEX = 'DELETE FROM tokens WHERE rowid = CAST(? AS INTEGER)';

const REMEMBER = 'INSERT OR REPLACE INTO removed VALUES (?, CAST(? AS INTEGER))';
const FORGET = 'DELETE FROM removed WHERE id = ?';

/** The digest of documents without tokens, which are not in the token index. */
const NO_TOKENS = '';

/** Reads all states at once, then writes table by table, for locality of pages. */
class Batch {
  private readonly file: StoreFile;
  private readonly partitions = new Map<number, Partition>();
  private readonly insert: string;
  private readonly update: string;

  constructor(generation: GenerationFile) {
    this.file = generation.file;
    const columns = generation.layout.columns.map(({ name }) => column(name));
    const set = ['version = CAST(? AS INTEGER)', 'digest = ?', ...columns.map((name) => `${name} = ?`)];
    this.insert = `INSERT INTO keys VALUES (?, ?, CAST(? AS INTEGER), ?${', ?'.repeat(columns.length)})`;
    this.update = `UPDATE keys SET ${set.join(', ')} WHERE row = ?`;
  }

  write(writes: readonly PreparedWrite[]): void {
    const stored = this.storedStates(writes);
    const bodies: [sql: string, ...values: SqlValue[]][] = [];
    const tokens: [sql: string, row: number, ...values: SqlValue[]][] = [];
    for (const { id, version, forget, put } of newest(writes, stored).values()) {
      const before = stored.get(id);
      if (put === undefined) {
        if (before?.at !== undefined) this.removeRow(before.at);
        if (forget !== true) this.file.run(REMEMBER, id, version);
        else if (before !== undefined && before.at === undefined) this.file.run(FORGET, id);
        continue;
      }
      const {
        body,
        row: { partition, values, tokens: text },
      } = put;
      const target = this.partition(partition);
      const digest = digestOf(text);
      const { at } = before ?? {};
      if (at !== undefined && Math.floor(at.row / SLOT) === target.slot) {
        this.file.run(this.update, version, digest, ...values, at.row);
        bodies.push(['UPDATE bodies SET body = ?2 WHERE row = ?1', at.row, body]);
        if (digest === at.digest) continue;
        tokens.push(digest === NO_TOKENS ? [UNINDEX, at.row] : [REINDEX, at.row, text]);
        continue;
      }
      if (at !== undefined) this.removeRow(at);
      else if (before !== undefined) this.file.run(FORGET, id);
      target.last += 1;
      target.documents += 1;
      const row = target.slot * SLOT + target.last;
      this.file.run(this.insert, row, id, version, digest, ...values);
      bodies.push(['INSERT INTO bodies VALUES (?, ?)', row, body]);
      if (digest !== NO_TOKENS) tokens.push([INDEX, row, text]);
    }
    for (const [sql, ...values] of bodies) this.file.run(sql, ...values);
    // The index flushes whenever a row number is less than the previous one.
    tokens.sort(([, a], [, b]) => a - b);
    for (const [sql, ...values] of tokens) this.file.run(sql, ...values);
    for (const [value, { last, documents }] of this.partitions)
      this.file.run('UPDATE partitions SET last = ?, documents = ? WHERE value = ?', last, documents, value);
  }

  /** The stored states of the documents in a batch. */
  private storedStates(writes: readonly PreparedWrite[]): ReadonlyMap<string, StoredState> {
    const ids = JSON.stringify(writes.map(({ id }) => id));
    const states = new Map<string, StoredState>();
    const removed = this.file.all(
      `SELECT r.id, ${VERSION} FROM json_each(?) CROSS JOIN removed r ON r.id = value`,
      this.file.first('SELECT 1 FROM removed LIMIT 1') === undefined ? '[]' : ids,
    ) as readonly [string, Position][];
    for (const [id, version] of removed) states.set(id, { version });
    const rows = this.file.all(
      `SELECT k.id, ${VERSION}, row, digest FROM json_each(?) CROSS JOIN keys k ON k.id = value`,
      ids,
    ) as readonly [string, Position, number, string][];
    for (const [id, version, row, digest] of rows) states.set(id, { version, at: { row, digest } });
    return states;
  }

  private removeRow({ row, digest }: { readonly row: number; readonly digest: string }): void {
    this.file.run('DELETE FROM keys WHERE row = ?', row);
    this.file.run('DELETE FROM bodies WHERE row = ?', row);
    if (digest !== NO_TOKENS) this.file.run(UNINDEX, row);
    const slot = Math.floor(row / SLOT);
    const [value] = this.file.first('SELECT value FROM partitions WHERE slot = ?', slot) as [number];
    this.partition(value).documents -= 1;
  }

  private partition(value: number): Partition {
    let partition = this.partitions.get(value);
    if (partition === undefined) {
      this.file.run(
        'INSERT OR IGNORE INTO partitions SELECT ?, coalesce(max(slot) + 1, 0), 0, 0 FROM partitions',
        value,
      );
      const row = this.file.first('SELECT slot, last, documents FROM partitions WHERE value = ?', value);
      const [slot, last, documents] = row as [number, number, number];
      partition = { slot, last, documents };
      this.partitions.set(value, partition);
    }
    return partition;
  }
}

/** The newest write of each document, unless the stored version is newer. */
function newest(
  writes: readonly PreparedWrite[],
  stored: ReadonlyMap<string, StoredState>,
): ReadonlyMap<string, PreparedWrite> {
  const newestById = new Map<string, PreparedWrite>();
  for (const write of writes) {
    const { version } = newestById.get(write.id) ?? stored.get(write.id) ?? write;
    if (write.version >= version) newestById.set(write.id, write);
  }
  return newestById;
}

function digestOf(tokens: string): string {
  return tokens === '' ? NO_TOKENS : hash('sha1', tokens).slice(0, 24);
}
