import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, copyFile, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { exists, isImportUnfinished, syncFolder, whileLocked } from '../engines/data-folder';
import { copyDeliveriesTo, DELIVERIES_FILE, type Engines } from '../engines/open';
import { START } from '../kernel/event';
import { defined } from '../kernel/without';
import { codeOf } from '../kernel/unknown';
import { type Clock } from '../runtime/clock';
import { CommandError, UsageError } from './command-error';
import { type Copied, type CopyProgress, refuseServers } from './copy-log';
import { exportLog, type ExportProgress, importFiles, MANIFEST } from './export-log';
import { type InstallationPlace } from './installation';

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
const DELIVERIES_COPY = /^deliveries-\d+\.sqlite/;

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

interface BackupOptions {
  readonly withKey?: boolean;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: ExportProgress) => void;
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
  await mkdir(to, { recursive: true, mode: 0o700 });
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
  await requireIntact(to, backup, signal);
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

/** Verifies each file that a backup names, by reading it. */
async function requireIntact(
  folder: string,
  { log, deliveries, key }: Backup,
  signal: AbortSignal | undefined,
): Promise<void> {
  const remedy = ': back up into an empty folder';
  for (const one of log.files) await requireHash(join(folder, LOG, one.name), one.sha256, { remedy, signal });
  for (const one of [deliveries, key])
    if (one !== undefined) await requireHash(join(folder, one.name), one.sha256, { remedy, signal });
}

async function requireHash(
  path: string,
  sha256: string,
  { remedy = '', signal }: { readonly remedy?: string; readonly signal?: AbortSignal | undefined } = {},
): Promise<void> {
  if ((await sha256Of(path, signal)) === sha256) return;
  throw new CommandError(`${path} is damaged: its SHA-256 is not that of ${FILE}${remedy}`);
}

function isPart(name: string): boolean {
  return name === LOCK || DELIVERIES_COPY.test(name) || name === `${FILE}.part`;
}

async function copyDeliveries(
  dataDir: string,
  to: string,
  signal: AbortSignal | undefined,
): Promise<BackedUpFile | undefined> {
  const numbers = (await readdir(to)).flatMap((name) => {
    const number = /^deliveries-(\d+)\.sqlite/.exec(name)?.[1];
    return number === undefined ? [] : [Number(number)];
  });
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
      throw new CommandError(`${path}: expected what \`affilog backup\` writes: ${error.message}`);
    throw error;
  }
}

interface RestoreOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: CopyProgress) => void;
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
  { signal, onProgress }: RestoreOptions = {},
): Promise<RestoredBackup> {
  const backup = await backupIn(from);
  if (backup === undefined)
    throw new CommandError(`${join(from, FILE)} is missing: expected a folder with a complete backup`);
  await refuseServers(leases);
  const { at, log: manifest, deliveries, key } = backup;
  for (const one of [deliveries, key])
    if (one !== undefined) await requireHash(join(from, one.name), one.sha256);
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
