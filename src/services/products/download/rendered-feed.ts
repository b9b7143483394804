import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Remote } from '../../../runtime/calls';
import { EngineUnavailable } from '../../../kernel/event-log';
import { unavailableIfSystem } from '../../../runtime/unavailable';
import { type Exporter, type RenderProgress, type RenderRequest } from './exporter';

/** The exporter, in this thread or another. */
export type ProductExporter = Remote<Exporter>;

/** Part of a document: from one record to another, the second not included. */
export interface Page {
  readonly from: number;
  readonly to: number;
}

/** What there is of the file as soon as it has been made. */
interface Begun {
  readonly file: FileHandle;
  readonly frame: RenderProgress['frame'];
}

/** Bytes read at once for a client. */
const CHUNK = 128 * 1024;

/**
 * A feed being rendered at full speed into a file, which any number of clients are sent, each at its own pace and from
 * the start, while it grows and after.
 */
export class RenderedFeed {
  /** Resolves when there is a file to be read; rejects when there never will be. */
  readonly begun: Promise<Begun>;
  /** Where records end, as they came. */
  private readonly ends: number[] = [];
  private written = 0;
  private done = false;
  private failure: Error | undefined;
  private waiting: (() => void)[] = [];
  private readonly closing = new AbortController();
  private readonly rendering: Promise<unknown>;

  /** Begins to render into a file; `onChange` is called when there is more of it, or never will be. */
  constructor(
    exporter: ProductExporter,
    request: RenderRequest,
    private readonly path: string,
    private readonly onChange: () => void,
  ) {
    let begin: (begun: Begun) => void = () => undefined;
    let fail: (failure: Error) => void = () => undefined;
    this.begun = new Promise((resolve, reject) => ([begin, fail] = [resolve, reject]));
    // For whoever waits for it.
    this.begun.catch(() => undefined);
    const report = async ({ bytes, ends, frame }: RenderProgress): Promise<void> => {
      if (this.written === 0) begin({ file: await this.openFile(), frame });
      for (const end of ends) this.ends.push(end);
      this.written = bytes;
      this.changed();
    };
    this.rendering = this.render(() => exporter.render(request, path, report, this.closing.signal)).then(
      () => this.failure !== undefined && fail(this.failure),
    );
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
    const { frame } = await this.begun;
    yield Buffer.from(frame.head);
    await this.until(() => this.ends.length >= from);
    const before = from === 0 ? Buffer.byteLength(frame.head) : (this.ends[from - 1] ?? Infinity);
    const start = from === 0 ? before : before + frame.gap;
    yield* this.stretch(start, () => {
      const records = Math.min(to, this.ends.length);
      return { end: this.ends[records - 1] ?? 0, isLast: records === to || this.done };
    });
    yield Buffer.from(frame.foot);
  }

  /** Ends the rendering, if it is under way, and removes the file. Whoever still reads is broken off. */
  async close(): Promise<void> {
    if (this.closing.signal.aborted) return;
    this.failure ??= new EngineUnavailable('the download was broken off');
    this.closing.abort(this.failure);
    await this.rendering;
    await this.begun.then(({ file }) => file.close()).catch(() => undefined);
    await rm(this.path, { force: true }).catch(() => undefined);
  }

  private async render(render: () => Promise<void>): Promise<void> {
    try {
      await mkdir(dirname(this.path), { recursive: true });
      await render();
      this.done = true;
    } catch (error) {
      const failure = unavailableIfSystem('the download could not be written to disk', error);
      this.failure ??= failure instanceof Error ? failure : new Error(String(failure));
    }
    this.changed();
  }

  private async openFile(): Promise<FileHandle> {
    const file = await open(this.path, 'r');
    // Nobody else needs its name: where the system allows it, the file is gone with the process, however that ends.
    await rm(this.path).catch(() => undefined);
    return file;
  }

  private async *stretch(
    start: number,
    available: () => { readonly end: number; readonly isLast: boolean },
  ): AsyncGenerator<Uint8Array> {
    const { file } = await this.begun;
    for (let at = start; ;) {
      await this.until(() => available().end > at || available().isLast);
      const { end } = available();
      if (at >= end) return;
      const wanted = Math.min(CHUNK, end - at);
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(wanted), 0, wanted, at);
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
    if (this.closing.signal.aborted && this.failure !== undefined) throw this.failure;
  }

  private changed(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
    this.onChange();
  }
}
