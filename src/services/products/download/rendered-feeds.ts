import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineUnavailable } from '../../../kernel/event-log';
import { FairBudget } from '../../../runtime/fair-budget';
import { BLOCK } from './blocks';
import { type DownloadPlan } from './plan';
import { type Page, type ProductExporter, RenderedFeed } from './rendered-feed';

/** How long (ms) a feed that is asked for by pages stays for the next one. */
const LINGER_MS = 5 * 60_000;

const SUFFIX = '.download';

interface Entry {
  readonly feed: RenderedFeed;
  /** The hash of the token that it was rendered for, and the bytes that this has taken of the budget. */
  readonly owner: string;
  taken: number;
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

/** What is wanted of a download, and by whom. */
export interface Wanted extends Pick<DownloadPlan, 'key' | 'render'> {
  /** The hash of the token. */
  readonly client: string;
  /** All of it without one. */
  readonly page?: Page | undefined;
}

/**
 * The feeds that are being downloaded, each version and way of writing it rendered once for all clients that want it, in
 * files of a folder. They are gone when nobody is sent from them any more, those for pages a few minutes later, or sooner if others need
 * their space, which is fair between tokens (`docs/decisions.md#x52`).
 */
export class RenderedFeeds {
  /** In the order of their last use. */
  private readonly entries = new Map<string, Entry>();
  /** Of those that are gone from `entries`, what has still to be removed. */
  private readonly closing = new Set<Promise<void>>();
  private readonly space: FairBudget;

  constructor(
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

  /** Bytes that the files have together. */
  get bytes(): number {
    return [...this.entries.values()].reduce((sum, { feed }) => sum + feed.bytes, 0);
  }

  /** Sends a download, or a page of it: rendered now, unless the same is there already. */
  async take({ key, render, client, page }: Wanted): Promise<Taken> {
    const entry = this.entries.get(key) ?? this.begin(key, render, client);
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

  private begin(key: string, request: DownloadPlan['render'], owner: string): Entry {
    if (!this.makeRoom(owner, BLOCK))
      throw new EngineUnavailable(
        'downloads, of this token or of all, take the space that there is for them (DOWNLOAD_SPACE)',
      );
    const path = join(this.folder, `${randomUUID()}${SUFFIX}`);
    const feed = new RenderedFeed(this.exporter, request, path, () => this.check(key, entry));
    const entry: Entry = { feed, owner, taken: BLOCK, clients: 0, isPaged: false };
    return entry;
  }

  /** A feed has grown or failed: nobody is to begin with one that has no end. */
  private check(key: string, entry: Entry): void {
    if (this.entries.get(key) !== entry) return;
    const more = Math.max(0, entry.feed.bytes - entry.taken);
    if (entry.feed.hasFailed || !this.makeRoom(entry.owner, more, entry)) this.remove(key);
    else entry.taken += more;
  }

  /**
   * Takes space for a token, and until there is enough removes feeds but `growing` that nobody is sent from, those of the token first;
   * false if there never is.
   */
  private makeRoom(owner: string, bytes: number, growing?: Entry): boolean {
    while (!this.space.take(owner, bytes)) {
      const idle = [...this.entries].filter(([, entry]) => entry.clients === 0 && entry !== growing);
      const [oldest] = idle.find(([, entry]) => entry.owner === owner) ?? idle[0] ?? [];
      if (oldest === undefined) return false;
      this.remove(oldest);
    }
    return true;
  }

  private remove(key: string): void {
    const entry = this.entries.get(key);
    if (entry === undefined) return;
    this.entries.delete(key);
    this.space.give(entry.owner, entry.taken);
    clearTimeout(entry.lingering);
    const closed: Promise<void> = entry.feed.close().finally(() => this.closing.delete(closed));
    this.closing.add(closed);
  }
}
