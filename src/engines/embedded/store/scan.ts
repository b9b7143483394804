import { setImmediate as turn } from 'node:timers/promises';
import { type Position } from '../../../kernel/event';
import { type Filter, type Found } from '../../../kernel/query';
import { VERSION } from './bodies';
import { type GenerationFile } from './generation-file';
import { and, countOf, type Hits, hitsOf, matchingRows, withRanges } from './hits';
import { column } from './layout';
import { Listing } from './listing';
import { raw, sql } from './sql';
import { type StoreFile } from './store-file';

/** For how long (ms) is copied before other work of this thread goes on: the sooner it is done, the less the WAL grows. */
const SLICE_MS = 50;

/**
 * All documents that match, by id, as of the moment it began: one transaction on a connection that is open for this
 * alone. As long as it lasts, the WAL cannot be reused, and grows with whatever is written. So it may be ended early, or
 * made to go on from a copy.
 */
export class Scan {
  readonly checkpoint: Position;
  private readonly file: StoreFile;
  private readonly hits: Hits | undefined;
  private readonly all: Listing | undefined;
  private samples: Listing | undefined;
  private copying: Promise<void> | undefined;
  private hasEnded = false;

  /** Begins, with the documents whose ids come after one. */
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
    const later = and(after === undefined ? undefined : sql`k.id > ${after}`);
    const rows =
      hits.match === undefined && hits.values === undefined
        ? sql`FROM keys k WHERE true${and(hits.where)}`
        : matchingRows(hits, generation.layout);
    const query = sql`${withRanges(hits)} SELECT k.id, ${raw(VERSION)}, k.row ${rows}${later} ORDER BY k.id`;
    this.all = new Listing(this.file, query, 'rest');
  }

  /** How many match, but for those that come before. */
  count(): number {
    return this.hits === undefined ? 0 : countOf(this.generation, this.hits);
  }

  /**
   * Finds one document of each value of a field, for `nextSamples`. The first row of each is noted in one pass: to sort
   * all rows by the value would take three times as long.
   */
  sample(field: string): void {
    const { hits, file, generation } = this;
    if (hits === undefined) return;
    const value = raw(`k.${column(generation.layout.field(field, 'column').name)}`);
    file.execute('CREATE TEMP TABLE samples (value TEXT PRIMARY KEY, row INTEGER NOT NULL) WITHOUT ROWID');
    const noted = sql`INSERT OR IGNORE INTO samples ${withRanges(hits)}
      SELECT ${value}, k.row ${matchingRows(hits, generation.layout)} AND ${value} IS NOT NULL`;
    file.run(noted.text, ...noted.values);
    const query = sql`SELECT k.id, ${raw(VERSION)}, k.row FROM samples CROSS JOIN keys k USING (row) ORDER BY k.row`;
    this.samples = new Listing(file, query, 'rest_of_samples');
  }

  /** The next samples; undefined after the last ones. */
  async nextSamples(): Promise<readonly Found[] | undefined> {
    await this.copying;
    return this.samples?.next();
  }

  /** The next documents; undefined after the last ones, and once it has been ended. */
  async next(): Promise<readonly Found[] | undefined> {
    await this.copying;
    return this.all?.next();
  }

  /** Copies what is left into temporary tables and ends the transaction; whoever asks for the next ones waits for that. */
  copy(): void {
    this.copying ??= this.copyRest();
    // The next call raises it.
    this.copying.catch(() => undefined);
  }

  /** Ends the transaction, whatever is left. */
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
        await turn();
        if (this.hasEnded) return;
        pauseAt = performance.now() + SLICE_MS;
      }
    }
    this.file.endReading();
  }
}
