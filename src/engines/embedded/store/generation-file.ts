import { existsSync, statSync } from 'node:fs';
import { START, type Position } from '../../../kernel/event';
import { type CollectionSpec } from '../../../kernel/read-store';
import { Layout } from './layout';
import { type QueryClock } from './query-clock';
import { PATIENCE, StoreFile } from './store-file';

/** Disposable, so no commit waits for the disk: after a power cut it may be some commits behind, never torn. */
export const GENERATION_PRAGMAS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  PRAGMA cache_size = -32000;
  PRAGMA wal_autocheckpoint = 4000;
  PRAGMA journal_size_limit = 67108864;`;

/** Of its pages, set when the file is made. */
export const PAGE_PRAGMA = 'PRAGMA page_size = 8192;';

/** For reading it once from end to end: no page is asked for twice, rows are sorted in so much. */
const ONCE = `${GENERATION_PRAGMAS}
  PRAGMA cache_size = -8000;`;

/** One generation: its file and how the collection lies in it. */
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

  /** Makes the file of a new generation, with empty tables. */
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

  /** One more connection to it, to read all of it once. */
  again(): GenerationFile {
    return new GenerationFile(this.path, this.spec, { setUp: ONCE });
  }

  /** How far the log has been folded into it. */
  checkpoint(): Position {
    return this.fact('checkpoint') ?? START;
  }

  /** Whether all that searching needs is there and kept with every write. */
  finished(): boolean {
    this.isFinished ||= this.fact('finished') !== undefined;
    return this.isFinished;
  }

  /** Records a fact, within the transaction that makes it true; a checkpoint never moves backwards. */
  note(name: 'checkpoint' | 'finished', value: string): void {
    this.file.run(
      'INSERT INTO facts VALUES (?, ?) ON CONFLICT DO UPDATE SET value = max(value, excluded.value)',
      name,
      value,
    );
  }

  private fact(name: string): string | undefined {
    return this.file.first('SELECT value FROM facts WHERE name = ?', name)?.[0] as string | undefined;
  }

  /** The size of its WAL. */
  walBytes(): number {
    return statSync(`${this.path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  /**
   * Moves the WAL into the file and empties it, unless somebody reads or writes: waits for nobody and raises nothing.
   * What takes long is done first, in a mode that lets others write meanwhile.
   */
  truncateWal(): void {
    const [, frames, moved] = this.file.attempt('PRAGMA wal_checkpoint(PASSIVE)') ?? [];
    if (frames === undefined || frames !== moved) return;
    this.file.attempt('PRAGMA busy_timeout = 0');
    this.file.attempt('PRAGMA wal_checkpoint(TRUNCATE)');
    this.file.attempt(`PRAGMA busy_timeout = ${PATIENCE}`);
  }

  /** Whether its file has been removed since it was opened. */
  isRemoved(): boolean {
    return !existsSync(this.path);
  }

  close(): void {
    this.file.close();
  }
}
