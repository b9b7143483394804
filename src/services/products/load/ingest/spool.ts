import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineUnavailable } from '../../../../kernel/event-log';
import { unavailableIfSystem } from '../../../../runtime/unavailable';
import { readRecords, RecordBlock, type SpooledProduct } from './spool-records';

const BLOCK = 1024 * 1024;
/** Bytes read at a time: few enough for young garbage collection. */
const PIECE = BLOCK / 2;

/**
 * Buffers the products of a body: in memory up to one block, beyond that in a file of `folder`. One block is written
 * while the next is filled.
 */
export class Spool {
  private block = new RecordBlock();
  private spare: RecordBlock | undefined;
  private file: FileHandle | undefined;
  private readonly path: string;
  private writing: Promise<void> = Promise.resolve();
  private isClosed = false;
  private written = 0;

  constructor(private readonly folder: string) {
    this.path = join(folder, `${randomUUID()}.spool`);
  }

  /** Bytes on disk, with those that are being written. */
  get space(): number {
    return this.written;
  }

  /** Adds a product. Backpressure: if this returns a promise, await it before adding more. */
  put(...product: Parameters<RecordBlock['put']>): Promise<void> | undefined {
    this.block.put(...product);
    return this.block.length < BLOCK ? undefined : this.writeBlock();
  }

  /** Adds records of products, as `put` does. */
  add(records: Buffer): Promise<void> | undefined {
    this.block.add(records);
    return this.block.length < BLOCK ? undefined : this.writeBlock();
  }

  /** All products, in order, some at a time. */
  async *read(): AsyncGenerator<readonly SpooledProduct[]> {
    await this.writing;
    if (this.file !== undefined) yield* this.readFile(this.file);
    yield readRecords(this.block.records()).products;
  }

  /** Removes the file. Later products are rejected: parts of an aborted body may be late. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.writing.catch(() => undefined);
    await this.file?.close();
    if (this.file !== undefined) await rm(this.path, { force: true });
    this.file = undefined;
  }

  /** Starts to write the full block, replaces it by an empty one, and waits for the write before. */
  private writeBlock(): Promise<void> {
    if (this.isClosed) return Promise.reject(new EngineUnavailable('the load was aborted'));
    const full = this.block;
    this.written += full.length;
    const before = this.writing;
    this.block = this.spare ?? new RecordBlock();
    this.spare = undefined;
    this.writing = before.then(async () => {
      await this.write(full);
      full.clear();
      this.spare = full;
    });
    // The next `writeBlock` or `read` raises a failure.
    this.writing.catch(() => undefined);
    return before;
  }

  private async write(block: RecordBlock): Promise<void> {
    try {
      if (this.file === undefined) {
        await mkdir(this.folder, { recursive: true });
        this.file = await open(this.path, 'wx+', 0o600);
        // Where the system allows it, an unlinked file disappears with the process, however that ends.
        await rm(this.path).catch(() => undefined);
      }
      await this.file.appendFile(block.records());
    } catch (error) {
      throw unavailableIfSystem('the posted products could not be written to disk', error);
    }
  }

  private async *readFile(file: FileHandle): AsyncGenerator<readonly SpooledProduct[]> {
    let buffer: Buffer = Buffer.allocUnsafe(PIECE);
    let rest = 0;
    let position = 0;
    for (;;) {
      const { bytesRead } = await file
        .read(buffer, rest, buffer.length - rest, position)
        .catch((error: unknown) => {
          throw unavailableIfSystem('the posted products could not be read from disk', error);
        });
      if (bytesRead === 0) return;
      position += bytesRead;
      const filled = rest + bytesRead;
      const { products, used } = readRecords(buffer.subarray(0, filled));
      yield products;
      rest = filled - used;
      // A new buffer each time: the products are views of this one.
      const next = Buffer.allocUnsafe(used === 0 ? buffer.length * 2 : PIECE);
      buffer.copy(next, 0, used, filled);
      buffer = next;
    }
  }
}
