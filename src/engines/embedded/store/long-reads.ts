import { setTimeout as pause, setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type Position } from '../../../kernel/event';
import { type Filter, type Found } from '../../../kernel/query';
import { type SnapshotBatch } from '../../../kernel/read-store';
import { type GenerationFile } from './generation-file';
import { countedGroups } from './groups';
import { countIn, documentOf, keysOf, selectionOf, VERSION } from './search';
import { type SqlRow, type StoreFile } from './store-file';

/** No long read starts while the WAL is larger (bytes), as it would block the reuse of the WAL. */
const MAX_WAL = 128 * 1024 * 1024;
/** How long (ms) a long read waits for a smaller WAL, and how often it checks. */
const WAIT_MS = { longest: 30_000, poll: 50 } as const;

/**
 * All matching documents from one snapshot, after the samples if requested. After `maxMs` the rest of both is copied
 * and the snapshot ends, however slow the consumer is.
 */
export async function* snapshot(
  generation: GenerationFile,
  filter: Filter,
  samplesOf: string | undefined,
  maxMs: number,
): AsyncGenerator<SnapshotBatch> {
  await waitForSmallWal(generation);
  const scan = new Scan(generation, filter);
  const timer = setTimeout(() => scan.copy(), maxMs).unref();
  try {
    const summary = { total: scan.total, checkpoint: scan.checkpoint };
    if (samplesOf !== undefined) scan.sample(samplesOf);
    for (let batch = await scan.nextSamples(); batch !== undefined; batch = await scan.nextSamples())
      yield { found: [], samples: batch, ...summary };
    yield { found: [], ...summary };
    for (let found = await scan.next(); found !== undefined; found = await scan.next()) {
      yield { found, ...summary };
      await yieldToEventLoop();
    }
  } finally {
    clearTimeout(timer);
    scan.end();
    shrinkWal(generation);
  }
}

/** All matching documents after an id, from a sequence of snapshots, each at most `maxMs` long. */
export async function* resumedScan(
  generation: GenerationFile,
  filter: Filter,
  first: string | undefined,
  maxMs: number,
): AsyncGenerator<readonly Found[]> {
  let after = first;
  for (let isWhole = false; !isWhole;) {
    await waitForSmallWal(generation);
    const scan = new Scan(generation, filter, after);
    let hasExpired = false;
    const timer = setTimeout(() => {
      hasExpired = true;
      scan.end();
    }, maxMs).unref();
    try {
      for (let found = await scan.next(); found !== undefined; found = await scan.next()) {
        after = found.at(-1)?.id;
        yield found;
        await yieldToEventLoop();
      }
      isWhole = !hasExpired;
    } finally {
      clearTimeout(timer);
      scan.end();
    }
  }
  shrinkWal(generation);
}

/**
 * Waits, up to a limit, until a large WAL is truncated. That needs a moment without long reads, which would never come
 * if a new one always started before the last one ended.
 */
async function waitForSmallWal(generation: GenerationFile): Promise<void> {
  const deadline = performance.now() + WAIT_MS.longest;
  while (generation.walBytes() > MAX_WAL && performance.now() < deadline) {
    generation.truncateWal();
    if (generation.walBytes() <= MAX_WAL) return;
    await pause(WAIT_MS.poll);
  }
}

/** Truncates a WAL that grew during a long read: without this it might stay large, as the next write may be far off. */
function shrinkWal(generation: GenerationFile): void {
  if (generation.walBytes() > MAX_WAL) generation.truncateWal();
}

/**
 * How long (ms) to copy before other work of this thread runs. Long slices, as the WAL grows until the copy is
 * complete.
 */
const SLICE_MS = 50;

/**
 * All matching documents by id, from one snapshot: a transaction on a separate connection. While it lasts, the WAL
 * cannot be reused and grows with every write. So a scan can be ended early, or continue from a copy.
 */
class Scan {
  readonly checkpoint: Position;
  /** The number of matching documents, whatever `after` is. */
  readonly total: number;
  private readonly file: StoreFile;
  private readonly all: Listing;
  private samples: Listing | undefined;
  private copying: Promise<void> | undefined;
  private hasEnded = false;

  /** Starts the transaction. `after`: only documents with greater ids. */
  constructor(
    private readonly generation: GenerationFile,
    private readonly filter: Filter,
    after?: string,
  ) {
    this.file = generation.file;
    this.file.execute('BEGIN');
    this.checkpoint = generation.checkpoint();
    const selection = selectionOf(filter, generation.layout);
    this.total = countIn(generation, selection);
    const { index, check } = generation;
    const rows = index.rows(selection.filter, selection.partitions, after, check);
    this.all = new Listing(this.file, rows, 'rest');
  }

  /** Finds one document per value of a field, for `nextSamples`. */
  sample(field: string): void {
    const groups = countedGroups(this.generation, this.filter, field);
    const rows = Array.from(groups.values(), ({ row }) => row).sort((a, b) => a - b);
    this.samples = new Listing(this.file, rows.values(), 'rest_of_samples');
  }

  /** The next samples; undefined at the end. */
  async nextSamples(): Promise<readonly Found[] | undefined> {
    await this.copying;
    return this.samples?.next();
  }

  /** The next documents; undefined at the end, and after `end`. */
  async next(): Promise<readonly Found[] | undefined> {
    await this.copying;
    return this.all.next();
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
    this.all.end();
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

/** Documents per batch: few enough to be collected as short-lived garbage. */
const BATCH = 100;
/** Documents copied per statement. */
const COPY_BATCH = 500;

/** Documents of these rows, read in the current transaction, or from a copy that outlasts it. */
class Listing {
  /** Rows of id, version and body, if copied. */
  private copied: Generator<SqlRow, undefined> | undefined;
  private hasTable = false;

  /** `table` is the name of the temporary table for the copy. */
  constructor(
    private readonly file: StoreFile,
    private readonly rows: Iterator<number, undefined>,
    private readonly table: string,
  ) {}

  /** The next documents; undefined after the last ones. */
  next(): readonly Found[] | undefined {
    const found =
      this.copied === undefined
        ? withBodies(this.file, take(this.rows, BATCH))
        : take(this.copied, BATCH).map(documentOf);
    return found.length === 0 ? undefined : found;
  }

  /** Copies the rest in steps. After the last step, the transaction may end. */
  *copy(): Generator<undefined> {
    const { file, table } = this;
    this.hasTable = true;
    file.execute(`CREATE TEMP TABLE ${table} (n INTEGER PRIMARY KEY, id TEXT, version TEXT, body TEXT)`);
    for (let rows = take(this.rows, COPY_BATCH); rows.length > 0; rows = take(this.rows, COPY_BATCH)) {
      file.run(
        `INSERT INTO ${table} (id, version, body)
         SELECT k.id, ${VERSION}, b.body FROM json_each(?) j CROSS JOIN keys k ON k.row = j.value CROSS JOIN bodies b USING (row)`,
        JSON.stringify(rows),
      );
      yield;
    }
    this.copied = file.each(`SELECT id, version, body FROM ${table} ORDER BY n`);
  }

  end(): void {
    this.rows.return?.(undefined);
    this.copied?.return(undefined);
    if (this.hasTable) this.file.attempt(`DROP TABLE IF EXISTS temp.${this.table}`);
  }
}

function take<Item>(items: Iterator<Item, undefined>, most: number): readonly Item[] {
  const next: Item[] = [];
  while (next.length < most) {
    const { done, value } = items.next();
    if (done === true) break;
    next.push(value);
  }
  return next;
}

function withBodies(file: StoreFile, rows: readonly number[]): readonly Found[] {
  const keys = keysOf(file, rows);
  const bodies = file.all(
    'SELECT b.row, b.body FROM json_each(?) j CROSS JOIN bodies b ON b.row = j.value',
    JSON.stringify(rows),
  );
  const byRow = new Map(bodies.map(([row, body]) => [row, body]));
  return keys.map(([id = null, version = null], at) =>
    documentOf([id, version, byRow.get(rows[at]) ?? null]),
  );
}
