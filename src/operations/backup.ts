import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, copyFile, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { matchedUpTo } from '../delivery/matching/cursor';
import {
  exists,
  isImportUnfinished,
  isWithinEachOther,
  makeFolder,
  syncFolder,
  whileLocked,
} from '../engines/data-folder';
import { copyDeliveriesTo, DELIVERIES_FILE, type Engines, openCopiedDeliveries } from '../engines/open';
import { numberOf, type Position, START } from '../kernel/event';
import { EngineUnavailable } from '../kernel/event-log';
import { defined, codeOf } from '../kernel/values';
import { type Progress, ProgressMeter } from '../projector/progress-meter';
import { type Clock, SYSTEM_CLOCK } from '../runtime/clock';
import { CommandError, NothingThere, UsageError } from './command-error';
import { type Copied, type CopyProgress, LogDigest, refuseServers } from './copy-log';
import { batchesIn, exportLog, type ExportProgress, importFiles, MANIFEST } from './export-log';
import { type InstallationPlace } from './installation';
import { timeOf } from './log-events';

/**
 * A backup is a folder: `log` has an export of the whole log, which grows when the backup is repeated, and
 * `backup.json`, which is written last, names all that belongs to it with SHA-256. So whatever is interrupted, it
 * describes the last complete backup (`docs/decisions.md#x118`).
 */
const FILE = 'backup.json';
const LOG = 'log';
const KEY = 'notify.key';
/** Locked by whoever writes to the folder. */
const LOCK = 'backup.lock';
const DAMAGED = `is damaged: its SHA-256 is not that of ${FILE}`;
const DELIVERIES_COPY = /^deliveries-(\d+)\.sqlite/;

const file = z.strictObject({ name: z.string().regex(/^[\w.-]+$/), bytes: z.int(), sha256: z.string() });
const BACKUP = z.strictObject({
  format: z.literal(1),
  at: z.string(),
  log: MANIFEST,
  deliveries: file.exactOptional(),
  key: file.exactOptional(),
});

type Backup = z.output<typeof BACKUP>;
type BackedUpFile = NonNullable<Backup['key']>;

/** Reading or writing a backup can be stopped, and reports its progress. */
interface Interruptible<Step> {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (progress: Step) => void;
}

interface BackupOptions extends Interruptible<ExportProgress> {
  readonly withKey?: boolean;
  readonly clock: Clock;
  /** Called once, before anything is written. */
  readonly begin: () => Promise<void>;
}

export interface BackedUp {
  readonly events: number;
  /** Of these, those that the backup did not have. */
  readonly added: number;
  readonly position: string;
  readonly hasDeliveries: boolean;
  readonly hasKey: boolean;
}

/** Its message names no path. */
export class BackupUnderWay extends CommandError {
  override readonly name = 'BackupUnderWay';
}

/**
 * Backs up the log, the delivery log of the data folder, and with `withKey` the key, while servers run; continues a
 * former backup in the same folder. Raises `BackupUnderWay`, `CommandError`, `UsageError`, `EngineUnavailable` and
 * system errors.
 */
export async function backUp(
  { log }: Pick<Engines, 'log'>,
  place: InstallationPlace,
  to: string,
  options: BackupOptions,
): Promise<BackedUp> {
  if (options.withKey === true && place.notifyKey !== undefined)
    throw new UsageError('--with-key: the key is that of NOTIFY_KEY: keep it where you have it from');
  if (await isWithinEachOther(place.dataDir, to))
    throw new UsageError(
      'the backup would be in the data folder (DATA_DIR), or have it in itself, and be lost with it: choose another folder, ' +
        'best on another disk',
    );
  await makeFolder(to);
  await requireOwnFolder(to, await backupIn(to));
  const done = await whileLocked(join(to, LOCK), () => backUpAlone(log, place, to, options));
  if (done !== undefined) return done;
  throw new BackupUnderWay(
    'another backup into this folder is under way: wait until it has ended, or back up into another folder',
  );
}

async function backUpAlone(
  log: Engines['log'],
  { dataDir, eventLog }: InstallationPlace,
  to: string,
  { withKey = false, clock, signal, onProgress, begin }: BackupOptions,
): Promise<BackedUp> {
  const before = await backupIn(to);
  await begin();
  // First: a delivery log that is ahead of the log is not continued.
  const deliveries = eventLog === 'sqlite:' ? await copyDeliveries(dataDir, to, signal) : undefined;
  const range = { types: [], streams: [], after: START };
  const manifest = await exportLog(log, join(to, LOG), {
    ...{ format: 'ndjson', gzip: true, range, grows: true },
    ...defined({ signal, onProgress }),
  });
  const key = withKey ? await copyKey(dataDir, to) : before?.key;
  const backup: Backup = {
    ...{ format: 1, at: clock.now().toISOString(), log: manifest },
    ...defined({ deliveries, key }),
  };
  await requireIntact(to, filesOf(backup), { remedy: ': back up into an empty folder', signal });
  await writeBackup(to, backup);
  for (const name of await readdir(to))
    if (DELIVERIES_COPY.test(name) && name !== deliveries?.name) await rm(join(to, name), { force: true });
  return {
    ...{ events: manifest.events, added: manifest.events - (before?.log.events ?? 0) },
    ...{ position: manifest.range.upTo, hasDeliveries: deliveries !== undefined, hasKey: key !== undefined },
  };
}

async function requireOwnFolder(to: string, before: Backup | undefined): Promise<void> {
  if (before !== undefined) return;
  // What an interrupted first backup has left.
  const others = (await readdir(to)).filter((name) => name !== LOG && name !== KEY && !isPart(name));
  if (others.length > 0)
    throw new CommandError(`${to}: expected an empty folder, or one with a backup to continue`);
}

/** Reads files of a backup: each has to be what was written. */
async function requireIntact(
  folder: string,
  files: readonly (BackedUpFile | undefined)[],
  { remedy = '', signal }: { readonly remedy?: string; readonly signal?: AbortSignal | undefined } = {},
): Promise<void> {
  for (const one of files) {
    if (one === undefined || (await sha256Of(join(folder, one.name), signal)) === one.sha256) continue;
    throw new CommandError(`${join(folder, one.name)} ${DAMAGED}${remedy}`);
  }
}

/** The files that a backup names, by their paths in its folder. */
function filesOf({ log, deliveries, key }: Backup): readonly BackedUpFile[] {
  const ofLog = log.files.map((one) => ({ ...one, name: join(LOG, one.name) }));
  return [...ofLog, deliveries, key].filter((one) => one !== undefined);
}

function isPart(name: string): boolean {
  return name === LOCK || DELIVERIES_COPY.test(name) || name === `${FILE}.part`;
}

async function copyDeliveries(
  dataDir: string,
  to: string,
  signal: AbortSignal | undefined,
): Promise<BackedUpFile | undefined> {
  const numbers = (await readdir(to)).map((name) => Number(DELIVERIES_COPY.exec(name)?.[1] ?? 0));
  const name = `deliveries-${Math.max(0, ...numbers) + 1}.sqlite`;
  if (!(await copyDeliveriesTo(join(to, name), dataDir, signal))) return undefined;
  await chmod(join(to, name), 0o600);
  // Opening it has left these.
  for (const end of ['-wal', '-shm']) await rm(join(to, `${name}${end}`), { force: true });
  return await measured(to, name);
}

async function copyKey(dataDir: string, to: string): Promise<BackedUpFile> {
  const from = join(dataDir, KEY);
  if (!(await exists(from)))
    throw new CommandError(
      '--with-key: there is no notify.key yet: the first server that needs it creates it',
    );
  await copyPrivately(from, join(to, KEY));
  return await measured(to, KEY);
}

async function copyPrivately(from: string, to: string): Promise<void> {
  const part = `${to}.part`;
  await rm(part, { force: true });
  // Nobody else may read it at any time.
  await (await open(part, 'wx', 0o600)).close();
  await copyFile(from, part);
  await chmod(part, 0o600);
  const handle = await open(part, 'r+');
  await handle.sync().finally(() => handle.close());
  await rename(part, to);
}

async function measured(folder: string, name: string): Promise<BackedUpFile> {
  const path = join(folder, name);
  return { name, bytes: (await stat(path)).size, sha256: await sha256Of(path) };
}

async function sha256Of(path: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash, { ...(signal === undefined ? {} : { signal }) });
  return hash.digest('hex');
}

async function writeBackup(to: string, backup: Backup): Promise<void> {
  const part = join(to, `${FILE}.part`);
  const handle = await open(part, 'w', 0o600);
  await handle.writeFile(`${JSON.stringify(backup, null, 2)}\n`);
  await handle.sync().finally(() => handle.close());
  await syncFolder(to);
  await rename(part, join(to, FILE));
  await syncFolder(to);
  if (!isDeepStrictEqual(await backupIn(to), backup))
    throw new CommandError(`${join(to, FILE)} was changed by another process: back up again, one at a time`);
}

/** Whether another file is there than the one to be restored. A key stays if the backup has none. */
async function isOther(path: string, restored: BackedUpFile | undefined): Promise<boolean> {
  if (!(await exists(path)) || (restored === undefined && path.endsWith(KEY))) return false;
  return (await sha256Of(path)) !== restored?.sha256;
}

/** Undefined if there is none. Raises `CommandError` for an unusable one. */
async function backupIn(folder: string): Promise<Backup | undefined> {
  const path = join(folder, FILE);
  try {
    return BACKUP.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    if (error instanceof z.ZodError || error instanceof SyntaxError)
      throw new CommandError(`${FILE}: expected what \`affilog backup\` writes: ${error.message}`);
    throw error;
  }
}

/** What a backup has, as it says itself. */
interface DescribedBackup {
  /** When it was made (ISO 8601). */
  readonly at: string;
  readonly events: number;
  readonly position: Position;
  readonly bytes: number;
  readonly hasDeliveries: boolean;
  readonly hasKey: boolean;
}

function described(backup: Backup): DescribedBackup {
  const { at, log, deliveries, key } = backup;
  return {
    ...{ at, events: log.events, position: log.range.upTo },
    bytes: filesOf(backup).reduce((sum, { bytes }) => sum + bytes, 0),
    ...{ hasDeliveries: deliveries !== undefined, hasKey: key !== undefined },
  };
}

/** Backups in the folders of a folder, by name; of one that is not complete, or cannot be used, why. */
export type ListedBackup = { readonly name: string } & (DescribedBackup | { readonly problem: string });

const MOST_LISTED = 1_000;

/** The first ones by name. Raises system errors. */
export async function backupsBelow(folder: string): Promise<readonly ListedBackup[]> {
  const names = (await readdir(folder, { withFileTypes: true })).flatMap((one) =>
    one.isFile() ? [] : [one.name],
  );
  const listed: ListedBackup[] = [];
  for (const name of names.sort().slice(0, MOST_LISTED)) {
    const found = await backupIn(join(folder, name)).catch((error: unknown) => {
      if (error instanceof CommandError) return error;
      throw error;
    });
    if (found instanceof CommandError) listed.push({ name, problem: found.message });
    else
      listed.push({ name, ...(found === undefined ? { problem: 'it is not complete' } : described(found)) });
  }
  return listed;
}

export interface CheckProgress extends Progress {
  readonly phase: 'check';
}

/** A backup that was read again. */
export interface VerifiedBackup extends DescribedBackup {
  /** The time of the last event that has one (ISO 8601). */
  readonly until?: string;
  /** Of the events of the log: a restore or other backup of the same ones has the same. Absent if files are damaged. */
  readonly sha256?: string;
  /** Why it cannot be restored; empty if it can. Without paths. */
  readonly problems: readonly string[];
}

/**
 * Reads all of a backup, on whatever machine: the files by their SHA-256, the events of the log, and the delivery log,
 * which has to fit to it. Writes nothing, so the disk may be read-only. Raises `NothingThere`, `CommandError` and
 * system errors; their messages have no path, except those of the system.
 */
export async function verifyBackup(
  folder: string,
  options: Interruptible<CheckProgress> = {},
): Promise<VerifiedBackup> {
  const backup = await backupIn(folder);
  if (backup === undefined)
    throw new NothingThere(`there is no complete backup: expected a folder with ${FILE}, its last file`);
  const { log, deliveries, key } = backup;
  const problems: string[] = [];
  for (const one of filesOf(backup)) {
    const problem = await problemOf(join(folder, one.name), one, options.signal);
    if (problem !== undefined) problems.push(`${one.name} ${problem}`);
  }
  if (problems.length > 0) return { ...described(backup), problems };
  const { until, sha256, wrong } = await readEvents(join(folder, LOG), log, options);
  problems.push(...wrong);
  if (deliveries !== undefined)
    problems.push(...(await problemsOfDeliveries(folder, deliveries.name, backup)));
  if (key !== undefined && !/^[\da-f]{64}\s*$/.test(await readFile(join(folder, key.name), 'utf8')))
    problems.push(`${key.name}: expected 64 hexadecimal digits`);
  return { ...described(backup), ...defined({ until, sha256 }), problems };
}

async function problemOf(
  path: string,
  { bytes, sha256 }: BackedUpFile,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  try {
    const { size } = await stat(path);
    if (size !== bytes) return `has ${size} bytes in place of ${bytes}`;
    return (await sha256Of(path, signal)) === sha256 ? undefined : DAMAGED;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 'is missing';
    throw error;
  }
}

/** Positions ascend, and there are as many events, up to where the backup says that it is. */
async function readEvents(
  folder: string,
  { files, events, range, isComplete }: Backup['log'],
  { signal, onProgress }: Interruptible<CheckProgress>,
): Promise<{ readonly until?: string; readonly sha256: string; readonly wrong: readonly string[] }> {
  const meter = new ProgressMeter(SYSTEM_CLOCK);
  const wrong: string[] = isComplete ? [] : ['the export of the log was interrupted'];
  const digest = new LogDigest();
  let last = START;
  let until: string | undefined;
  for await (const batch of batchesIn(folder, files)) {
    signal?.throwIfAborted();
    for (const event of batch.events) {
      if (event.position <= last && wrong.length === 0)
        wrong.push(`position ${numberOf(event.position)} of the log is behind ${numberOf(last)}`);
      last = event.position;
      until = timeOf(event) ?? until;
    }
    digest.add(batch.events);
    meter.count(batch.events.length);
    onProgress?.({ phase: 'check', ...meter.towards(range.upTo, batch.position) });
  }
  if (digest.count !== events) wrong.push(`the log has ${digest.count} events in place of ${events}`);
  if (last > range.upTo)
    wrong.push(`the log ends at position ${numberOf(last)} in place of ${numberOf(range.upTo)}`);
  return { ...defined({ until }), sha256: digest.hex(), wrong };
}

async function problemsOfDeliveries(
  folder: string,
  name: string,
  { log: { range } }: Backup,
): Promise<readonly string[]> {
  const deliveries = openCopiedDeliveries(join(folder, name));
  try {
    // Whatever is damaged in it raises.
    let last = START;
    for await (const { position } of deliveries.readAll({ after: START })) last = position;
    if (last !== (await deliveries.head())) return [`${name} ends at position ${numberOf(last)}`];
    const upTo = (await matchedUpTo(deliveries)) ?? START;
    if (upTo <= range.upTo) return [];
    return [
      `the delivery log is as of position ${numberOf(upTo)}, but the log ends at ${numberOf(range.upTo)}`,
    ];
  } catch (error) {
    if (error instanceof EngineUnavailable) return [`${name}: ${error.message}`];
    throw error;
  } finally {
    await deliveries.close();
  }
}

export interface RestoredBackup extends Copied {
  /** When the backup was made. */
  readonly at: string;
  readonly hasDeliveries: boolean;
  readonly hasKey: boolean;
}

/**
 * Restores a backup to an empty log, and to a data folder without a delivery log; continues an interrupted restore.
 * Everything is verified before anything is written; until it has finished, nothing else opens the engines there.
 * Raises `CommandError` and system errors.
 */
export async function restoreBackup(
  from: string,
  { log, leases }: Pick<Engines, 'log' | 'leases'>,
  { dataDir, eventLog }: Pick<InstallationPlace, 'dataDir' | 'eventLog'>,
  { signal, onProgress }: Interruptible<CopyProgress> = {},
): Promise<RestoredBackup> {
  const backup = await backupIn(from);
  if (backup === undefined)
    throw new CommandError(`${join(from, FILE)} is missing: expected a folder with a complete backup`);
  await refuseServers(leases);
  const { at, log: manifest, deliveries, key } = backup;
  await requireIntact(from, [deliveries, key]);
  if (!(await isImportUnfinished(dataDir)) && (await log.head()) !== START)
    throw new CommandError('the event log is not empty: expected an empty DATA_DIR, or empty servers');
  const target = join(dataDir, DELIVERIES_FILE);
  for (const [path, one] of [[target, deliveries] as const, [join(dataDir, KEY), key] as const])
    if (await isOther(path, one)) throw new CommandError(`${path} is there: expected an empty DATA_DIR`);
  let hasDeliveries = false;
  let hasKey = false;
  const copied = await importFiles(join(from, LOG), manifest, log, {
    ...{ dataDir, origin: { restores: from } },
    ...defined({ signal, onProgress }),
    beforeEnd: async () => {
      // Its cursors are positions, which another engine may have changed.
      const isSame = eventLog === 'sqlite:' && (await log.head()) === manifest.range.upTo;
      if (deliveries !== undefined && isSame) {
        await copyPrivately(join(from, deliveries.name), target);
        hasDeliveries = true;
      }
      if (key !== undefined) {
        await copyPrivately(join(from, key.name), join(dataDir, KEY));
        hasKey = true;
      }
      await syncFolder(dataDir);
    },
  });
  return { ...copied, at, hasDeliveries, hasKey };
}
