import { existsSync, statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { type Position, START } from '../../../kernel/event';
import { type CollectionSpec } from '../../../kernel/read-store';
import { Layout } from './layout';
import { type QueryClock } from './query-clock';
import { LOCK_TIMEOUT_MS, StoreFile } from './store-file';

/**
 * Generations are disposable, so commits do not wait for the disk: a power cut may lose some, but never corrupts the
 * file.
 */
export const GENERATION_PRAGMAS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  PRAGMA cache_size = -32000;
  PRAGMA wal_autocheckpoint = 4000;
  PRAGMA journal_size_limit = 67108864;`;

/** Must be set when the file is created. */
export const PAGE_PRAGMA = 'PRAGMA page_size = 8192;';

/** For reading the file once from end to end: the cache serves only for sorting. */
const SCAN_PRAGMAS = `${GENERATION_PRAGMAS}
  PRAGMA cache_size = -8000;`;

/** Pages of the token index merged per transaction. */
const MERGED_PAGES = 500;

/** One generation: its file and its layout. */
export class GenerationFile {
  readonly layout: Layout;
  readonly file: StoreFile;
  private isFinished = false;

  constructor(
    private readonly path: string,
    private readonly spec: CollectionSpec,
    { setUp = GENERATION_PRAGMAS, clock }: { readonly setUp?: string; readonly clock?: QueryClock } = {},
  ) {
    this.layout = new Layout(spec);
    this.file = new StoreFile(path, { create: false, setUp, ...(clock === undefined ? {} : { clock }) });
  }

  /** Creates the file of a new generation, with empty tables. */
  static create(path: string, spec: CollectionSpec): void {
    const file = new StoreFile(path, { create: true, setUp: `${PAGE_PRAGMA} ${GENERATION_PRAGMAS}` });
    try {
      file.writing(() => {
        file.execute(new Layout(spec).tables());
      });
    } finally {
      file.close();
    }
  }

  /** Opens another connection, for one scan of the whole file. */
  openForScan(): GenerationFile {
    return new GenerationFile(this.path, this.spec, { setUp: SCAN_PRAGMAS });
  }

  /** How far the log has been projected into it. */
  checkpoint(): Position {
    return this.readFact('checkpoint') ?? START;
  }

  /** Whether the indexes for searches are built. */
  finished(): boolean {
    this.isFinished ||= this.readFact('finished') !== undefined;
    return this.isFinished;
  }

  /**
   * Builds the indexes that bulk writes go without, and merges the token index into one segment, so that each token is
   * looked up in one place. Other work of this thread runs between steps.
   */
  async finish(): Promise<void> {
    const { file, layout } = this;
    if (this.finished()) return;
    const changes = (): number => Number(file.first('SELECT total_changes()')?.[0]);
    // A negative number starts a merge of everything, a positive one continues it. It is complete when hardly anything
    // changes.
    for (let pages = -MERGED_PAGES, before = -MERGED_PAGES; changes() - before >= 2; pages = MERGED_PAGES) {
      before = changes();
      file.run(`INSERT INTO tokens (tokens, rank) VALUES ('merge', ?)`, pages);
      await setImmediate();
    }
    for (const index of layout.indexes()) {
      file.execute(index);
      await setImmediate();
    }
    this.recordFact('finished', 'yes');
  }

  /** Records a fact within the current transaction. A checkpoint never moves backwards. */
  recordFact(name: 'checkpoint' | 'finished', value: string): void {
    this.file.run(
      'INSERT INTO facts VALUES (?, ?) ON CONFLICT DO UPDATE SET value = max(value, excluded.value)',
      name,
      value,
    );
  }

  private readFact(name: string): string | undefined {
    return this.file.first('SELECT value FROM facts WHERE name = ?', name)?.[0] as string | undefined;
  }

  walBytes(): number {
    return statSync(`${this.path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  /**
   * Checkpoints and truncates the WAL, unless there are readers or writers. Waits for nobody and raises nothing. The
   * slow part comes first, in a mode that does not block writers.
   */
  truncateWal(): void {
    const [, frames, moved] = this.file.attempt('PRAGMA wal_checkpoint(PASSIVE)') ?? [];
    if (frames === undefined || frames !== moved) return;
    this.file.attempt('PRAGMA busy_timeout = 0');
    this.file.attempt('PRAGMA wal_checkpoint(TRUNCATE)');
    this.file.attempt(`PRAGMA busy_timeout = ${LOCK_TIMEOUT_MS}`);
  }

  /** Whether its file has been removed since it was opened. */
  isRemoved(): boolean {
    return !existsSync(this.path);
  }

  close(): void {
    this.file.close();
  }
}
