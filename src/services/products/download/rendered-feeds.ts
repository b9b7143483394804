import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineUnavailable } from '../../../kernel/event-log';
import { BLOCK } from './blocks';
import { type DownloadPlan } from './plan';
import { type Page, type ProductExporter, RenderedFeed } from './rendered-feed';

/** How long (ms) a feed that is asked for by pages stays for the next one. */
const LINGER_MS = 5 * 60_000;

const SUFFIX = '.download';

interface Entry {
  readonly feed: RenderedFeed;
  clients: number;
  /** Asked for by pages: the next page is cut from it. */
  isPaged: boolean;
  lingering?: NodeJS.Timeout;
}

/** One client's use of a rendered feed. */
export interface Taken {
  readonly body: AsyncIterable<Uint8Array>;
  /** To be called when the client has received all or has gone. */
  readonly release: () => void;
}

/**
 * The feeds that are being downloaded, each version and way of writing it rendered once for all clients that want it, in
 * files of a folder. They are gone when nobody is sent from them any more, those for pages a few minutes later.
 */
export class RenderedFeeds {
  /** In the order of their last use. */
  private readonly entries = new Map<string, Entry>();
  /** Of those that are gone from `entries`, what has still to be removed. */
  private readonly closing = new Set<Promise<void>>();

  constructor(
    private readonly exporter: ProductExporter,
    private readonly folder: string,
    /** Bytes that all files may have together. */
    private readonly mostBytes: number,
  ) {}

  /** Removes what crashes have left in the folder. */
  async clean(): Promise<void> {
    const names = await readdir(this.folder).catch(() => []);
    const left = names.filter((name) => name.endsWith(SUFFIX));
    await Promise.all(left.map((name) => rm(join(this.folder, name), { force: true })));
  }

  /** Bytes that the files have together. */
  get bytes(): number {
    return [...this.entries.values()].reduce((sum, { feed }) => sum + feed.bytes, 0);
  }

  /** Sends a download, or a page of it: rendered now, unless the same is there already. */
  async take({ key, render }: Pick<DownloadPlan, 'key' | 'render'>, page?: Page): Promise<Taken> {
    const entry = this.entries.get(key) ?? this.begin(key, render);
    const release = this.use(key, entry, page !== undefined);
    const { feed } = entry;
    try {
      await feed.begun;
      return { body: page === undefined ? feed.whole() : feed.page(page), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Breaks off what is under way. */
  async close(): Promise<void> {
    for (const key of [...this.entries.keys()]) this.remove(key);
    await Promise.all(this.closing);
  }

  /** Counts a client in; the function that counts it out again, once. */
  private use(key: string, entry: Entry, isPaged: boolean): () => void {
    this.entries.delete(key);
    this.entries.set(key, entry);
    entry.clients += 1;
    entry.isPaged ||= isPaged;
    clearTimeout(entry.lingering);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      entry.clients -= 1;
      if (entry.clients > 0 || this.entries.get(key) !== entry) return;
      if (entry.isPaged) entry.lingering = setTimeout(() => this.remove(key), LINGER_MS).unref();
      else this.remove(key);
    };
  }

  private begin(key: string, request: DownloadPlan['render']): Entry {
    if (!this.makeRoom(BLOCK)) throw new EngineUnavailable('downloads take all the space that they may take');
    const path = join(this.folder, `${randomUUID()}${SUFFIX}`);
    const feed = new RenderedFeed(this.exporter, request, path, () => this.check(key, entry));
    const entry: Entry = { feed, clients: 0, isPaged: false };
    return entry;
  }

  /** A feed has grown or failed: nobody is to begin with one that has no end. */
  private check(key: string, entry: Entry): void {
    if (this.entries.get(key) !== entry) return;
    if (entry.feed.hasFailed || !this.makeRoom()) this.remove(key);
  }

  /**
   * Removes feeds that nobody is sent from until the others leave as many bytes as are wanted, or none are left; false if
   * they never do.
   */
  private makeRoom(wanted = 0): boolean {
    const idle = [...this.entries].filter(([, { clients }]) => clients === 0).map(([key]) => key);
    while (this.bytes > 0 && this.bytes + wanted >= this.mostBytes) {
      const oldest = idle.shift();
      if (oldest === undefined) return false;
      this.remove(oldest);
    }
    return true;
  }

  private remove(key: string): void {
    const entry = this.entries.get(key);
    if (entry === undefined) return;
    this.entries.delete(key);
    clearTimeout(entry.lingering);
    const closed: Promise<void> = entry.feed.close().finally(() => this.closing.delete(closed));
    this.closing.add(closed);
  }
}
