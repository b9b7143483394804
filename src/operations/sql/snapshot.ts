import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { feeds, storedFeeds } from '../../../projections/feeds';
import { numberOf, type RecordedEvent, START } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { EVERYTHING, type Found } from '../../kernel/query';
import { NoGeneration, type ReadStore, type Target, targetOf } from '../../kernel/read-store';
import { defined, without } from '../../kernel/values';
import { type Directory } from '../../network/directory';
import { liveGeneration, nameOf } from '../../projector/generations';
import { keyOf, listParked } from '../../projector/parked';
import { type Progress, ProgressMeter } from '../../projector/progress-meter';
import { IncomingEvent, type Projection } from '../../projector/projection';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { masked } from '../log-events';
import { EVENT_TABLES, literal, OTHER, STORED_ONLY } from './columns';
import { Engine, type TableWriter } from './duckdb';
import {
  type File,
  isCurrent,
  type SnapshotManifest,
  manifestOf,
  type ParkedThen,
  removeOthers,
  replaceManifest,
  type StoredModel,
  currentOf,
  parquetIn,
  selectModel,
  selectOf,
  type SqlSnapshot,
  snapshotOf,
  tableOf,
} from './manifest';
import { LAYOUT, MODEL_TABLES, type ModelTable } from './models';

/** What a snapshot is made of, and where. */
export interface SnapshotParts {
  readonly dataDir: string;
  readonly log: EventLog;
  readonly store: ReadStore;
  /** The log of deliveries. */
  readonly deliveries: () => Promise<EventLog>;
  /** As of the end of the log. */
  readonly directory: () => Promise<Directory>;
}

export interface SnapshotProgress extends Progress {
  readonly phase: 'snapshot';
}

export interface KeepUpOptions {
  /** The read models that are brought up to date; by default none. */
  readonly models?: readonly string[];
  readonly onProgress?: (progress: SnapshotProgress) => void;
  readonly signal?: AbortSignal;
  /** Another path to the folder of the snapshot, which the views have. */
  readonly pathTo?: (folder: string) => string;
  /** Tests have smaller segments. */
  readonly segment?: number;
}

/** The folder in the data folder. */
export const ANALYTICS = 'analytics';

/** Events of a file that the log is cut into, before files are merged. */
const SEGMENT = 20_000;
/** So many files at the end of a list, each with fewer rows than a limit, become one. */
const MERGED = 8;
const MERGE_LIMITS = [1_000, 10_000, 100_000] as const;
/** Changed documents that are kept beside the others until all become one file. */
const MOST_CHANGED = 100_000;
/** Documents that are read from the read store at a time. */
const GET = 1_000;

const SETTINGS = { threads: '1', memory_limit: '192MB', autoinstall_known_extensions: 'false' } as const;

/**
 * Brings the snapshot in `DATA_DIR/analytics` up to the end of the log, and some read models to their checkpoints
 * (`docs/decisions.md#x115`). Only ports are read, never files of a server. Several processes may
 * do this at once: what each has written is complete. After a crash, the next call continues. Raises `CommandError`.
 */
export async function keepUp(parts: SnapshotParts, options: KeepUpOptions = {}): Promise<SqlSnapshot> {
  const analytics = join(parts.dataDir, ANALYTICS);
  const folder = join(analytics, LAYOUT);
  const manifest = await manifestOf(folder, parts.log);
  const opened: { engine?: Engine } = {};
  const engine = async (): Promise<Engine> => {
    if (opened.engine !== undefined) return opened.engine;
    opened.engine = await Engine.open(SETTINGS, analytics);
    // First: this run may be killed like those before, which have left what they had.
    await removeOthers(analytics, manifest);
    return opened.engine;
  };
  try {
    const maker = new Maker(parts, folder, engine, manifest);
    await maker.readLog(options);
    for (const name of options.models ?? []) {
      options.signal?.throwIfAborted();
      await maker.readModel(name, options);
    }
    return snapshotOf(options.pathTo?.(folder) ?? folder, maker.manifest);
  } finally {
    opened.engine?.close();
  }
}

class Maker {
  constructor(
    private readonly parts: SnapshotParts,
    private readonly folder: string,
    private readonly engine: () => Promise<Engine>,
    public manifest: SnapshotManifest,
  ) {}

  async readLog({ onProgress, signal, segment = SEGMENT }: KeepUpOptions): Promise<void> {
    const { log } = this.parts;
    const head = await log.head();
    const after = this.manifest.last?.position ?? START;
    if (head <= after) return;
    const meter = new ProgressMeter(SYSTEM_CLOCK);
    let writer: TableWriter | undefined;
    let last: RecordedEvent | undefined;
    for await (const { events, position: at } of log.readAll({ after })) {
      signal?.throwIfAborted();
      for (const event of events) {
        if (event.position > head) break;
        writer ??= await this.rawEvents();
        writer.append(...rawOf(masked(event)));
        last = event;
        if (writer.rows < segment) continue;
        await this.writeSegment(writer, last);
        writer = undefined;
      }
      meter.count(events.length);
      onProgress?.({ phase: 'snapshot', ...meter.towards(head, at) });
      if (at >= head) break;
    }
    if (writer !== undefined && last !== undefined) await this.writeSegment(writer, last);
  }

  private async rawEvents(): Promise<TableWriter> {
    const columns = ['position', 'stream', 'revision', 'id', 'type', 'json', 'meta'];
    return await (await this.engine()).table('raw', columns, ['position', 'revision']);
  }

  private async writeSegment(writer: TableWriter, last: RecordedEvent): Promise<void> {
    writer.end();
    const engine = await this.engine();
    const range = `${this.manifest.last?.position ?? START}-${last.position}`;
    const counts = await engine.rows('SELECT type, count(*) FROM raw GROUP BY type');
    const rows = new Map<string, number>();
    for (const [type, count] of counts) {
      const known = EVENT_TABLES.has(String(type)) ? String(type) : OTHER;
      rows.set(known, (rows.get(known) ?? 0) + Number(count));
    }
    const known = [...EVENT_TABLES.keys()].map(literal).join(', ');
    const events = { ...this.manifest.events };
    for (const [type, count] of rows) {
      const table = tableOf(type);
      const which =
        type === OTHER ? `type NOT IN (${known}) OR type = ${literal(OTHER)}` : `type = ${literal(type)}`;
      const name = `${type}/${range}.parquet`;
      const columns = [...table.columns, ...STORED_ONLY];
      await engine.writeParquet(
        selectOf(table, columns, `SELECT * FROM raw WHERE ${which}`),
        join(this.folder, name),
      );
      events[type] = await this.merged(type, [...(events[type] ?? []), { name, rows: count }]);
    }
    const { position: at, stream, revision, id } = last;
    await this.save({ ...this.manifest, events, last: { position: at, stream, revision, id } });
  }

  /** As few files as lets each event be written a few times only. */
  private async merged(type: string, files: readonly File[]): Promise<File[]> {
    let all = [...files];
    for (const limit of MERGE_LIMITS) {
      const begin = all.findLastIndex(({ rows }) => rows >= limit) + 1;
      const small = all.slice(begin);
      if (small.length < MERGED) continue;
      const [from] = rangeIn(small[0]);
      const [, until] = rangeIn(small.at(-1));
      const name = `${type}/${from}-${until}.parquet`;
      const query = `SELECT * FROM ${this.parquet(small)}`;
      await (await this.engine()).writeParquet(query, join(this.folder, name));
      all = [...all.slice(0, begin), { name, rows: small.reduce((sum, { rows }) => sum + rows, 0) }];
    }
    return all;
  }

  async readModel(name: string, options: KeepUpOptions): Promise<void> {
    const table = MODEL_TABLES.get(name);
    if (table === undefined) return;
    const stored =
      table.projection === undefined
        ? undefined
        : await this.readStored(name, table, table.projection, options);
    const model = stored ?? (await this.readReference(name, table));
    if (model === this.manifest.models[name]) return;
    await this.save({
      ...this.manifest,
      models: { ...this.manifest.models, [name]: model },
      readings: without(this.manifest.readings, name),
    });
  }

  /** Reads the documents that have changed, or all of them. */
  private async readStored(
    name: string,
    table: ModelTable,
    projection: Projection,
    options: KeepUpOptions,
  ): Promise<StoredModel> {
    const { store } = this.parts;
    const live = await liveGeneration(store, projection.collection);
    const target = live === undefined ? { collection: projection.collection.name } : targetOf(live);
    const checkpoint = await store.checkpoint(target);
    const generation = live?.number ?? 0;
    // Before the documents are read: what is retried meanwhile is read again next time.
    const parked = live === undefined ? [] : await this.parkedIn(nameOf(live));
    const now = { position: checkpoint, generation, ...(parked.length === 0 ? {} : { parked }) };
    await store.refresh(target, checkpoint);
    const before = this.manifest.models[name];
    let model = before?.generation === generation ? before : undefined;
    let ids = model && (await this.changedIds(projection, model, now));
    if (model === undefined || ids === undefined) {
      model = await this.readAll(name, table, target, now, options);
      // What expires, or what another event has changed since it was begun, is read again next time.
      ids = await this.changedIds(projection, model, now);
      if (ids === undefined) return model;
    }
    const { base, changed } = model;
    if (ids.size === 0) return isSame(model, now) ? model : { ...now, base, ...defined({ changed }) };
    const raw = await this.rawDocuments();
    for await (const found of this.documents(target, [...ids])) appendTo(raw, found);
    raw.end();
    return { ...now, ...(await this.withChanges(model, this.nameOf(name, now), table, ids)) };
  }

  /**
   * Reads all documents into files of a segment each, which stay if this process ends: the next one continues behind
   * the last document, so it is as of when the first one began.
   */
  private async readAll(
    name: string,
    table: ModelTable,
    target: Target,
    now: Omit<StoredModel, 'base' | 'changed'>,
    { signal, segment = SEGMENT }: KeepUpOptions,
  ): Promise<StoredModel> {
    const begun = this.manifest.readings[name];
    let reading =
      begun !== undefined && isCurrent(begun, now) ? begun : { ...now, files: [], after: '', at: 0 };
    let raw = await this.rawDocuments();
    const write = async (): Promise<File[]> => {
      raw.end();
      return [...reading.files, await this.writeModel(this.nameOf(name, now), selectModel(table))];
    };
    const after = reading.files.length === 0 ? undefined : reading.after;
    for await (const found of this.parts.store.scan(target, EVERYTHING, after)) {
      signal?.throwIfAborted();
      appendTo(raw, found);
      if (raw.rows < segment) continue;
      const at = SYSTEM_CLOCK.wall();
      reading = { ...reading, files: await write(), after: found.at(-1)?.id ?? reading.after, at };
      await this.save({ ...this.manifest, readings: { ...this.manifest.readings, [name]: reading } });
      raw = await this.rawDocuments();
    }
    const { position: began, generation, parked } = reading;
    return { position: began, generation, ...defined({ parked }), base: await write() };
  }

  /** Documents may differ at the same checkpoint, and files are never replaced. */
  private nameOf(model: string, { position: at, generation }: Omit<StoredModel, 'base'>): string {
    return `${model}/${at}-${generation}-${SYSTEM_CLOCK.uuid()}`;
  }

  private async parkedIn(generation: string): Promise<ParkedThen[]> {
    try {
      const all = await listParked(this.parts.store, generation);
      return all.map(({ document, stream, position }) => ({ ...defined({ document }), stream, position }));
    } catch (error) {
      if (error instanceof NoGeneration) return [];
      throw error;
    }
  }

  private async *documents(target: Target, ids: readonly string[]): AsyncGenerator<readonly Found[]> {
    for (let at = 0; at < ids.length; at += GET)
      yield await this.parts.store.get(target, ids.slice(at, at + GET));
  }

  private async withChanges(
    { base, changed }: Pick<StoredModel, 'base' | 'changed'>,
    name: string,
    table: ModelTable,
    ids: ReadonlySet<string>,
  ): Promise<Pick<StoredModel, 'base' | 'changed'>> {
    const engine = await this.engine();
    const all = await engine.table('changed_ids', ['id'], []);
    for (const id of ids) all.append(id);
    all.end();
    const kept =
      changed === undefined
        ? ''
        : `SELECT * FROM ${this.parquet([changed])} WHERE "_id" NOT IN (SELECT id FROM changed_ids) UNION ALL BY NAME `;
    const gone = 'SELECT id AS "_id" FROM changed_ids WHERE id NOT IN (SELECT id FROM raw)';
    // All changes since the base are in it: so its name has that of the base.
    const since = base[0]?.name.replace(/^.*\/|\.parquet$/g, '') ?? '';
    const file = await this.writeModel(
      `${name}-since-${since}`,
      `${kept}${selectModel(table)} UNION ALL BY NAME ${gone}`,
    );
    if (file.rows < MOST_CHANGED) return { base, changed: file };
    return { base: [await this.writeModel(name, this.current({ base, changed: file }))] };
  }

  private async writeModel(name: string, query: string): Promise<File> {
    const engine = await this.engine();
    const file = `${name}.parquet`;
    await engine.writeParquet(query, join(this.folder, file));
    const [[rows] = []] = await engine.rows(
      `SELECT count(*) FROM ${this.parquet([{ name: file, rows: 0 }])}`,
    );
    return { name: file, rows: Number(rows) };
  }

  /** Undefined if all documents may have changed. */
  private async changedIds(
    projection: Projection,
    { position: after, parked }: StoredModel,
    { position: upTo, parked: parkedNow }: Omit<StoredModel, 'base'>,
  ): Promise<ReadonlySet<string> | undefined> {
    const retried = retriedSince(parked ?? [], parkedNow ?? []);
    if (after === upTo && retried.length === 0) return new Set();
    // Documents that expire are removed without an event.
    if (projection.expires !== undefined || after > upTo) return undefined;
    const { log } = this.parts;
    const ids = new Set<string>();
    for (const { document } of retried) {
      if (document === undefined) return undefined;
      ids.add(document);
    }
    if (after === upTo) return ids;
    const prefixes = [...projection.streams, ...(projection.fanOut === undefined ? [] : FAN_OUT)];
    for await (const { events, position: at } of log.readAll({ after, prefixes })) {
      for (const event of events) {
        if (event.position > upTo) return ids;
        if (FAN_OUT.some((prefix) => event.stream.startsWith(prefix))) return undefined;
        if (projection.handles.includes(event.type))
          ids.add(new IncomingEvent(event).documentIdFor(projection));
        if (ids.size > MOST_CHANGED) return undefined;
      }
      if (at >= upTo) break;
    }
    return ids;
  }

  private async rawDocuments(): Promise<TableWriter> {
    return await (await this.engine()).table('raw', ['position', 'id', 'json'], ['position']);
  }

  /** Definitions in the directory, and what is known of feeds. */
  private async readReference(name: string, table: ModelTable): Promise<StoredModel> {
    const head = this.manifest.last?.position ?? START;
    const before = this.manifest.models[name];
    if (before?.position === head) return before;
    const { programs } = await this.parts.directory();
    const raw = await this.rawDocuments();
    let asOf = head;
    const at = BigInt(numberOf(head));
    if (name === 'programs')
      for (const program of programs.all()) raw.append(at, String(program.id), JSON.stringify(program));
    if (name === 'sites')
      for (const site of programs.allSites()) {
        const programIds = [...programs.connectionsOf(site.id)];
        raw.append(at, String(site.id), JSON.stringify({ ...site, programIds }));
      }
    if (name === 'feeds') {
      const all = [...programs.allFeeds()];
      // While it is behind, the table is read again by each statement.
      const checkpoint = await this.parts.store.checkpoint({ collection: feeds.collection.name });
      if (checkpoint < head) asOf = checkpoint;
      const states = await storedFeeds(
        this.parts.store,
        all.map(({ id }) => id),
      );
      for (const feed of all) {
        const published = states.get(feed.id)?.published.at(-1)?.at;
        raw.append(at, String(feed.id), JSON.stringify({ ...feed, published }));
      }
    }
    raw.end();
    const now = { position: asOf, generation: 0 };
    return { ...now, base: [await this.writeModel(this.nameOf(name, now), selectModel(table))] };
  }

  /** The documents of a read model as they are now, from its files. */
  private current(model: Pick<StoredModel, 'base' | 'changed'>): string {
    return currentOf(this.folder, model);
  }

  private parquet(files: readonly File[]): string {
    return parquetIn(this.folder, files);
  }

  private async save(manifest: SnapshotManifest): Promise<void> {
    this.manifest = await replaceManifest(this.folder, this.manifest, manifest);
  }
}

/** What waits no longer, or at another event: until then, a document stays as it is. */
function retriedSince(before: readonly ParkedThen[], now: readonly ParkedThen[]): readonly ParkedThen[] {
  const waiting = new Set(now.map((one) => `${one.position} ${keyOf(one)}`));
  return before.filter((one) => !waiting.has(`${one.position} ${keyOf(one)}`));
}

function isSame(model: StoredModel, now: Omit<StoredModel, 'base'>): boolean {
  return model.position === now.position && isDeepStrictEqual(model.parked, now.parked);
}

function appendTo(raw: TableWriter, found: readonly Found[]): void {
  for (const { id, version, body } of found) raw.append(BigInt(version), id, body);
}

/** Streams whose events may change documents of any stream. */
const FAN_OUT = ['category-', 'mapping-'] as const;

function rawOf({ position: at, stream, revision, id, type, data, meta }: RecordedEvent): (string | bigint)[] {
  return [BigInt(at), stream, BigInt(revision), id, type, data, meta];
}

function rangeIn(of: File | undefined): readonly [from: string, until: string] {
  const [from = START, until = START] = of?.name.match(/\d{19}/g) ?? [];
  return [from, until];
}
