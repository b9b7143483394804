import { join } from 'node:path';
import { streamOf } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { FEED } from '../feed';
import { catchUp } from './catch-up';
import { loadFingerprints, removeFingerprints, saveFingerprints } from './fingerprint-file';
import { Fingerprints } from './fingerprints';
import { KeyedMutex } from '../../kernel/keyed-mutex';

/** Events behind which the file of a small feed may stay; a large one's may stay a quarter of its products behind. */
const SAVE_AFTER = 10_000;

/**
 * Lets this process and others have a feed one after the other: runs when it is this one's turn, or when the signal
 * aborts. It saves work and no more: what is not kept to makes conflicts, which whoever writes can deal with.
 */
export type ProcessTurns = <Result>(
  feedId: number,
  signal: AbortSignal,
  run: () => Promise<Result>,
) => Promise<Result>;

interface Entry {
  readonly prints: Fingerprints;
  saved: number;
}

/**
 * The fingerprints of feeds: those used last in memory, all of those that matter in files of a folder that may be
 * deleted at any time. Whoever uses a feed's has them alone, current as of the end of its stream.
 */
export class Feeds {
  private readonly mutex = new KeyedMutex<number>();
  /** Most recently used last. */
  private readonly entries = new Map<number, Entry>();
  private readonly closing = new AbortController();

  constructor(
    private readonly log: EventLog,
    private readonly folder: string,
    /** Without it no other process is thought of. */
    private readonly processTurns: ProcessTurns = (_, __, run) => run(),
    /** Bytes of fingerprints kept in memory beside those in use. */
    private readonly memory = 256 * 1024 * 1024,
  ) {}

  /** Runs with the feed's fingerprints, after those who came before. */
  async use<Result>(feedId: number, run: (prints: Fingerprints) => Promise<Result>): Promise<Result> {
    return this.mutex.runExclusive(feedId, () =>
      this.processTurns(feedId, this.closing.signal, () => this.current(feedId, run)),
    );
  }

  /** The fingerprints of a feed if they are in memory: not current, perhaps changing. */
  peek(feedId: number): Fingerprints | undefined {
    return this.entries.get(feedId)?.prints;
  }

  /** Brings a feed's fingerprints into memory. */
  async warm(feedId: number): Promise<void> {
    if (this.entries.has(feedId)) return;
    await this.mutex.runExclusive(feedId, () => this.current(feedId, async () => undefined));
  }

  /** Saves what is worth it; nobody waits for another process any more. */
  async close(): Promise<void> {
    this.closing.abort();
    for (const [feedId, entry] of this.entries) {
      if (entry.prints.revision - entry.saved >= SAVE_AFTER) await this.save(feedId, entry);
    }
  }

  private async current<Result>(
    feedId: number,
    run: (prints: Fingerprints) => Promise<Result>,
  ): Promise<Result> {
    let entry = await this.open(feedId);
    try {
      if (!(await catchUp(this.log, streamOf(FEED, feedId), entry.prints))) {
        entry = await this.openAnew(feedId);
        await catchUp(this.log, streamOf(FEED, feedId), entry.prints);
      }
      return await run(entry.prints);
    } finally {
      await this.saveIfFarBehind(feedId, entry);
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

  /** Discards fingerprints of another log. */
  private async openAnew(feedId: number): Promise<Entry> {
    await removeFingerprints(this.fileOf(feedId));
    const prints = new Fingerprints();
    const entry = { prints, saved: prints.revision };
    this.entries.set(feedId, entry);
    return entry;
  }

  private evict(inUse: number): void {
    let held = [...this.entries.values()].reduce((sum, { prints }) => sum + prints.memory, 0);
    for (const [feedId, { prints }] of this.entries) {
      if (held <= this.memory) return;
      if (feedId === inUse || this.mutex.isLocked(feedId)) continue;
      held -= prints.memory;
      this.entries.delete(feedId);
    }
  }

  private async saveIfFarBehind(feedId: number, entry: Entry): Promise<void> {
    const behind = entry.prints.revision - entry.saved;
    if (behind >= Math.max(SAVE_AFTER, entry.prints.size / 4)) await this.save(feedId, entry);
  }

  /** A cache that cannot be written is no reason to fail: it is folded again. */
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
