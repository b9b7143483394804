import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { z } from 'zod';
import { numberOf, type Position, type RecordedEvent, START } from '../kernel/event';
import { type EventBatch, type EventLog } from '../kernel/event-log';
import { codeOf } from '../kernel/values';
import { type Progress, ProgressMeter } from '../projector/progress-meter';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { CommandError, UsageError } from './command-error';
import { makeFolder, markImport, type ImportOrigin, syncFolder, unmarkImport } from '../engines/data-folder';
import { type Copied, copyLog, type CopyOptions } from './copy-log';
import {
  CSV_HEAD,
  csvBytes,
  fromLine,
  type LogRange,
  readRange,
  timeOf,
  toCsvRow,
  toLine,
  utf8Of,
} from './log-events';
import { Engine } from './sql/duckdb';
import { fileLines } from './text-files';

/** For their owner only: exports have hashes of tokens, and URLs of receivers with secrets in them. */
const FILE_MODE = 0o600;

/** The end of the range and of each file is decided by the events alone: the same range gives the same bytes. */
const EVENTS_PER_FILE = 100_000;
/** Bytes of data and metadata after which a Parquet file ends: DuckDB needs up to nine times as much memory. */
const BYTES_PER_PARQUET = 32 * 1024 * 1024;
const CHUNK = 1024 * 1024;

const position = z.string().regex(/^\d{19}$/);
/** What an export is described by. */
export const MANIFEST = z.strictObject({
  format: z.enum(['ndjson', 'csv', 'parquet']),
  gzip: z.boolean(),
  range: z.strictObject({
    types: z.array(z.string()),
    streams: z.array(z.string()),
    since: z.number().exactOptional(),
    until: z.number().exactOptional(),
    after: position,
    upTo: position,
  }),
  isComplete: z.boolean(),
  /** Of all files. */
  events: z.int(),
  /** In order; positions are those of the first and the last event. */
  files: z.array(
    z.strictObject({
      name: z.string().regex(/^[\w.-]+$/),
      events: z.int(),
      bytes: z.int(),
      sha256: z.string(),
      first: position,
      last: position,
      /** By which an export is continued with its own log only. */
      lastEvent: z.strictObject({ stream: z.string(), revision: z.int(), id: z.string() }),
    }),
  ),
});

/** What an export consists of: `manifest.json` in its folder. */
export type ExportManifest = z.output<typeof MANIFEST>;
type ExportedFile = ExportManifest['files'][number];

export interface ExportProgress extends Progress {
  readonly phase: 'export';
}

export interface ExportOptions {
  readonly format: ExportManifest['format'];
  readonly gzip: boolean;
  readonly range: LogRange;
  readonly onProgress?: (progress: ExportProgress) => void;
  /** Stops; a further call continues. */
  readonly signal?: AbortSignal;
  /** One that is complete is continued up to the present end of the log. */
  readonly grows?: boolean;
  /** Tests have smaller files. */
  readonly eventsPerFile?: number;
}

/**
 * Writes the events of a range to files in a folder, and continues an interrupted export there. Files are complete
 * once the manifest names them. Raises `CommandError` and system errors.
 */
export async function exportLog(
  log: EventLog,
  folder: string,
  { format, gzip, range, onProgress, signal, grows = false, eventsPerFile = EVENTS_PER_FILE }: ExportOptions,
): Promise<ExportManifest> {
  if (format === 'parquet' && gzip)
    throw new UsageError('--gzip: expected another format, since Parquet files are compressed');
  await makeFolder(folder);
  const begun = await manifestIn(folder);
  if (begun === undefined && (await readdir(folder)).some((name) => name !== PART))
    throw new CommandError(`${folder}: expected an empty folder, or one with an export to continue`);
  if (begun !== undefined) await requireOwnLog(folder, begun, log);
  const upTo = range.upTo ?? (grows ? undefined : begun?.range.upTo) ?? (await log.head());
  if (upTo > (await log.head()))
    throw new CommandError(`position ${numberOf(upTo)} is after the end of the log`);
  let manifest: ExportManifest = {
    ...{ format, gzip, range: { ...range, upTo, types: [...range.types], streams: [...range.streams] } },
    ...{ isComplete: false, events: 0, files: [] },
  };
  if (begun !== undefined) {
    const asked = grows ? { ...manifest.range, upTo: begun.range.upTo } : manifest.range;
    if (!isDeepStrictEqual([begun.format, begun.gzip, begun.range], [format, gzip, asked]))
      throw new CommandError(`${folder} has an export with other options: choose another folder`);
    await requireSizes(folder, begun);
    const isBehind = begun.range.upTo < upTo;
    manifest = isBehind ? { ...begun, isComplete: false, range: manifest.range } : begun;
  }
  if (manifest.isComplete) return manifest;
  if (begun === undefined) await writeManifest(folder, manifest);
  const meter = new ProgressMeter(SYSTEM_CLOCK);
  const onBatch = ({ events, position: at }: EventBatch): void => {
    meter.count(events.length);
    onProgress?.({ phase: 'export', ...meter.towards(upTo, at) });
  };
  const after = manifest.files.at(-1)?.last ?? range.after;
  const source = new CopiedBatches(readRange(log, { ...manifest.range, after }, { signal }), onBatch);
  while (!(await source.isOver())) {
    const name = `events-${String(manifest.files.length + 1).padStart(6, '0')}.${format}${gzip ? '.gz' : ''}`;
    const write = format === 'parquet' ? writeParquet : writeFile;
    const runs = source.take(eventsPerFile, format === 'parquet' ? BYTES_PER_PARQUET : Infinity);
    const file = await write(folder, name, runs, manifest);
    manifest = { ...manifest, events: manifest.events + file.events, files: [...manifest.files, file] };
    await writeManifest(folder, manifest);
  }
  manifest = { ...manifest, isComplete: true };
  await writeManifest(folder, manifest);
  return manifest;
}

async function requireOwnLog(folder: string, { files }: ExportManifest, log: EventLog): Promise<void> {
  const file = files.at(-1);
  if (file === undefined) return;
  const { last, lastEvent } = file;
  const { stream, revision, id } = lastEvent;
  let found: RecordedEvent | undefined;
  for await (const [event] of log.readStream(stream, { from: revision, limit: 1 })) found ??= event;
  if (found?.id === id && found.position === last) return;
  throw new CommandError(
    `${folder} has an export of another log: its last event is ${id} of ${stream} at position ${numberOf(last)}, and in this log ` +
      `${found === undefined ? 'there is none' : `it is ${found.id} at position ${numberOf(found.position)}`}: continue it with ` +
      'its own log (EVENT_LOG, DATA_DIR), or export this one to an empty folder',
  );
}

/** Hands out the events of batches, a file at a time. */
class CopiedBatches {
  private readonly batches: AsyncIterator<EventBatch>;
  private ready: readonly RecordedEvent[] = [];

  constructor(
    batches: AsyncIterable<EventBatch>,
    private readonly onBatch: (batch: EventBatch) => void,
  ) {
    this.batches = batches[Symbol.asyncIterator]();
  }

  async isOver(): Promise<boolean> {
    while (this.ready.length === 0) {
      const next = await this.batches.next();
      if (next.done === true) return true;
      this.onBatch(next.value);
      this.ready = next.value.events;
    }
    return false;
  }

  /** At most so many events, in runs, up to the one with which they have more than `mostBytes`. */
  async *take(most: number, mostBytes: number): AsyncGenerator<readonly RecordedEvent[]> {
    let [left, bytes] = [most, 0];
    while (left > 0 && bytes <= mostBytes && !(await this.isOver())) {
      let length = 0;
      for (; length < Math.min(left, this.ready.length) && bytes <= mostBytes; length += 1)
        bytes += bytesIn(this.ready[length]);
      const run = this.ready.slice(0, length);
      this.ready = this.ready.slice(length);
      left -= length;
      yield run;
    }
  }
}

function bytesIn(event: RecordedEvent | undefined): number {
  return event === undefined ? 0 : Buffer.byteLength(event.data) + Buffer.byteLength(event.meta);
}

async function writeFile(
  folder: string,
  name: string,
  runs: AsyncIterable<readonly RecordedEvent[]>,
  { format, gzip }: ExportManifest,
): Promise<ExportedFile> {
  const part = join(folder, `${name}.part`);
  const hash = createHash('sha256');
  let bytes = 0;
  let events = 0;
  let first: RecordedEvent | undefined;
  let last: RecordedEvent | undefined;
  async function* chunks(): AsyncGenerator<Buffer> {
    const [write, bytesOf] = format === 'csv' ? [toCsvRow, csvBytes] : [toLine, utf8Of];
    let texts = format === 'csv' ? [CSV_HEAD] : [];
    let length = 0;
    for await (const run of runs) {
      events += run.length;
      first ??= run[0];
      last = run.at(-1) ?? last;
      for (const event of run) {
        const text = write(event);
        texts.push(text);
        length += text.length;
        if (length < CHUNK) continue;
        yield bytesOf(texts);
        [texts, length] = [[], 0];
      }
    }
    yield bytesOf(texts);
  }
  async function* measured(written: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of written) {
      hash.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  }
  const out = createWriteStream(part, { flush: true, mode: FILE_MODE });
  if (gzip) await pipeline(chunks, createGzip(), measured, out);
  else await pipeline(chunks, measured, out);
  await rename(part, join(folder, name));
  return exported({ name, events, bytes, sha256: hash.digest('hex') }, first, last);
}

function exported(
  file: Pick<ExportedFile, 'name' | 'events' | 'bytes' | 'sha256'>,
  first: RecordedEvent | undefined,
  last: RecordedEvent | undefined,
): ExportedFile {
  if (first === undefined || last === undefined) throw new Error(`${file.name} has no events`);
  const { stream, revision, id } = last;
  return { ...file, first: first.position, last: last.position, lastEvent: { stream, revision, id } };
}

/** By one thread, which writes the same bytes always. */
const ENGINE = { threads: '1', memory_limit: '256MB' } as const;
const COLUMNS = ['position', 'stream', 'revision', 'id', 'type', 'at', 'meta', 'data'] as const;

/** Raises `CommandError` if DuckDB is not installed. */
async function writeParquet(
  folder: string,
  name: string,
  runs: AsyncIterable<readonly RecordedEvent[]>,
): Promise<ExportedFile> {
  const path = join(folder, name);
  // What does not fit into memory.
  const spill = `${path}.spill`;
  const engine = await Engine.open({ ...ENGINE, temp_directory: spill });
  let first: RecordedEvent | undefined;
  let last: RecordedEvent | undefined;
  try {
    const table = await engine.table('exported', COLUMNS, ['position', 'revision']);
    for await (const run of runs)
      for (const event of run) {
        const { position: at, stream, revision, id, type, meta, data } = event;
        table.append(BigInt(at), stream, BigInt(revision), id, type, timeOf(event) ?? '', meta, data);
        first ??= event;
        last = event;
      }
    table.end();
    const times = 'SELECT * REPLACE (try_cast(nullif("at", \'\') AS TIMESTAMPTZ) AS "at") FROM exported';
    await engine.writeParquet(times, path, `${path}.part`);
    const hash = createHash('sha256');
    await pipeline(createReadStream(path), hash);
    const { size: bytes } = await stat(path);
    return exported({ name, events: table.rows, bytes, sha256: hash.digest('hex') }, first, last);
  } finally {
    engine.close();
    await rm(spill, { recursive: true, force: true });
  }
}

const FILE = 'manifest.json';
/** The first that an export writes: one that was killed by then has nothing else. */
const PART = `${FILE}.part`;

async function writeManifest(folder: string, manifest: ExportManifest): Promise<void> {
  const part = join(folder, PART);
  const file = await open(part, 'w', FILE_MODE);
  await file.writeFile(`${JSON.stringify(manifest, null, 2)}\n`);
  await file.sync();
  await file.close();
  // The files that it names are in the folder before it is.
  await syncFolder(folder);
  await rename(part, join(folder, FILE));
  await syncFolder(folder);
}

/** Undefined if there is none. Raises `CommandError` for an unusable one. */
export async function manifestIn(folder: string): Promise<ExportManifest | undefined> {
  const path = join(folder, FILE);
  try {
    return MANIFEST.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    if (error instanceof z.ZodError || error instanceof SyntaxError)
      throw new CommandError(`${path}: expected the manifest of \`affilog log export\`: ${error.message}`);
    throw error;
  }
}

async function requireSizes(folder: string, { files }: ExportManifest): Promise<void> {
  for (const { name, bytes } of files) {
    const { size } = await stat(join(folder, name));
    if (size !== bytes) throw new CommandError(`${join(folder, name)} has ${size} bytes: expected ${bytes}`);
  }
}

export interface ImportOptions extends Omit<CopyOptions, 'beforeAppends'> {
  /** Marked from the first append until the imported log is verified: nothing else opens the engines meanwhile. */
  readonly dataDir: string;
}

interface FilesOptions extends ImportOptions {
  /** The content of the mark. */
  readonly origin: ImportOrigin;
  /** Called before the mark is removed. */
  readonly beforeEnd?: () => Promise<void>;
}

/**
 * Appends the events of a complete export of a whole log to an empty log; continues an interrupted import. The files
 * are verified by the manifest before anything is appended. Raises `CommandError` and system errors.
 */
export async function importLog(folder: string, to: EventLog, options: ImportOptions): Promise<Copied> {
  const manifest = await manifestIn(folder);
  if (manifest === undefined) throw new CommandError(`${join(folder, FILE)} is missing: expected an export`);
  return await importFiles(folder, manifest, to, { ...options, origin: { from: folder } });
}

/** The same of the files that a manifest names. */
export async function importFiles(
  folder: string,
  { format, isComplete, events, range, files }: ExportManifest,
  to: EventLog,
  { dataDir, origin, beforeEnd, ...options }: FilesOptions,
): Promise<Copied> {
  if (!isComplete)
    throw new CommandError(`${folder}: the export was interrupted; run it again to complete it`);
  const isWhole = range.types.length + range.streams.length === 0 && range.after === START;
  if (format !== 'ndjson' || !isWhole || range.since !== undefined || range.until !== undefined)
    throw new CommandError(`${folder}: expected an export of the whole log in NDJSON, without a selection`);
  for (const file of files) await verifyFile(folder, file, options.signal);
  const copied = await copyLog(
    { head: async () => files.at(-1)?.last ?? START, readAll: () => batchesIn(folder, files) },
    to,
    { ...options, beforeAppends: () => markImport(dataDir, origin) },
  );
  if (copied.events !== events)
    throw new CommandError(`${folder} has ${copied.events} events: expected ${events}`);
  await beforeEnd?.();
  await unmarkImport(dataDir);
  return copied;
}

/** Raises `CommandError` for a damaged file. */
async function verifyFile(
  folder: string,
  { name, sha256 }: ExportedFile,
  signal?: AbortSignal,
): Promise<void> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(join(folder, name)), hash, { signal });
  if (hash.digest('hex') !== sha256)
    throw new CommandError(`${join(folder, name)} is damaged: its SHA-256 is not that of the manifest`);
}

/** The events of an export in NDJSON. Raises `CommandError`. */
export async function* batchesIn(folder: string, files: ExportManifest['files']): AsyncGenerator<EventBatch> {
  for (const { name } of files) {
    let events: RecordedEvent[] = [];
    let at: Position = START;
    for await (const { line, text } of fileLines(join(folder, name), () => undefined, MAX_EVENT)) {
      const event = text === undefined ? undefined : fromLine(text);
      if (event === undefined)
        throw new CommandError(`${join(folder, name)}, line ${line}: expected an event`);
      events.push(event);
      at = event.position;
      if (events.length < BATCH) continue;
      yield { events, position: at, caughtUp: false };
      events = [];
    }
    if (events.length > 0) yield { events, position: at, caughtUp: false };
  }
}

/** Events that are appended or compared at a time, and bytes of a line: more than an append may have. */
const BATCH = 500;
const MAX_EVENT = 4 * 1024 * 1024;
