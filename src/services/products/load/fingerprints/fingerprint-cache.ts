import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { streamOf } from '../../../../kernel/event';
import { type EventLog } from '../../../../kernel/event-log';
import { FairQueue } from '../../../../runtime/fair-queue';
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
  /** Who waits if a feed's fingerprints do: by default each feed by itself. */
  readonly ownerOf?: (feedId: number) => string;
  /** Bytes of memory for fingerprints: of an owner's feeds that are in use, and of all that are not. */
  readonly memory?: number;
}

const MEMORY = 256 * 1024 * 1024;
/** The part of it that a feed is taken to need whose file does not exist: most such feeds are small. */
const UNKNOWN = 1 / 32;

interface Entry {
  readonly prints: Fingerprints;
  /** Revision of the file. */
  saved: number;
}

/**
 * Caches the fingerprints of feeds: the most recently used in memory, all large ones in files of a folder that may be
 * deleted at any time. One caller at a time uses a feed's, current as of the end of its stream. Those in use are bounded too: an
 * owner with as much in use as the memory waits, and so does anyone while there is twice as much.
 */
export class FingerprintCache {
  private readonly locks = new KeyedMutex<number>();
  /** Least recently used first. */
  private readonly entries = new Map<number, Entry>();
  private readonly closing = new AbortController();
  private readonly memory: number;
  private readonly queue: FairQueue;
  /** Feeds in use, which are not evicted. */
  private readonly inUse = new Set<number>();

  constructor(
    private readonly log: EventLog,
    private readonly folder: string,
    private readonly options: CacheOptions = {},
  ) {
    const memory = options.memory ?? MEMORY;
    this.memory = memory;
    this.queue = new FairQueue({ atOnce: 2 * memory, perClient: memory, reserved: memory });
  }

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
    const owner = this.options.ownerOf?.(feedId) ?? String(feedId);
    const weight = await this.sizeOf(feedId);
    return await this.queue.run(owner, () => this.useInMemory(feedId, run), { weight });
  }

  /** Bytes that they need, more or less. */
  private async sizeOf(feedId: number): Promise<number> {
    const known = this.entries.get(feedId)?.prints.memory;
    if (known !== undefined) return known;
    return await stat(this.fileOf(feedId)).then(
      ({ size }) => size,
      () => this.memory * UNKNOWN,
    );
  }

  private async useInMemory<Result>(
    feedId: number,
    run: (prints: Fingerprints) => Promise<Result>,
  ): Promise<Result> {
    const stream = streamOf(FEED, feedId);
    const currencyAt = this.options.currencyAt?.(feedId);
    this.inUse.add(feedId);
    let entry: Entry | undefined;
    try {
      entry = await this.open(feedId);
      if (!(await catchUp(this.log, stream, entry.prints, currencyAt))) {
        entry = await this.discard(feedId);
        await catchUp(this.log, stream, entry.prints, currencyAt);
      }
      return await run(entry.prints);
    } finally {
      if (entry !== undefined && isFarBehind(entry)) await this.save(feedId, entry);
      this.inUse.delete(feedId);
      this.evict(feedId);
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

  /** Evicts feeds that are not in use, but one. */
  private evict(latest: number): void {
    let bytes = [...this.entries.values()].reduce((sum, { prints }) => sum + prints.memory, 0);
    for (const [feedId, { prints }] of this.entries) {
      if (bytes <= this.memory) return;
      if (feedId === latest || this.inUse.has(feedId)) continue;
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

function isFarBehind({ prints, saved }: Entry): boolean {
  return prints.revision - saved >= Math.max(SAVE_AFTER, prints.size / 4);
}
