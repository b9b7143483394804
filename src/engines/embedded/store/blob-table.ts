import { type Blobs } from '../search/storage';
import { type StoreFile } from './store-file';

/** The table `blobs` of a generation: where its search index is kept. */
export class BlobTable implements Blobs {
  constructor(private readonly file: StoreFile) {}

  get(name: string): Uint8Array | undefined {
    const bytes = this.file.first('SELECT bytes FROM blobs WHERE name = ?', name)?.[0];
    return bytes instanceof Uint8Array ? bytes : undefined;
  }

  put(name: string, bytes: Uint8Array): void {
    this.file.run(
      'INSERT INTO blobs (name, bytes) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET bytes = excluded.bytes',
      name,
      bytes,
    );
  }

  remove(prefix: string, most: number): boolean {
    const removed = this.file.run(
      'DELETE FROM blobs WHERE id IN (SELECT id FROM blobs WHERE name >= ? AND name < ? LIMIT ?)',
      prefix,
      `${prefix}\uffff`,
      most,
    );
    return removed === most;
  }
}
