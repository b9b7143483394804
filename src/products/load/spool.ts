import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineUnavailable } from '../../kernel/event-log';
import { unavailableIfSystem } from '../../kernel/unavailable';
import { type Held, HeldBlock, readRecords } from './held';

const BLOCK = 1024 * 1024;
/** Bytes read at a time: what is made of them shall have been used before the next collection of garbage. */
const PIECE = BLOCK / 2;

/**
 * Records of products held back: in memory while they are few, in a file of `folder` once there is more than a block
 * of them. Written one block behind, so that taking goes on while the disk is busy.
 */
export class Spool {
  private block = new HeldBlock();
  private spare: HeldBlock | undefined;
  private file: FileHandle | undefined;
  private readonly path: string;
  private writing: Promise<void> = Promise.resolve();
  private isClosed = false;

  constructor(private readonly folder: string) {
    this.path = join(folder, `${randomUUID()}.spool`);
  }

  /** Takes a product; when a promise comes back, wait for it before giving the next. */
  put(...product: Parameters<HeldBlock['put']>): Promise<void> | undefined {
    this.block.put(...product);
    return this.block.length < BLOCK ? undefined : this.turn();
  }

  /** Takes records of products, as `put` does one. */
  add(records: Buffer): Promise<void> | undefined {
    this.block.add(records);
    return this.block.length < BLOCK ? undefined : this.turn();
  }

  /** Everything added so far, in order, some at a time. */
  async *read(): AsyncGenerator<readonly Held[]> {
    await this.writing;
    if (this.file !== undefined) yield* this.readFile(this.file);
    yield readRecords(this.block.records()).held;
  }

  /** Removes the file. What still comes in is refused: parts of a body that was broken off may be late. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.writing.catch(() => undefined);
    await this.file?.close();
    if (this.file !== undefined) await rm(this.path, { force: true });
    this.file = undefined;
  }

  /** Sends the full block to the file and goes on with another; waits for the one before. */
  private turn(): Promise<void> {
    if (this.isClosed) return Promise.reject(new EngineUnavailable('the load was aborted'));
    const full = this.block;
    const before = this.writing;
    this.block = this.spare ?? new HeldBlock();
    this.spare = undefined;
    this.writing = before.then(async () => {
      await this.write(full);
      full.clear();
      this.spare = full;
    });
    // A failure is told by the next `turn` or by `read`.
    this.writing.catch(() => undefined);
    return before;
  }

  private async write(block: HeldBlock): Promise<void> {
    try {
      if (this.file === undefined) {
        await mkdir(this.folder, { recursive: true });
        this.file = await open(this.path, 'wx+', 0o600);
        // Nobody else needs its name: where the system allows it, it is gone with the process, however that ends.
        await rm(this.path).catch(() => undefined);
      }
      await this.file.appendFile(block.records());
    } catch (error) {
      throw unavailableIfSystem('the posted products could not be written to disk', error);
    }
  }

  private async *readFile(file: FileHandle): AsyncGenerator<readonly Held[]> {
    let buffer: Buffer = Buffer.allocUnsafe(PIECE);
    let kept = 0;
    let position = 0;
    for (;;) {
      const { bytesRead } = await file
        .read(buffer, kept, buffer.length - kept, position)
        .catch((error: unknown) => {
          throw unavailableIfSystem('the posted products could not be read from disk', error);
        });
      if (bytesRead === 0) return;
      position += bytesRead;
      const filled = kept + bytesRead;
      const { held, used } = readRecords(buffer.subarray(0, filled));
      yield held;
      kept = filled - used;
      // Another buffer each time: what was handed out still lies in this one.
      const next = Buffer.allocUnsafe(used === 0 ? buffer.length * 2 : PIECE);
      buffer.copy(next, 0, used, filled);
      buffer = next;
    }
  }
}
