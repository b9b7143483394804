import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineUnavailable } from '../../kernel/event-log';
import { type Digest } from './fingerprints';

/** A product that has been checked: its text is its content as JSON. */
interface Checked {
  readonly kind: 'checked';
  /** Who put it knows it by this number. */
  readonly number: number;
  readonly sourceProductId: string;
  readonly price: number;
  readonly content: Digest;
  /** The digest of its bytes, if it came as JSON. */
  readonly posted: Digest | undefined;
}

/** A product known by its very bytes, which are its text: read again only if the feed has changed meanwhile. */
export interface Known {
  readonly kind: 'known';
  readonly number: number;
  readonly sourceProductId: string;
  readonly posted: Digest;
}

/** A product held until the whole body has proved well-formed. */
export interface Held {
  readonly head: Checked | Known;
  readonly textBytes: number;
  /** A view of what was read: it holds as long as anybody has it. */
  readonly text: () => Buffer;
}

const KNOWN = 0;
const CHECKED = 1;
const CHECKED_JSON = 2;

/** kind, number, price, bytes of the id, bytes of the text, digest of what was posted, digest of the content. */
const HEAD = 1 + 4 + 8 + 4 + 4 + 32 + 32;
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
  put(head: Checked | Known, text: Buffer): Promise<void> | undefined {
    // A UTF-16 unit has three bytes at most.
    const room = HEAD + 3 * head.sourceProductId.length + text.length;
    let turned: Promise<void> | undefined;
    if (this.used + room > this.block.length) {
      if (this.used >= BLOCK / 2 || room > BLOCK) turned = this.turn(room);
      else this.grow(room);
    }
    const { block, used } = this;
    const idStart = used + HEAD;
    const textStart = idStart + block.write(head.sourceProductId, idStart);
    block.set(text, textStart);
    block.writeUInt32LE(head.number, used + 1);
    block.writeUInt32LE(textStart - idStart, used + 13);
    block.writeUInt32LE(text.length, used + 17);
    block.write(head.posted ?? '', used + 21);
    if (head.kind === 'known') {
      block[used] = KNOWN;
    } else {
      block[used] = head.posted === undefined ? CHECKED : CHECKED_JSON;
      block.writeDoubleLE(head.price, used + 5);
      block.write(head.content, used + 53);
    }
    this.used = textStart + text.length;
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
    const textStart = used + HEAD + bytes.readUInt32LE(used + 13);
    const textBytes = bytes.readUInt32LE(used + 17);
    const end = textStart + textBytes;
    if (end > bytes.length) break;
    held.push({
      head: headAt(bytes, used, textStart),
      textBytes,
      text: () => bytes.subarray(textStart, end),
    });
    used = end;
  }
  return { held, used };
}

function headAt(bytes: Buffer, start: number, textStart: number): Checked | Known {
  const number = bytes.readUInt32LE(start + 1);
  const sourceProductId = bytes.toString('utf8', start + HEAD, textStart);
  const posted = bytes[start] === CHECKED ? undefined : bytes.toString('latin1', start + 21, start + 53);
  if (bytes[start] === KNOWN) return { kind: 'known', number, sourceProductId, posted: posted ?? '' };
  const price = bytes.readDoubleLE(start + 5);
  const content = bytes.toString('latin1', start + 53, start + HEAD);
  return { kind: 'checked', number, sourceProductId, price, content, posted };
}
