import { hash } from 'node:crypto';
import { type Position } from '../../../kernel/event';
import { type Document, type Write } from '../../../kernel/read-store';
import { type GenerationFile } from './generation-file';
import { column, SLOT } from './layout';
import { type SqlValue, type StoreFile } from './store-file';

/** Writes a batch with its checkpoint in one transaction. Raises `UndeclaredField` before anything is written. */
export function writeBatch(
  generation: GenerationFile,
  writes: readonly Write[],
  checkpoint: Position | undefined,
): void {
  const { layout, file } = generation;
  const checked = writes.map((write) => ({
    write,
    partition: 'put' in write ? layout.check(write.put) : undefined,
  }));
  file.writing(() => {
    const batch = new Batch(generation);
    for (const { write, partition } of checked) {
      if ('put' in write && partition !== undefined) batch.put(write.put, partition, write.version);
      else if ('remove' in write) batch.remove(write.remove, write.version);
    }
    batch.end();
    if (checkpoint !== undefined) generation.note('checkpoint', checkpoint);
  });
}

/** The index takes integers for row numbers, and the driver binds large numbers as floating point. */
const INDEX = 'INSERT INTO tokens (rowid, t) VALUES (CAST(? AS INTEGER), ?)';
const REINDEX = 'INSERT OR REPLACE INTO tokens (rowid, t) VALUES (CAST(? AS INTEGER), ?)';

interface Partition {
  readonly slot: number;
  last: number;
  documents: number;
}

interface Row {
  readonly row: number;
  readonly digest: Uint8Array;
}

class Batch {
  private readonly file: StoreFile;
  private readonly partitions = new Map<number, Partition>();
  private readonly insert: string;
  private readonly update: string;

  constructor(private readonly generation: GenerationFile) {
    this.file = generation.file;
    const columns = generation.layout.columns.map(({ name }) => column(name));
    const set = ['version = CAST(? AS INTEGER)', 'digest = ?', ...columns.map((name) => `${name} = ?`)];
    this.insert = `INSERT INTO keys VALUES (?, ?, CAST(? AS INTEGER), ?${', ?'.repeat(columns.length)})`;
    this.update = `UPDATE keys SET ${set.join(', ')} WHERE row = ?`;
  }

  put(document: Document, partition: number, version: Position): void {
    const { layout } = this.generation;
    const known = this.present(document.id, version);
    if (known === 'newer') return;
    const tokens = layout.tokens(document);
    const digest = hash('sha1', tokens, 'buffer').subarray(0, 12);
    const values: SqlValue[] = [version, digest, ...layout.values(document)];
    const place = this.partition(partition);
    if (known !== undefined && Math.floor(known.row / SLOT) === place.slot) {
      this.file.run(this.update, ...values, known.row);
      this.file.run('UPDATE bodies SET body = ? WHERE row = ?', document.body, known.row);
      if (digest.compare(known.digest) !== 0) this.file.run(REINDEX, known.row, tokens);
      return;
    }
    if (known !== undefined) this.take(known.row);
    place.last += 1;
    place.documents += 1;
    const row = place.slot * SLOT + place.last;
    this.file.run(this.insert, row, document.id, ...values);
    this.file.run('INSERT INTO bodies VALUES (?, ?)', row, document.body);
    this.file.run(INDEX, row, tokens);
  }

  remove(id: string, version: Position): void {
    const known = this.present(id, version);
    if (known === 'newer') return;
    if (known !== undefined) this.take(known.row);
    this.file.run('INSERT OR REPLACE INTO removed VALUES (?, CAST(? AS INTEGER))', id, version);
  }

  /** Notes how the partitions have grown and shrunk. */
  end(): void {
    for (const [value, { last, documents }] of this.partitions)
      this.file.run('UPDATE partitions SET last = ?, documents = ? WHERE value = ?', last, documents, value);
  }

  /** The row a document has, or that it (or its removal) is of a newer version. Forgets an older removal. */
  private present(id: string, version: Position): Row | 'newer' | undefined {
    const found = this.file.first(
      'SELECT row, digest, version > CAST(? AS INTEGER) FROM keys WHERE id = ?',
      version,
      id,
    );
    if (found !== undefined) {
      const [row, digest, newer] = found as [number, Uint8Array, number];
      return newer === 1 ? 'newer' : { row, digest };
    }
    const removed = this.file.first(
      'SELECT version > CAST(? AS INTEGER) FROM removed WHERE id = ?',
      version,
      id,
    );
    if (removed?.[0] === 1) return 'newer';
    if (removed !== undefined) this.file.run('DELETE FROM removed WHERE id = ?', id);
    return undefined;
  }

  private take(row: number): void {
    this.file.run('DELETE FROM keys WHERE row = ?', row);
    this.file.run('DELETE FROM bodies WHERE row = ?', row);
    this.file.run('DELETE FROM tokens WHERE rowid = CAST(? AS INTEGER)', row);
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
