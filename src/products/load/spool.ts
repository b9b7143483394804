import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineUnavailable } from '../../kernel/event-log';
import { type Digest } from './fingerprints';

/** A product of a posted body, held until the whole body has proved well-formed. */
export type Held =
  /** Checked; `body` is the content as JSON text. `posted` is the digest of its bytes, if it came as JSON. */
  | {
      readonly kind: 'checked';
      readonly sourceProductId: string;
      readonly price: number;
      readonly content: Digest;
      readonly posted: Digest | undefined;
      readonly body: Buffer;
    }
  /** Known by its very bytes, which are the body: read again only if the feed has changed meanwhile. */
  | {
      readonly kind: 'known';
      readonly sourceProductId: string;
      readonly posted: Digest;
      readonly body: Buffer;
    };

const KINDS = ['checked', 'known'] as const;

/** kind, id bytes, body bytes, price, content digest, posted digest. */
const HEAD = 1 + 4 + 4 + 8 + 16 + 16;
const BLOCK = 1024 * 1024;

/**
 * Products held back in the order they came: in memory while they are few, in a file of `folder` once there are
 * more than a block of them. Written one block behind, so that taking goes on while the disk is busy.
 */
export class Spool {
  private block: Buffer = Buffer.allocUnsafe(16 * 1024);
  private used = 0;
  private file: FileHandle | undefined;
  private readonly path: string;
  private writing: Promise<void> = Promise.resolve();
  private spare: Buffer | undefined;

  constructor(private readonly folder: string) {
    this.path = join(folder, `${randomUUID()}.spool`);
  }

  /** Takes a product; when a promise comes back, wait for it before giving the next. */
  put(held: Held): Promise<void> | undefined {
    const idBytes = Buffer.byteLength(held.sourceProductId);
    const length = HEAD + idBytes + held.body.length;
    let turned: Promise<void> | undefined;
    if (this.used + length > this.block.length) {
      if (this.used >= BLOCK / 2 || length > BLOCK) turned = this.turn(length);
      else this.grow(length);
    }
    const { block } = this;
    let at = this.used;
    block[at] = KINDS.indexOf(held.kind);
    block.writeUInt32LE(idBytes, at + 1);
    block.writeUInt32LE(held.body.length, at + 5);
    block.writeDoubleLE(held.kind === 'checked' ? held.price : 0, at + 9);
    block.write(held.kind === 'checked' ? held.content : '', at + 17, 'hex');
    if (held.posted === undefined) block.fill(0, at + 33, at + 49);
    else block.write(held.posted, at + 33, 'hex');
    at += HEAD;
    block.write(held.sourceProductId, at);
    at += idBytes;
    held.body.copy(block, at);
    this.used += length;
    return turned;
  }

  /** Everything put so far, in order, some at a time. */
  async *read(): AsyncGenerator<readonly Held[]> {
    await this.writing;
    if (this.file !== undefined) yield* this.readFile(this.file);
    yield parse(this.block.subarray(0, this.used)).held;
  }

  async close(): Promise<void> {
    await this.writing.catch(() => undefined);
    await this.file?.close();
    if (this.file !== undefined) await rm(this.path, { force: true });
    this.file = undefined;
  }

  private grow(length: number): void {
    const larger = Buffer.allocUnsafe(Math.max(this.block.length * 4, this.used + length));
    this.block.copy(larger, 0, 0, this.used);
    this.block = larger;
  }

  /** Sends the full block to the file and goes on with another; waits for the one before. */
  private turn(length: number): Promise<void> {
    const full = this.block;
    const bytes = this.used;
    const before = this.writing;
    this.block = this.spare ?? Buffer.allocUnsafe(Math.max(BLOCK, length));
    if (this.block.length < length) this.block = Buffer.allocUnsafe(length);
    this.spare = undefined;
    this.used = 0;
    this.writing = before.then(async () => {
      await this.write(full, bytes);
      this.spare = full;
    });
    // A failure is told by the next `turn` or by `read`.
    this.writing.catch(() => undefined);
    return before;
  }

  private async write(block: Buffer, bytes: number): Promise<void> {
    try {
      if (this.file === undefined) {
        await mkdir(this.folder, { recursive: true });
        this.file = await open(this.path, 'wx+', 0o600);
        // Nobody else needs its name: where the system allows it, it is gone with the process, however that ends.
        await rm(this.path).catch(() => undefined);
      }
      await this.file.appendFile(block.subarray(0, bytes));
    } catch (error) {
      throw new EngineUnavailable('the posted products could not be held on disk', { cause: error });
    }
  }

  private async *readFile(file: FileHandle): AsyncGenerator<readonly Held[]> {
    let buffer: Buffer = Buffer.allocUnsafe(2 * BLOCK);
    let kept = 0;
    let position = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, kept, buffer.length - kept, position);
      if (bytesRead === 0) return;
      position += bytesRead;
      const filled = kept + bytesRead;
      const { held, used } = parse(buffer.subarray(0, filled));
      yield held;
      kept = filled - used;
      // Another buffer each time: what was handed out still lies in this one.
      const next = Buffer.allocUnsafe(used === 0 ? buffer.length * 2 : 2 * BLOCK);
      buffer.copy(next, 0, used, filled);
      buffer = next;
    }
  }
}

/** The whole products at the start of some bytes, and how many bytes they take. */
function parse(bytes: Buffer): { held: Held[]; used: number } {
  const held: Held[] = [];
  let used = 0;
  while (used + HEAD <= bytes.length) {
    const idBytes = bytes.readUInt32LE(used + 1);
    const bodyBytes = bytes.readUInt32LE(used + 5);
    const end = used + HEAD + idBytes + bodyBytes;
    if (end > bytes.length) break;
    held.push(decode(bytes, used, used + HEAD + idBytes, end));
    used = end;
  }
  return { held, used };
}

function decode(bytes: Buffer, start: number, bodyStart: number, end: number): Held {
  const sourceProductId = bytes.toString('utf8', start + HEAD, bodyStart);
  const hasPosted = bytes.readUInt32LE(start + 33) !== 0 || bytes.readUInt32LE(start + 37) !== 0;
  const posted = hasPosted ? bytes.toString('hex', start + 33, start + 49) : undefined;
  const body = bytes.subarray(bodyStart, end);
  if (bytes[start] === KINDS.indexOf('known'))
    return { kind: 'known', sourceProductId, posted: posted ?? '', body };
  const price = bytes.readDoubleLE(start + 9);
  const content = bytes.toString('hex', start + 17, start + 33);
  return { kind: 'checked', sourceProductId, price, content, posted, body };
}
