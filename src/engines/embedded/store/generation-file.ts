import { existsSync, statSync } from 'node:fs';
import { type Position, START } from '../../../kernel/event';
import { type CollectionSpec } from '../../../kernel/read-store';
import { type PartitionChange } from '../search/manifest';
import { type Merge, SearchIndex } from '../search/search-index';
import { BlobCache, type Blobs, type SharedArrays } from '../search/storage';
import { Layout } from './layout';
import { LOCK_TIMEOUT_MS, StoreFile } from './store-file';
import { type QueryOptions, QueryTooLong } from '../../../kernel/query';

/** Stops queries that time out or are cancelled: they call `check` every few ms, which throws. */
export class QueryClock {
  private end = Infinity;
  private limit = Infinity;

  /** `cancelled`: another thread sets it to 1 to stop the current query. */
  constructor(private readonly cancelled?: Int32Array) {}

  /** Runs a query within its time limit. Raises `QueryTooLong`. */
  run<Result>(
    { timeLimit = Infinity, spent }: Pick<QueryOptions, 'timeLimit' | 'spent'>,
    query: () => Result,
  ): Result {
    const [before = 0] = spent ?? [];
    const start = performance.now();
    this.limit = timeLimit;
    this.end = start + timeLimit - before;
    try {
      this.check();
      return query();
    } finally {
      this.end = Infinity;
      if (spent !== undefined) spent[0] += performance.now() - start;
    }
  }

  check(): void {
    if (performance.now() > this.end) throw new QueryTooLong(this.limit);
    if (this.cancelled !== undefined && Atomics.load(this.cancelled, 0) === 1)
      throw new Error('the query was cancelled');
  }
}

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
export const PAGE_PRAGMA = 'PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL;';

/** For connections that only read: what they read again is cached of the index (`BlobCache`), or by the system. */
export const READING_PRAGMAS = `${GENERATION_PRAGMAS}
  PRAGMA cache_size = -8000;`;

/** Bytes cached of the index for one scan. */
const SCAN_CACHE = 8_000_000;

/** How long (ms) a step of keeping the index in order takes, about. */
const STEP_MS = 20;

/** Segments of a similar size before they are merged: while the generation is at rest, or is written to. */
const MERGED = { resting: 8, written: 32 } as const;

/** Groups of a field whose numbers are in memory: most fields have few. */
const MOST_GROUPS = 100;

/** Pages that are given back in a step. */
const SHRUNK_PAGES = 128;
/** One page in so many may be free. */
const MOST_FREE = 32;

/** Numbers of groups that are stored, by field and value: they never change. */
class KnownGroups {
  private readonly numbers = new Map<number, Map<string, number>>();

  get(field: number, value: string): number | undefined {
    return this.numbers.get(field)?.get(value);
  }

  /** NaN: it has none yet. */
  note(field: number, value: string, number: number): void {
    const known = this.numbers.get(field) ?? new Map<string, number>();
    if (known.size >= MOST_GROUPS || Number.isNaN(number)) return;
    this.numbers.set(field, known.set(value, number));
  }
}

/** One generation: its file, its layout and its search index. */
export class GenerationFile {
  readonly layout: Layout;
  readonly file: StoreFile;
  readonly index: SearchIndex;
  readonly groups = new KnownGroups();
  /** Throws if the current query is to be stopped. */
  readonly check: () => void;
  private isFinished = false;
  private isClosed = false;
  /** A connection that the next long read uses. */
  private scanned: GenerationFile | undefined;
  private merging: { readonly merge: Merge; readonly steps: Generator<undefined> } | undefined;

  /** `clock` stops queries. `cache` and `arrays` are for the search index. */
  constructor(
    private readonly path: string,
    private readonly spec: CollectionSpec,
    {
      setUp = GENERATION_PRAGMAS,
      clock = new QueryClock(),
      cache = new BlobCache(SCAN_CACHE),
      arrays,
    }: {
      readonly setUp?: string;
      readonly clock?: QueryClock;
      readonly cache?: BlobCache;
      readonly arrays?: SharedArrays | undefined;
    } = {},
  ) {
    this.layout = new Layout(spec);
    this.file = new StoreFile(path, { create: false, setUp });
    this.index = new SearchIndex(new BlobTable(this.file), this.layout.schema, cache, { arrays });
    this.check = () => {
      clock.check();
    };
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

  /** A connection of its own for a long read, until `endScan`. */
  openForScan(): GenerationFile {
    const own = this.scanned ?? new GenerationFile(this.path, this.spec, { setUp: READING_PRAGMAS });
    this.scanned = undefined;
    return own;
  }

  /**
   * One connection is kept for the next long read: to open another one costs more, and a closed one keeps its files.
   */
  endScan(own: GenerationFile): void {
    if (this.isClosed || this.scanned !== undefined || own.isRemoved()) {
      own.close();
      return;
    }
    own.index.forget();
    own.file.attempt('PRAGMA shrink_memory');
    this.scanned = own;
  }

  /** How far the log has been projected into it. */
  checkpoint(): Position {
    return this.readFact('checkpoint') ?? START;
  }

  /** Whether its index is complete. */
  finished(): boolean {
    this.isFinished ||= this.readFact('finished') !== undefined;
    return this.isFinished;
  }

  /** Runs `work` in a write transaction. */
  writing<Result>(work: () => Result): Result {
    try {
      return this.file.writing(() => this.index.exclusively(work));
    } catch (error) {
      // What was read of the index in the transaction may never have been written.
      this.index.forget();
      throw error;
    }
  }

  /**
   * Writes to the index. That of a generation that is being built is not searched, so its segments are made later, of
   * many batches at a time. To be called in a write transaction.
   */
  writeToIndex(changes: readonly PartitionChange[]): void {
    if (this.finished()) this.index.write(changes);
    else if (changes.length > 0) this.index.record(changes);
  }

  /** One step of making the index one segment per partition; false if it is finished. */
  finish(): boolean {
    if (this.finished()) return false;
    const { index } = this;
    if (this.step(() => index.build(true) ?? index.mergeAll()) !== false || this.shrink()) return true;
    return this.writing(() => {
      // Another thread may have written meanwhile.
      if (index.isRecorded()) return true;
      this.recordFact('finished', 'yes');
      return false;
    });
  }

  /**
   * One step of keeping the index in order after writes: of a merge that is due, of removing what was replaced, or of
   * shrinking the file. False if nothing is left to do. `isWritten`: more writes are expected, so merges may wait.
   */
  keep(isWritten: boolean): boolean {
    const { index } = this;
    if (!this.finished()) return this.step(() => index.build(false)) === true;
    const isMore = this.step(() => index.merge(isWritten ? MERGED.written : MERGED.resting));
    return isMore === false ? !isWritten && this.shrink() : isMore === true;
  }

  /** Gives some pages back that merges have freed; false if the next writes may well use what is free. */
  private shrink(): boolean {
    const pages = (pragma: string): number => Number(this.file.first(`PRAGMA ${pragma}`)?.[0]);
    const free = pages('freelist_count');
    if (free < SHRUNK_PAGES || free * MOST_FREE < pages('page_count')) return false;
    this.file.execute(`PRAGMA incremental_vacuum(${SHRUNK_PAGES})`);
    return pages('freelist_count') < free;
  }

  /**
   * False if nothing is left to do; undefined if another process has taken over, and given up the merge of this one.
   */
  private step(due: () => Merge | undefined): boolean | undefined {
    const { index } = this;
    try {
      return this.writing(() => {
        const end = performance.now() + STEP_MS;
        const goesOn = (): boolean => performance.now() < end;
        if (this.merging === undefined) {
          // A merge that a crash ended, or that another process is still about to give up.
          index.recover();
          // Before the next merge: while there are writes, there may always be one.
          if (index.sweep(goesOn)) return true;
          const merge = due();
          if (merge === undefined) return false;
          this.merging = { merge, steps: merge.steps() };
        }
        const { merge, steps } = this.merging;
        if (merge.isGivenUp()) {
          this.merging = undefined;
          return undefined;
        }
        while (goesOn()) {
          if (steps.next().done !== true) continue;
          merge.commit();
          this.merging = undefined;
          break;
        }
        return true;
      });
    } catch (error) {
      // The next step starts again.
      this.merging = undefined;
      throw error;
    }
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
    this.isClosed = true;
    this.scanned?.close();
    this.index.forget();
    this.file.close();
  }
}

/** The table `blobs` of a generation: where its search index is kept. */
class BlobTable implements Blobs {
  constructor(private readonly file: StoreFile) {}

  get(name: string): Uint8Array | undefined {
    const bytes = this.file.first('SELECT bytes FROM blobs WHERE name = ?', name)?.[0];
    return bytes instanceof Uint8Array ? bytes : undefined;
  }

  put(name: string, bytes: Uint8Array): void {
    this.file.run(
      'INSERT INTO blobs (name, bytes) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET bytes = excluded.bytes',
      name,
      bytes,
    );
  }

  all(prefix: string): readonly (readonly [name: string, bytes: Uint8Array])[] {
    const rows = this.file.all(
      'SELECT name, bytes FROM blobs WHERE name >= ? AND name < ?',
      ...range(prefix),
    );
    return rows as readonly (readonly [string, Uint8Array])[];
  }

  remove(prefix: string, most: number): boolean {
    const removed = this.file.run(
      'DELETE FROM blobs WHERE id IN (SELECT id FROM blobs WHERE name >= ? AND name < ? LIMIT ?)',
      ...range(prefix),
      most,
    );
    return removed === most;
  }
}

/** The least name that starts with a prefix, and one after all of these. */
function range(prefix: string): readonly [from: string, to: string] {
  return [prefix, `${prefix}\uffff`];
}
