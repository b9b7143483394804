import { hash } from 'node:crypto';
import { type Position } from '../../../kernel/event';
import { type Write } from '../../../kernel/read-store';
import { type GenerationFile } from './generation-file';
import { column, type Layout, type Row, SLOT } from './layout';
import { VERSION } from './bodies';
import { type SqlValue, type StoreFile } from './store-file';

/** What becomes of a document, ready to be written; without `put` it is removed. May be sent to another thread. */
export interface Draft {
  readonly id: string;
  readonly version: Position;
  readonly put?: { readonly row: Row; readonly body: string };
}

/** Raises `UndeclaredField`. */
export function draftsOf(layout: Layout, writes: readonly Write[]): readonly Draft[] {
  return writes.map((write) => {
    const { version } = write;
    if (!('put' in write)) return { id: write.remove, version };
    return { id: write.put.id, version, put: { row: layout.row(write.put), body: write.put.body } };
  });
}

/** Writes a batch with its checkpoint in one transaction. */
export function writeBatch(
  generation: GenerationFile,
  drafts: readonly Draft[],
  checkpoint: Position | undefined,
): void {
  generation.file.writing(() => {
    new Batch(generation).write(drafts);
    if (checkpoint !== undefined) generation.note('checkpoint', checkpoint);
  });
}

/** A document, or its removal, as it is before the batch; of a document the row it has and what its tokens are known by. */
interface Known {
  readonly version: Position;
  readonly at?: { readonly row: number; readonly digest: string };
}

interface Partition {
  readonly slot: number;
  last: number;
  documents: number;
}

/** The index takes integers for row numbers, and the driver binds large numbers as floating point. */
const INDEX = 'INSERT INTO tokens (rowid, t) VALUES (CAST(? AS INTEGER), ?)';
const REINDEX = 'INSERT OR REPLACE INTO tokens (rowid, t) VALUES (CAST(? AS INTEGER), ?)';
const UNINDEX = 'DELETE FROM tokens WHERE rowid = CAST(? AS INTEGER)';

/** Documents without tokens are not in the index of them. */
const NO_TOKENS = '';

/** Looks everything up at once and writes table by table: each one's pages are worked on together. */
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

  write(drafts: readonly Draft[]): void {
    const known = this.known(drafts);
    const bodies: [sql: string, ...values: SqlValue[]][] = [];
    const tokens: [sql: string, row: number, ...values: SqlValue[]][] = [];
    for (const { id, version, put } of newest(drafts, known).values()) {
      const before = known.get(id);
      if (put === undefined) {
        if (before?.at !== undefined) this.take(before.at);
        this.file.run('INSERT OR REPLACE INTO removed VALUES (?, CAST(? AS INTEGER))', id, version);
        continue;
      }
      const {
        body,
        row: { partition, values, tokens: text },
      } = put;
      const place = this.partition(partition);
      const digest = digestOf(text);
      const { at } = before ?? {};
      if (at !== undefined && Math.floor(at.row / SLOT) === place.slot) {
        this.file.run(this.update, version, digest, ...values, at.row);
        bodies.push(['UPDATE bodies SET body = ?2 WHERE row = ?1', at.row, body]);
        if (digest === at.digest) continue;
        tokens.push(digest === NO_TOKENS ? [UNINDEX, at.row] : [REINDEX, at.row, text]);
        continue;
      }
      if (at !== undefined) this.take(at);
      else if (before !== undefined) this.file.run('DELETE FROM removed WHERE id = ?', id);
      place.last += 1;
      place.documents += 1;
      const row = place.slot * SLOT + place.last;
      this.file.run(this.insert, row, id, version, digest, ...values);
      bodies.push(['INSERT INTO bodies VALUES (?, ?)', row, body]);
      if (digest !== NO_TOKENS) tokens.push([INDEX, row, text]);
    }
    for (const [sql, ...values] of bodies) this.file.run(sql, ...values);
    // The index writes out what it has gathered whenever a row number is less than the one before.
    tokens.sort(([, a], [, b]) => a - b);
    for (const [sql, ...values] of tokens) this.file.run(sql, ...values);
    for (const [value, { last, documents }] of this.partitions)
      this.file.run('UPDATE partitions SET last = ?, documents = ? WHERE value = ?', last, documents, value);
  }

  /** What there is of the documents that a batch is about. */
  private known(drafts: readonly Draft[]): ReadonlyMap<string, Known> {
    const ids = JSON.stringify(drafts.map(({ id }) => id));
    const known = new Map<string, Known>();
    const removed = this.file.all(
      `SELECT r.id, ${VERSION} FROM json_each(?) CROSS JOIN removed r ON r.id = value`,
      this.file.first('SELECT 1 FROM removed LIMIT 1') === undefined ? '[]' : ids,
    ) as readonly [string, Position][];
    for (const [id, version] of removed) known.set(id, { version });
    const rows = this.file.all(
      `SELECT k.id, ${VERSION}, row, digest FROM json_each(?) CROSS JOIN keys k ON k.id = value`,
      ids,
    ) as readonly [string, Position, number, string][];
    for (const [id, version, row, digest] of rows) known.set(id, { version, at: { row, digest } });
    return known;
  }

  private take({ row, digest }: { readonly row: number; readonly digest: string }): void {
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

/** The last word on each document, of those that are not older than what there is. */
function newest(drafts: readonly Draft[], known: ReadonlyMap<string, Known>): ReadonlyMap<string, Draft> {
  const kept = new Map<string, Draft>();
  for (const draft of drafts) {
    const { version } = kept.get(draft.id) ?? known.get(draft.id) ?? draft;
    if (draft.version >= version) kept.set(draft.id, draft);
  }
  return kept;
}

function digestOf(tokens: string): string {
  return tokens === '' ? NO_TOKENS : hash('sha1', tokens).slice(0, 24);
}
