import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type Position } from '../../../kernel/event';
import { type Filter, type Found } from '../../../kernel/query';
import { VERSION } from './documents';
import { type GenerationFile } from './generation-file';
import { and, countOf, type Hits, hitsOf, matchingRows, withRanges } from './hits';
import { column } from './layout';
import { Listing } from './listing';
import { raw, sql } from './sql';
import { type StoreFile } from './store-file';

/** How long (ms) to copy before other work of this thread runs. Long slices, as the WAL grows until the copy is complete. */
const SLICE_MS = 50;

/**
 * All matching documents by id, from one snapshot: a transaction on a separate connection. While it lasts, the WAL cannot be
 * reused and grows with every write. So a scan can be ended early, or continue from a copy.
 */
export class Scan {
  readonly checkpoint: Position;
  private readonly file: StoreFile;
  private readonly hits: Hits | undefined;
  private readonly all: Listing | undefined;
  private samples: Listing | undefined;
  private copying: Promise<void> | undefined;
  private hasEnded = false;

  /** Starts the transaction. `after`: only documents with greater ids. */
  constructor(
    private readonly generation: GenerationFile,
    filter: Filter,
    after?: string,
  ) {
    this.file = generation.file;
    this.file.execute('BEGIN');
    this.checkpoint = generation.checkpoint();
    this.hits = hitsOf(generation, filter);
    if (this.hits === undefined) return;
    const { hits } = this;
    const isAfter = and(after === undefined ? undefined : sql`k.id > ${after}`);
    const rows =
      hits.match === undefined && hits.values === undefined
        ? sql`FROM keys k WHERE true${and(hits.where)}`
        : matchingRows(hits, generation.layout);
    const query = sql`${withRanges(hits)} SELECT k.id, ${raw(VERSION)}, k.row ${rows}${isAfter} ORDER BY k.id`;
    this.all = new Listing(this.file, query, 'rest');
  }

  /** The number of matching documents, whatever `after` is. */
  count(): number {
    return this.hits === undefined ? 0 : countOf(this.generation, this.hits);
  }

  /**
   * Finds one document per value of a field, for `nextSamples`. Records the first row of each value in one pass, which is three
   * times as fast as sorting all rows by the value.
   */
  sample(field: string): void {
    const { hits, file, generation } = this;
    if (hits === undefined) return;
    const value = raw(`k.${column(generation.layout.field(field, 'column').name)}`);
    file.execute('CREATE TEMP TABLE samples (value TEXT PRIMARY KEY, row INTEGER NOT NULL) WITHOUT ROWID');
    const insert = sql`INSERT OR IGNORE INTO samples ${withRanges(hits)}
      SELECT ${value}, k.row ${matchingRows(hits, generation.layout)} AND ${value} IS NOT NULL`;
    file.run(insert.text, ...insert.values);
    const query = sql`SELECT k.id, ${raw(VERSION)}, k.row FROM samples CROSS JOIN keys k USING (row) ORDER BY k.row`;
    this.samples = new Listing(file, query, 'rest_of_samples');
  }

  /** The next samples; undefined at the end. */
  async nextSamples(): Promise<readonly Found[] | undefined> {
    await this.copying;
    return this.samples?.next();
  }

  /** The next documents; undefined at the end, and after `end`. */
  async next(): Promise<readonly Found[] | undefined> {
    await this.copying;
    return this.all?.next();
  }

  /** Copies the rest into temporary tables and ends the transaction. `next` and `nextSamples` wait for it. */
  copy(): void {
    this.copying ??= this.copyRest();
    // `next` raises the error.
    this.copying.catch(() => undefined);
  }

  /** Ends the scan and its transaction. */
  end(): void {
    this.hasEnded = true;
    this.samples?.end();
    this.all?.end();
    this.file.endReading();
  }

  private async copyRest(): Promise<void> {
    let pauseAt = performance.now() + SLICE_MS;
    for (const listing of [this.samples, this.all]) {
      const steps = listing?.copy();
      while (steps !== undefined && steps.next().done !== true) {
        if (performance.now() < pauseAt) continue;
        await yieldToEventLoop();
        if (this.hasEnded) return;
        pauseAt = performance.now() + SLICE_MS;
      }
    }
    this.file.endReading();
  }
}
