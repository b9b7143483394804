import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { makeFolder } from '../../engines/data-folder';
import { type EventLog } from '../../kernel/event-log';
import { codeOf } from '../../kernel/values';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { LAYOUT, MODEL_TABLES, type ModelTable } from './models';
import { type Position, START } from '../../kernel/event';
import { type Column, EVENT_TABLES, inEvents, literal, OTHER, quoted, type Table } from './columns';

const position = z.string().regex(/^\d{19}$/);
/** Its folder and its name, and the number of its rows. */
const file = z.strictObject({ name: z.string().regex(/^[\w-]+\/[\w.-]+$/), rows: z.int() });
export type File = z.output<typeof file>;

/** A parked document, or an event that names none, and the event that it waits at. */
const parked = z.strictObject({
  document: z.string().exactOptional(),
  stream: z.string(),
  position,
});
export type ParkedThen = z.output<typeof parked>;

const MANIFEST = z.strictObject({
  /** The last event, by which another log is found out; absent if there is none. */
  last: z.strictObject({ position, stream: z.string(), revision: z.int(), id: z.string() }).exactOptional(),
  /** Of each type in log order: positions of a file are before those of the next one. */
  events: z.record(z.string(), z.array(file)),
  models: z.record(
    z.string(),
    z.strictObject({
      position,
      generation: z.int(),
      base: z.array(file),
      /** Documents that have changed since; those without a position are gone. */
      changed: file.exactOptional(),
      /** What was parked: a retry changes documents without an event. */
      parked: z.array(parked).exactOptional(),
    }),
  ),
  /** Read models that are being read, by id ascending: what there is so far, up to a document. */
  readings: z.record(
    z.string(),
    z.strictObject({
      /** When it began. */
      position,
      generation: z.int(),
      parked: z.array(parked).exactOptional(),
      files: z.array(file),
      after: z.string(),
      /** When the last file was added (epoch ms). */
      at: z.int(),
    }),
  ),
  /** Files that others have replaced, and when (epoch ms). */
  replaced: z.array(z.strictObject({ name: file.shape.name, at: z.int() })),
});

/** What a snapshot consists of. */
export type SnapshotManifest = z.output<typeof MANIFEST>;
export type StoredModel = SnapshotManifest['models'][string];
export type ModelReading = SnapshotManifest['readings'][string];

const NOTHING: SnapshotManifest = { events: {}, models: {}, readings: {}, replaced: [] };

/** How long files stay that another snapshot has replaced: statements may read them. */
const STAYS_MS = 3_600_000;

/** Whether the reading of a read model can be continued: it is of this generation, and not older than an hour. */
export function isCurrent({ generation, at }: ModelReading, now: Pick<StoredModel, 'generation'>): boolean {
  return generation === now.generation && Math.abs(SYSTEM_CLOCK.wall() - at) < STAYS_MS;
}

function filesIn({ events, models, readings }: SnapshotManifest): readonly string[] {
  const ofModels = Object.values(models).flatMap(({ base, changed }) => [
    ...base,
    ...(changed === undefined ? [] : [changed]),
  ]);
  const ofReadings = Object.values(readings).flatMap(({ files }) => files);
  return [...Object.values(events).flat(), ...ofModels, ...ofReadings].map(({ name }) => name);
}

const FILE = 'manifest.json';

/** Puts a manifest in the place of another one, and notes which files it replaces. */
export async function replaceManifest(
  folder: string,
  before: SnapshotManifest,
  after: SnapshotManifest,
): Promise<SnapshotManifest> {
  const listed = new Set(filesIn(after));
  const at = SYSTEM_CLOCK.wall();
  const replaced = filesIn(before)
    .filter((name) => !listed.has(name))
    .map((name) => ({ name, at }));
  const recent = after.replaced.filter((one) => at - one.at < STAYS_MS);
  const manifest = { ...after, replaced: [...recent, ...replaced] };
  await writeManifest(folder, manifest);
  return manifest;
}

async function writeManifest(folder: string, manifest: SnapshotManifest): Promise<void> {
  await makeFolder(folder);
  const part = join(folder, `${FILE}.${SYSTEM_CLOCK.uuid()}.part`);
  const handle = await open(part, 'w', 0o600);
  await handle.writeFile(JSON.stringify(manifest));
  await handle.sync();
  await handle.close();
  await rename(part, join(folder, FILE));
}

/** What a snapshot of this log has; nothing if there is none, if it is of another log, or if a file is missing. */
export async function manifestOf(folder: string, log: EventLog): Promise<SnapshotManifest> {
  try {
    const manifest = MANIFEST.parse(JSON.parse(await readFile(join(folder, FILE), 'utf8')));
    for (const name of filesIn(manifest)) await stat(join(folder, name));
    return (await isOf(log, manifest)) ? manifest : NOTHING;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || error instanceof z.ZodError || error instanceof SyntaxError)
      return NOTHING;
    throw error;
  }
}

async function isOf(log: EventLog, { last }: SnapshotManifest): Promise<boolean> {
  if (last === undefined) return true;
  for await (const [event] of log.readStream(last.stream, { from: last.revision, limit: 1 }))
    return event?.id === last.id && event.position === last.position;
  return false;
}

/** Removes what no snapshot of the last hour has: other layouts, files that were replaced, and remains of crashes. */
export async function removeOthers(analytics: string, manifest: SnapshotManifest): Promise<void> {
  const now = SYSTEM_CLOCK.wall();
  const listed = new Set(filesIn(manifest));
  const recent = new Set(manifest.replaced.map(({ name }) => name));
  for (const layout of await readdir(analytics)) {
    const folder = join(analytics, layout);
    if (layout !== LAYOUT) {
      if (now - (await usedAt(folder, now)) > STAYS_MS) await rm(folder, { recursive: true, force: true });
      continue;
    }
    for (const name of await readdir(folder, { recursive: true })) {
      if (!/\.(parquet|part)$/.test(name) || listed.has(name) || recent.has(name)) continue;
      if (now - (await changedAt(join(folder, name), now)) > STAYS_MS)
        await rm(join(folder, name), { force: true });
    }
  }
}

/** When a folder or a file in it was changed last. */
async function usedAt(folder: string, now: number): Promise<number> {
  const names = await readdir(folder).catch(() => []);
  const times = [folder, ...names.map((name) => join(folder, name))].map((path) => changedAt(path, now));
  return Math.max(...(await Promise.all(times)));
}

/** When a file was changed (ms since 1970): now, if another process renames or removes it meanwhile. */
async function changedAt(path: string, now: number): Promise<number> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return now;
    throw error;
  }
}

/** A snapshot as it was when it was read: its files stay for an hour after others have taken their place. */
export interface SqlSnapshot {
  readonly position: Position;
  /** As of which position each read model is that is in it. */
  readonly models: ReadonlyMap<string, Position>;
  /** Statements that define them. */
  readonly views: readonly string[];
  /** Paths, as they are in the views. */
  readonly files: readonly string[];
}

/** Types that are not described have none. */
export function tableOf(type: string): Table {
  const table = EVENT_TABLES.get(type);
  if (table === undefined) throw new Error(`there is no table for ${type}`);
  return table;
}

/** `raw` has the JSON; what is no JSON, of other programs, has no values. */
export function selectOf({ structure, rows }: Table, columns: readonly Column[], raw: string): string {
  const list = columns.map(({ name, type, value }) => `CAST(${value} AS ${type}) AS ${quoted(name)}`);
  const record =
    Object.keys(structure).length === 0
      ? 'NULL'
      : `json_transform(json, ${literal(JSON.stringify(structure))})`;
  const valid = `SELECT * REPLACE (CASE WHEN json_valid(json) THEN json END AS json) FROM (${raw})`;
  const rowsOf = rows === undefined ? '' : `, unnest(${rows}) AS p`;
  return `SELECT ${list.join(', ')} FROM (SELECT *, ${record} AS d${rowsOf} FROM (${valid}))`;
}

const KEY: readonly Column[] = [
  { name: '_id', type: 'VARCHAR', description: '', value: 'id' },
  { name: '_position', type: 'BIGINT', description: '', value: 'position' },
];

export function selectModel(table: ModelTable): string {
  return selectOf(table, [...KEY, ...table.columns], 'SELECT * FROM raw');
}

export function parquetIn(folder: string, files: readonly File[]): string {
  return `read_parquet([${files.map(({ name }) => literal(join(folder, name))).join(', ')}])`;
}

export function currentOf(folder: string, { base, changed }: Pick<StoredModel, 'base' | 'changed'>): string {
  const all = parquetIn(folder, base);
  if (changed === undefined) return `SELECT * FROM ${all}`;
  const changes = parquetIn(folder, [changed]);
  return (
    `SELECT * FROM ${all} AS base WHERE NOT EXISTS (FROM ${changes} AS changed WHERE changed."_id" = base."_id") ` +
    'UNION ALL BY NAME ' +
    `SELECT * FROM ${changes} WHERE "_position" IS NOT NULL`
  );
}

export function snapshotOf(folder: string, manifest: SnapshotManifest): SqlSnapshot {
  const { events, models, last } = manifest;
  const views = [...EVENT_TABLES].map(([type, table]) => {
    const stored = events[type];
    return stored === undefined
      ? viewOf(type, table.columns, undefined)
      : viewOf(type, table.columns, parquetIn(folder, stored));
  });
  const all = Object.entries(events).map(
    ([type, stored]) => `SELECT ${inEvents(tableOf(type))} FROM ${parquetIn(folder, stored)}`,
  );
  // Without events there is nothing to be read, but there are columns.
  const none = `SELECT *, NULL::VARCHAR AS type, NULL::JSON AS data, NULL::JSON AS meta FROM ${quoted(OTHER)}`;
  if (all.length === 0) all.push(`SELECT ${inEvents(tableOf(OTHER))} FROM (${none})`);
  views.push(`CREATE OR REPLACE VIEW events AS ${all.join(' UNION ALL ')}`);
  for (const [name, { columns }] of MODEL_TABLES) {
    const stored = models[name];
    views.push(viewOf(name, columns, stored && `(${currentOf(folder, stored)})`));
  }
  return {
    position: last?.position ?? START,
    models: new Map(Object.entries(models).map(([name, model]) => [name, model.position])),
    views,
    files: filesIn(manifest).map((name) => join(folder, name)),
  };
}

function viewOf(name: string, columns: readonly Column[], from: string | undefined): string {
  const list = columns.map((one) =>
    from === undefined ? `CAST(NULL AS ${one.type}) AS ${quoted(one.name)}` : quoted(one.name),
  );
  const source = from === undefined ? 'WHERE false' : `FROM ${from}`;
  return `CREATE OR REPLACE VIEW ${quoted(name)} AS SELECT ${list.join(', ')} ${source}`;
}
