import { type FileHandle, mkdir, open, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { EngineUnavailable } from '../../../kernel/event-log';
import { type Remote } from '../../../runtime/calls';
import { type Clock, type Timer } from '../../../runtime/clock';
import { FairBudget } from '../../../runtime/fair-queue';
import { unavailableIfSystem } from '../../../runtime/unavailable';
import { productFaults } from '../../../domain/products/feed';
import { BLOCK, type Exporter, type RenderProgress, type RenderRequest } from './exporter';
import { type DownloadPlan } from './plan';

/** How long (ms) a feed that is asked for by pages stays for the next one. */
const LINGER_MS = 5 * 60_000;

const SUFFIX = '.download';

const REMEMBERED = 1_000;

function tooLarge(needed: number, space: number): string {
  return (
    `fid: the feed needs about ${needed} bytes when it is written like this, more than the ${space} that all ` +
    'downloads may use: ' +
    `expected a smaller feed or format, such as csv, or a DOWNLOAD_SPACE of ${needed} or more, which the operator sets`
  );
}

interface RenderedFile {
  readonly feed: RenderedFeed;
  /** The hash of the token that pays for its bytes: the first one's, or of a client that is still there. */
  owner: string;
  taken: number;
  /** The hashes of the tokens of the clients that are being sent from it. */
  readonly clients: string[];
  /** Asked for by pages: the next page is cut from it. */
  isPaged: boolean;
  lingering?: Timer;
}

interface Taken {
  readonly body: AsyncIterable<Uint8Array>;
  /** To be called when the client has received all or has gone. */
  readonly release: () => void;
}

interface WantedFile extends Pick<DownloadPlan, 'key' | 'render'> {
  readonly client: string;
  /** All of it without one. */
  readonly page?: RecordRange | undefined;
}

/**
 * The feeds that are being downloaded, each version and way of writing it rendered once for all clients that want it,
 * in files of a folder. They are gone when nobody is sent from them any more, those for pages a few minutes later, or
 * sooner if others need their space, which is fair between tokens (`docs/decisions.md#x52`).
 */
export class RenderedFeeds {
  /** In the order of their last use. */
  private readonly entries = new Map<string, RenderedFile>();
  /** Of those that are gone from `entries`, what has still to be removed. */
  private readonly closing = new Set<Promise<void>>();
  private readonly space: FairBudget;
  /** The key of the feed that has more than the share of its token, until others need that. */
  private large: string | undefined;
  /** About how many bytes feeds need that need more than the share of a token, by key; the last ones. */
  private readonly needs = new Map<string, number>();

  constructor(
    private readonly clock: Clock,
    private readonly exporter: ProductExporter,
    private readonly folder: string,
    /** Bytes that all files may have together. */
    mostBytes: number,
  ) {
    this.space = new FairBudget(mostBytes);
  }

  /** Removes what crashes have left in the folder. */
  async clean(): Promise<void> {
    const names = await readdir(this.folder).catch(() => []);
    const left = names.filter((name) => name.endsWith(SUFFIX));
    await Promise.all(left.map((name) => rm(join(this.folder, name), { force: true })));
  }

  get bytes(): number {
    return [...this.entries.values()].reduce((sum, { feed }) => sum + feed.bytes, 0);
  }

  /** Sends a download, or a page of it: rendered now, unless the same is there already. */
  async take({ key, render, client, page }: WantedFile): Promise<Taken> {
    const entry = this.entries.get(key) ?? this.begin(key, render, client);
    const release = this.use(key, entry, client, page !== undefined);
    const { feed } = entry;
    try {
      await feed.begun;
      return { body: page === undefined ? feed.whole() : feed.page(page), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const key of [...this.entries.keys()]) this.remove(key);
    await Promise.all(this.closing);
  }

  /** Counts a client in; the function that counts it out again, once. */
  private use(key: string, entry: RenderedFile, client: string, isPaged: boolean): () => void {
    this.entries.delete(key);
    this.entries.set(key, entry);
    entry.clients.push(client);
    this.charge(entry);
    entry.isPaged ||= isPaged;
    entry.lingering?.cancel();
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      entry.clients.splice(entry.clients.indexOf(client), 1);
      if (this.entries.get(key) !== entry) return;
      this.charge(entry);
      if (entry.clients.length > 0) return;
      if (entry.isPaged) entry.lingering = this.clock.timer(LINGER_MS, () => this.remove(key)).unref();
      else this.remove(key);
    };
  }

  /** Lets a token that has clients here pay for it, if the one that did has none: the one that uses least. */
  private charge(entry: RenderedFile): void {
    const { clients, owner, taken } = entry;
    const [first] = clients.toSorted((one, other) => this.space.usedBy(one) - this.space.usedBy(other));
    if (first === undefined || clients.includes(owner)) return;
    this.space.give(owner, taken);
    // Nothing more is used than before.
    this.space.takeFree(first, taken);
    entry.owner = first;
  }

  private begin(key: string, request: DownloadPlan['render'], owner: string): RenderedFile {
    const { total } = this.space;
    const needed = this.needs.get(key) ?? 0;
    if (needed > total) throw productFaults.illegalValue(tooLarge(needed, total));
    const taken = Math.min(BLOCK, total);
    // Two large ones would break off each other again and again.
    const waits = needed > 0 && this.hasLarge();
    if (waits || !this.makeRoom(key, owner, taken))
      throw new EngineUnavailable(
        'downloads, of this token or of all, take the space that there is for them (DOWNLOAD_SPACE)',
      );
    const path = join(this.folder, `${this.clock.uuid()}${SUFFIX}`);
    const feed = new RenderedFeed(this.exporter, request, path, () => this.check(key, entry));
    const entry: RenderedFile = { feed, owner, taken, clients: [], isPaged: false };
    return entry;
  }

  /** A feed has grown or failed: nobody is to begin with one that has no end. */
  private check(key: string, entry: RenderedFile): void {
    if (this.entries.get(key) !== entry) return;
    const { feed, owner, taken } = entry;
    const more = Math.max(0, feed.bytes - taken);
    const { total } = this.space;
    if (feed.bytes > total) {
      // It would not fit if it were the only one.
      this.remember(key, feed.expectedBytes);
      this.remove(key, new EngineUnavailable(tooLarge(feed.expectedBytes, total)));
    } else if (feed.hasFailed || !this.makeRoom(key, owner, more)) this.remove(key);
    else {
      entry.taken += more;
      if (this.large === key) this.remember(key, Math.min(feed.expectedBytes, total));
    }
  }

  private remember(key: string, needed: number): void {
    const [oldest] = this.needs.keys();
    if (oldest !== undefined && this.needs.size >= REMEMBERED) this.needs.delete(oldest);
    this.needs.set(key, needed);
  }

  /** Takes space for a feed and its token, removing what may be removed for it; false if there is not enough. */
  private makeRoom(key: string, owner: string, bytes: number): boolean {
    while (!this.space.take(owner, bytes)) {
      const removed = this.removable(key, owner, bytes);
      if (removed === undefined) return this.takeFree(key, owner, bytes);
      this.remove(removed);
    }
    return true;
  }

  /** What is removed next: idle feeds, of the token first; then, if that is enough, the one beyond its share. */
  private removable(key: string, owner: string, bytes: number): string | undefined {
    const others = [...this.entries].filter(([other]) => other !== key);
    const idle = others.filter(([, { clients }]) => clients.length === 0);
    const [own] = idle.find(([, entry]) => entry.owner === owner) ?? [];
    if (own !== undefined) return own;
    const large = others.filter(([other, entry]) => other === this.large && entry.owner !== owner);
    const all = new Map([...idle, ...large]);
    const freed = [...all.values()].reduce((sum, { taken }) => sum + taken, 0);
    const [first] = all.keys();
    return this.space.hasRoom(owner, bytes, freed) ? first : undefined;
  }

  /** Takes more than the share of a token: for one feed at a time, the only one of its token. */
  private takeFree(key: string, owner: string, bytes: number): boolean {
    const taken = this.entries.get(key)?.taken ?? 0;
    if (this.space.usedBy(owner) > taken) return false;
    if (this.large !== undefined && this.large !== key) {
      if (this.hasLarge()) return false;
      this.remove(this.large);
    }
    if (!this.space.takeFree(owner, bytes)) return false;
    this.large = key;
    return true;
  }

  /** Whether somebody is sent from a feed that has more than the share of its token. */
  private hasLarge(): boolean {
    return this.large !== undefined && (this.entries.get(this.large)?.clients.length ?? 0) > 0;
  }

  private remove(key: string, reason?: EngineUnavailable): void {
    const entry = this.entries.get(key);
    if (entry === undefined) return;
    this.entries.delete(key);
    if (this.large === key) this.large = undefined;
    this.space.give(entry.owner, entry.taken);
    entry.lingering?.cancel();
    const closed: Promise<void> = entry.feed.close(reason).finally(() => this.closing.delete(closed));
    this.closing.add(closed);
  }
}

export type ProductExporter = Remote<Exporter>;

/** Part of a document: from one record to another, the second not included. */
interface RecordRange {
  readonly from: number;
  readonly to: number;
}

interface Begun {
  readonly file: FileHandle;
  readonly frame: RenderProgress['frame'];
}

const CHUNK = 128 * 1024;

/** A feed being rendered into a file, from which any number of clients are sent, each at its own pace. */
class RenderedFeed {
  /** Resolves when there is a file to be read; rejects when there never will be. */
  readonly begun: Promise<Begun>;
  /** Where records end, as they came. */
  private readonly ends: number[] = [];
  private written = 0;
  private records = 0;
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
      this.records = frame.records;
      this.changed();
    };
    this.rendering = this.render(() => exporter.render(request, path, report, this.closing.signal)).then(
      () => this.failure !== undefined && fail(this.failure),
    );
  }

  get bytes(): number {
    return this.written;
  }

  /** Bytes that all records will have, about. */
  get expectedBytes(): number {
    const { written, ends, records } = this;
    return Math.max(written, Math.ceil((written / Math.max(1, ends.length)) * records));
  }

  /** It will never be whole. */
  get hasFailed(): boolean {
    return this.failure !== undefined;
  }

  async *whole(): AsyncGenerator<Uint8Array> {
    yield* this.stretch(0, () => ({ end: this.written, isLast: this.done }));
  }

  /** A page as a document of its own. */
  async *page({ from, to }: RecordRange): AsyncGenerator<Uint8Array> {
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
  async close(reason = new EngineUnavailable('the download was broken off')): Promise<void> {
    if (this.closing.signal.aborted) return;
    this.failure ??= reason;
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
