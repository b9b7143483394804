import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Remote } from '../../kernel/calls';
import { EngineUnavailable } from '../../kernel/event-log';
import { unavailableIfSystem } from '../../kernel/unavailable';
import { type Exporter, type ExportFrame } from './exporter';

/** The exporter, in this thread or another. */
export type ProductExporter = Remote<Exporter>;

/** Part of a document: from one record to another, the second not included. */
export interface Page {
  readonly from: number;
  readonly to: number;
}

/** Bytes read at once for a client. */
const CHUNK = 128 * 1024;

/**
 * A feed being rendered at full speed into a file, which any number of clients are sent, each at its own pace and from
 * the start, while it grows and after.
 */
export class RenderedFeed {
  /** Where records end, as they came. */
  private readonly ends: number[] = [];
  private written = 0;
  private done = false;
  private failure: Error | undefined;
  private closed = false;
  private waiting: (() => void)[] = [];
  private readonly rendering: Promise<void>;

  private constructor(
    private readonly exporter: ProductExporter,
    private readonly id: string,
    private readonly path: string,
    private readonly file: FileHandle,
    private readonly frame: ExportFrame,
    private readonly onGrowth: () => void,
  ) {
    this.rendering = this.render();
  }

  /** Begins to render an export into a file; `onGrowth` is called when there is more of it, or never will be. */
  static async begin(
    exporter: ProductExporter,
    id: string,
    path: string,
    onGrowth: () => void,
  ): Promise<RenderedFeed> {
    try {
      await mkdir(dirname(path), { recursive: true });
      const frame = await exporter.begin(id, path);
      const file = await open(path, 'r');
      // Nobody else needs its name: where the system allows it, it is gone with the process, however that ends.
      await rm(path).catch(() => undefined);
      return new RenderedFeed(exporter, id, path, file, frame, onGrowth);
    } catch (error) {
      await exporter.close(id);
      await rm(path, { force: true }).catch(() => undefined);
      throw unavailableIfSystem('the download could not be written to disk', error);
    }
  }

  /** Bytes it has on disk. */
  get bytes(): number {
    return this.written;
  }

  /** It will never be whole. */
  get hasFailed(): boolean {
    return this.failure !== undefined;
  }

  /** All of it. */
  async *whole(): AsyncGenerator<Uint8Array> {
    yield* this.stretch(0, () => ({ end: this.written, isLast: this.done }));
  }

  /** A page as a document of its own. */
  async *page({ from, to }: Page): AsyncGenerator<Uint8Array> {
    yield Buffer.from(this.frame.head);
    await this.until(() => this.ends.length >= from);
    const before = from === 0 ? Buffer.byteLength(this.frame.head) : (this.ends[from - 1] ?? Infinity);
    const start = from === 0 ? before : before + this.frame.gap;
    yield* this.stretch(start, () => {
      const records = Math.min(to, this.ends.length);
      return { end: this.ends[records - 1] ?? 0, isLast: records === to || this.done };
    });
    yield Buffer.from(this.frame.foot);
  }

  /** Ends the rendering, if it is under way, and removes the file. Whoever still reads is broken off. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.failure ??= new EngineUnavailable('the download was broken off');
    await this.rendering;
    await this.file.close();
    await rm(this.path, { force: true }).catch(() => undefined);
  }

  private async render(): Promise<void> {
    try {
      while (!this.done && this.failure === undefined) {
        const { bytes, ends, done } = await this.exporter.more(this.id);
        for (const end of ends) this.ends.push(end);
        this.written = bytes;
        this.done = done;
        this.wake();
        this.onGrowth();
      }
    } catch (error) {
      this.failure ??= error instanceof Error ? error : new Error(String(error));
      this.onGrowth();
    }
    this.wake();
    await this.exporter.close(this.id).catch(() => undefined);
  }

  private async *stretch(
    start: number,
    available: () => { readonly end: number; readonly isLast: boolean },
  ): AsyncGenerator<Uint8Array> {
    for (let at = start; ;) {
      await this.until(() => available().end > at || available().isLast);
      const { end } = available();
      if (at >= end) return;
      const wanted = Math.min(CHUNK, end - at);
      const { bytesRead, buffer } = await this.file.read(Buffer.allocUnsafe(wanted), 0, wanted, at);
      if (bytesRead === 0) throw new EngineUnavailable('the file of a download is shorter than it was');
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  /** Waits until a condition holds or nothing more comes; raises why nothing more comes. */
  private async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      if (this.failure !== undefined) throw this.failure;
      if (this.done) return;
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
    if (this.closed && this.failure !== undefined) throw this.failure;
  }

  private wake(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}
