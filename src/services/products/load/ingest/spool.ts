import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type ProductFingerprint } from '../../../../domain/products/feed';
import { type Digest } from '../../../../domain/products/fingerprints';
import { type Ids } from '../../../../kernel/event';
import { EngineUnavailable } from '../../../../kernel/event-log';
import { unavailableIfSystem } from '../../../../runtime/unavailable';

const BLOCK = 1024 * 1024;
/** Bytes read at a time: few enough for young garbage collection. */
const PIECE = BLOCK / 2;

/** Buffers the products of a body: one block in memory, more in a file; one is written while the next is filled. */
export class Spool {
  private block = new RecordBlock();
  private spare: RecordBlock | undefined;
  private file: FileHandle | undefined;
  private readonly path: string;
  private writing: Promise<void> = Promise.resolve();
  private isClosed = false;
  private written = 0;

  constructor(
    uuids: Ids,
    private readonly folder: string,
  ) {
    this.path = join(folder, `${uuids.uuid()}.spool`);
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

/** A product that was parsed and accepted; its text is its content as JSON. */
export interface ValidProduct extends ProductFingerprint {
  readonly kind: 'valid';
  /** Its place in the body, from 1. */
  readonly sequence: number;
  /** The digest of its bytes, if it was parsed by itself. */
  readonly posted: Digest | undefined;
}

/** A product with the same bytes as last time, which are its text. It is parsed only if the feed changes meanwhile. */
export interface RepeatedProduct {
  readonly kind: 'repeated';
  readonly sequence: number;
  readonly sourceProductId: string;
  readonly posted: Digest;
}

/** A product that waits in the spool until the entire body has proved well-formed. */
export interface SpooledProduct {
  readonly head: ValidProduct | RepeatedProduct;
  /** The number that the load has given to the product's id. */
  readonly number: number;
  readonly textBytes: number;
  /** A view of the record, valid as long as it is referenced. */
  readonly text: () => Buffer;
}

const REPEATED = 0;
const VALID = 1;
const VALID_WITH_POSTED = 2;

/** Offsets in a record; the id and the text follow. */
const SEQUENCE = 1;
const NUMBER = 5;
const PRICE = 9;
const ID_BYTES = 17;
const TEXT_BYTES = 21;
const POSTED = 25;
const CONTENT = 57;
const HEAD = 89;

/** Products as binary records, one after the other, to be sent to another thread or written to a file. */
export class RecordBlock {
  private block: Buffer = Buffer.allocUnsafeSlow(4 * 1024);
  private used = 0;

  get length(): number {
    return this.used;
  }

  put(head: SpooledProduct['head'], text: Buffer, number = 0): void {
    // A UTF-16 unit takes three bytes at most.
    this.reserve(HEAD + 3 * head.sourceProductId.length + text.length);
    const { block, used } = this;
    const idStart = used + HEAD;
    const textStart = idStart + block.write(head.sourceProductId, idStart);
    block.set(text, textStart);
    block.writeUInt32LE(head.sequence, used + SEQUENCE);
    block.writeUInt32LE(number, used + NUMBER);
    block.writeUInt32LE(textStart - idStart, used + ID_BYTES);
    block.writeUInt32LE(text.length, used + TEXT_BYTES);
    block.write(head.posted ?? '', used + POSTED);
    if (head.kind === 'repeated') {
      block[used] = REPEATED;
    } else {
      block[used] = head.posted === undefined ? VALID : VALID_WITH_POSTED;
      block.writeDoubleLE(head.price, used + PRICE);
      block.write(head.content, used + CONTENT);
    }
    this.used = textStart + text.length;
  }

  add(records: Buffer): void {
    this.reserve(records.length);
    this.block.set(records, this.used);
    this.used += records.length;
  }

  /** A view of the records, valid until the next change. */
  records(): Buffer {
    return this.block.subarray(0, this.used);
  }

  clear(): void {
    this.used = 0;
  }

  private reserve(room: number): void {
    if (this.used + room <= this.block.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.block.length * 2, this.used + room));
    this.block.copy(larger, 0, 0, this.used);
    this.block = larger;
  }
}

/** Writes the number of its id into each of some complete records. */
export function numberRecords(
  records: Buffer,
  numberOf: (sourceProductId: string, sequence: number) => number,
): void {
  for (let at = 0; at < records.length;) {
    const textStart = at + HEAD + records.readUInt32LE(at + ID_BYTES);
    const sourceProductId = records.toString('utf8', at + HEAD, textStart);
    records.writeUInt32LE(numberOf(sourceProductId, records.readUInt32LE(at + SEQUENCE)), at + NUMBER);
    at = textStart + records.readUInt32LE(at + TEXT_BYTES);
  }
}

/** The complete records at the start of some bytes, and how many bytes they take. */
function readRecords(bytes: Buffer): { readonly products: readonly SpooledProduct[]; readonly used: number } {
  const products: SpooledProduct[] = [];
  let used = 0;
  while (used + HEAD <= bytes.length) {
    const textStart = used + HEAD + bytes.readUInt32LE(used + ID_BYTES);
    const textBytes = bytes.readUInt32LE(used + TEXT_BYTES);
    const end = textStart + textBytes;
    if (end > bytes.length) break;
    products.push({
      head: headAt(bytes, used, textStart),
      number: bytes.readUInt32LE(used + NUMBER),
      textBytes,
      text: () => bytes.subarray(textStart, end),
    });
    used = end;
  }
  return { products, used };
}

function headAt(bytes: Buffer, start: number, textStart: number): SpooledProduct['head'] {
  const sequence = bytes.readUInt32LE(start + SEQUENCE);
  const sourceProductId = bytes.toString('utf8', start + HEAD, textStart);
  const hasPosted = bytes[start] !== VALID;
  const posted = hasPosted ? bytes.toString('latin1', start + POSTED, start + CONTENT) : undefined;
  if (bytes[start] === REPEATED) return { kind: 'repeated', sequence, sourceProductId, posted: posted ?? '' };
  const price = bytes.readDoubleLE(start + PRICE);
  const content = bytes.toString('latin1', start + CONTENT, start + HEAD);
  return { kind: 'valid', sequence, sourceProductId, price, content, posted };
}
