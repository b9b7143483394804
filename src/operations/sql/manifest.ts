import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { makeFolder } from '../../engines/data-folder';
import { type EventLog } from '../../kernel/event-log';
import { codeOf } from '../../kernel/unknown';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { LAYOUT } from './models';

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

export function filesIn({ events, models, readings }: SnapshotManifest): readonly string[] {
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
