import { join } from 'node:path';
import { streamOf } from '../../../../kernel/event';
import { type EventLog } from '../../../../kernel/event-log';
import { KeyedMutex } from '../../../../runtime/keyed-mutex';
import { type CurrencyAt, FEED } from '../../../../domain/products/feed';
import { catchUp } from './catch-up';
import { loadFingerprints, removeFingerprints, saveFingerprints } from './fingerprint-file';
import { Fingerprints } from '../../../../domain/products/fingerprints';

/** A file is saved when it is this many events behind, and at least a quarter of the feed's products. */
const SAVE_AFTER = 10_000;

/**
 * Locks a feed among processes: runs with the lock, or without it once the signal aborts. The lock only saves work.
 * Writers that ignore it get revision conflicts, which they have to handle anyway.
 */
export type FeedLock = <Result>(
  feedId: number,
  signal: AbortSignal,
  run: () => Promise<Result>,
) => Promise<Result>;

interface CacheOptions {
  /** Without it, no other process loads feeds. */
  readonly feedLock?: FeedLock | undefined;
  /** For events that do not record their currency; without it, that is unknown. */
  readonly currencyAt?: (feedId: number) => CurrencyAt;
  /** Bytes of memory for fingerprints that are not in use. */
  readonly memory?: number;
}

const MEMORY = 256 * 1024 * 1024;

interface Entry {
  readonly prints: Fingerprints;
  /** Revision of the file. */
  saved: number;
}

/**
 * Caches the fingerprints of feeds: the most recently used in memory, all large ones in files of a folder that may be
 * deleted at any time. One caller at a time uses a feed's, current as of the end of its stream.
 */
export class FingerprintCache {
  private readonly locks = new KeyedMutex<number>();
  /** Least recently used first. */
  private readonly entries = new Map<number, Entry>();
  private readonly closing = new AbortController();

  constructor(
    private readonly log: EventLog,
    private readonly folder: string,
    private readonly options: CacheOptions = {},
  ) {}

  /** Runs with exclusive access to a feed's fingerprints. */
  async use<Result>(feedId: number, run: (prints: Fingerprints) => Promise<Result>): Promise<Result> {
    const { feedLock = (_, __, run) => run() } = this.options;
    return this.locks.runExclusive(feedId, () =>
      feedLock(feedId, this.closing.signal, () => this.useCurrent(feedId, run)),
    );
  }

  /** The fingerprints of a feed if they are in memory. They may be outdated, and change. */
  peek(feedId: number): Fingerprints | undefined {
    return this.entries.get(feedId)?.prints;
  }

  /** Brings a feed's fingerprints into memory. */
  async warm(feedId: number): Promise<void> {
    if (this.entries.has(feedId)) return;
    await this.locks.runExclusive(feedId, () => this.useCurrent(feedId, async () => undefined));
  }

  /** Saves files that are far behind, and stops waiting for other processes. */
  async close(): Promise<void> {
    this.closing.abort();
    for (const [feedId, entry] of this.entries) {
      if (entry.prints.revision - entry.saved >= SAVE_AFTER) await this.save(feedId, entry);
    }
  }

  private async useCurrent<Result>(
    feedId: number,
    run: (prints: Fingerprints) => Promise<Result>,
  ): Promise<Result> {
    const stream = streamOf(FEED, feedId);
    const currencyAt = this.options.currencyAt?.(feedId);
    let entry = await this.open(feedId);
    try {
      if (!(await catchUp(this.log, stream, entry.prints, currencyAt))) {
        entry = await this.discard(feedId);
        await catchUp(this.log, stream, entry.prints, currencyAt);
      }
      return await run(entry.prints);
    } finally {
      const behind = entry.prints.revision - entry.saved;
      if (behind >= Math.max(SAVE_AFTER, entry.prints.size / 4)) await this.save(feedId, entry);
    }
  }

  private async open(feedId: number): Promise<Entry> {
    let entry = this.entries.get(feedId);
    if (entry === undefined) {
      const prints = (await loadFingerprints(this.fileOf(feedId), feedId)) ?? new Fingerprints();
      entry = { prints, saved: prints.revision };
    }
    this.entries.delete(feedId);
    this.entries.set(feedId, entry);
    this.evict(feedId);
    return entry;
  }

  /** Replaces fingerprints of another log by empty ones. */
  private async discard(feedId: number): Promise<Entry> {
    await removeFingerprints(this.fileOf(feedId));
    const prints = new Fingerprints();
    const entry = { prints, saved: prints.revision };
    this.entries.set(feedId, entry);
    return entry;
  }

  private evict(inUse: number): void {
    let bytes = [...this.entries.values()].reduce((sum, { prints }) => sum + prints.memory, 0);
    for (const [feedId, { prints }] of this.entries) {
      if (bytes <= (this.options.memory ?? MEMORY)) return;
      if (feedId === inUse || this.locks.isLocked(feedId)) continue;
      bytes -= prints.memory;
      this.entries.delete(feedId);
    }
  }

  /** A failure does no harm: what the file lacks is folded again. */
  private async save(feedId: number, entry: Entry): Promise<void> {
    await saveFingerprints(this.fileOf(feedId), feedId, entry.prints).then(
      () => (entry.saved = entry.prints.revision),
      () => undefined,
    );
  }

  private fileOf(feedId: number): string {
    return join(this.folder, `feed-${feedId}.fingerprints`);
  }
}
