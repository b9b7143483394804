import { access, constants, mkdir, open, readFile, realpath, rm } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { DamagedLog, EngineUnavailable } from '../kernel/event-log';
import { NamedError } from '../kernel/fault';
import { codeOf, isObject } from '../kernel/values';
import { closeDatabase, toFailure } from './embedded/connection';
import { lock, Presence } from './embedded/leases';

/** The log has part of an import or a copy: its state is that of no moment. */
export class UnfinishedImport extends NamedError {}

/** In the data folder from before the first event of an import or a copy is appended until all are verified. */
const MARKER = 'importing';

/** Where the events of an unfinished import come from: the folder of an export or of a backup, or another log. */
export type ImportOrigin = { readonly from: string } | { readonly restores: string } | 'copy';

/** Stands in the marker for a copy; a folder begins with a slash there. */
const COPY = 'copy';
/** Stands before the folder of a backup. */
const RESTORE = 'restore ';

/** Whether an import or a copy into the data folder has begun and has not finished. */
export async function isImportUnfinished(dataDir: string): Promise<boolean> {
  return (await markerIn(dataDir)) !== undefined;
}

async function markerIn(dataDir: string): Promise<string | undefined> {
  return await readFile(join(dataDir, MARKER), 'utf8').catch((cause: unknown) => {
    if (codeOf(cause) === 'ENOENT') return undefined;
    throw new EngineUnavailable('the data folder cannot be read', { cause });
  });
}

/** Raises `UnfinishedImport`. */
export async function refuseUnfinishedImport(dataDir: string): Promise<void> {
  const from = await markerIn(dataDir);
  if (from === undefined) return;
  const [what, how] = describe(from.trim());
  throw new UnfinishedImport(
    `${what} into ${resolve(dataDir)} has not finished: run ${how}, or empty DATA_DIR`,
  );
}

function describe(from: string): readonly [string, string] {
  if (from === COPY) return ['a copy', '`affilog log copy` again with the same options'];
  if (from.startsWith(RESTORE)) return ['a restore', `\`affilog ${from}\` again`];
  return ['an import', `\`affilog log import ${from || 'FOLDER'}\` again`];
}

/** From now on, also after a power failure, the log is refused. */
export async function markImport(dataDir: string, origin: ImportOrigin): Promise<void> {
  const file = await open(join(dataDir, MARKER), 'w', 0o600);
  try {
    // The address of another log may have a password.
    await file.writeFile(`${textOf(origin)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await syncFolder(dataDir);
}

function textOf(origin: ImportOrigin): string {
  if (origin === 'copy') return COPY;
  return 'from' in origin ? resolve(origin.from) : `${RESTORE}${resolve(origin.restores)}`;
}

/** Without effect if no import is marked. */
export async function unmarkImport(dataDir: string): Promise<void> {
  await rm(join(dataDir, MARKER), { force: true });
  await syncFolder(dataDir);
}

export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  await handle.sync().finally(() => handle.close());
}

/** Shows that this thread lives to other processes with the same data folder, whatever the engines are. */
export function presenceIn(dataDir: string): Presence {
  return new Presence(dataDir);
}

/**
 * Runs `work` while this process has the lock of a file, which is created if needed and stays; undefined if another one
 * has it. It works between machines if the file system has locks, and ends with the process. Raises `EngineUnavailable`
 * if it cannot be locked, system errors, and what `work` raises.
 */
export async function whileLocked<Result>(
  file: string,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  await (await open(file, 'a', 0o600)).close();
  const locked = lockUnlessTaken(file);
  if (locked === undefined) return undefined;
  try {
    return await work();
  } finally {
    closeDatabase(locked);
  }
}

function lockUnlessTaken(file: string): ReturnType<typeof lock> | undefined {
  try {
    return lock(file);
  } catch (error) {
    if (isObject(error) && 'sqliteCode' in error && error.sqliteCode === SQLITE_BUSY) return undefined;
    throw toFailure('the lock of the folder', error);
  }
}

const SQLITE_BUSY = 5;

/** A file or folder that cannot be used. A cause only: the message of the error itself contains no path. */
class UnusablePath extends NamedError {
  constructor(
    readonly path: string,
    cause: unknown,
  ) {
    super(isObject(cause) && 'message' in cause ? `${path} (${String(cause.message)})` : path, { cause });
  }
}

/** Adds the path to an engine's failure, which is without it since it may be answered over HTTP. */
export async function namingPath<Opened>(path: string, open: () => Promise<Opened>): Promise<Opened> {
  try {
    return await open();
  } catch (error) {
    const isNamed = error instanceof DamagedLog || !(error instanceof EngineUnavailable);
    if (isNamed || (isObject(error.cause) && 'path' in error.cause)) throw error;
    throw new EngineUnavailable(error.message, { cause: new UnusablePath(resolve(path), error.cause) });
  }
}

export async function requireWritable(folder: string): Promise<void> {
  await access(folder, constants.W_OK | constants.X_OK).catch((cause: unknown) => {
    throw new EngineUnavailable('the data folder cannot be written', { cause });
  });
}

/** Raises `EngineUnavailable`. */
export async function makeDataFolder(folder: string): Promise<void> {
  try {
    await makeFolder(folder);
  } catch (error) {
    throw new EngineUnavailable('the data folder cannot be created', { cause: error });
  }
}

/**
 * Makes a folder, and those above it, for its owner only. Not `mkdir` with `recursive`: in a pseudo file system such as
 * `/proc`, Node.js loops forever. Raises system errors.
 */
export async function makeFolder(folder: string): Promise<void> {
  if (await exists(folder)) return;
  await makeFolder(dirname(resolve(folder)));
  await mkdir(folder, { mode: 0o700 }).catch(async (error: unknown) => {
    if (!(await exists(folder))) throw error;
  });
}

/** Whether one of two folders is the other one, or in it, whatever links lead there; they need not exist. */
export async function isWithinEachOther(one: string, other: string): Promise<boolean> {
  const [first, second] = [await realPathOf(resolve(one)), await realPathOf(resolve(other))];
  return isWithin(first, second) || isWithin(second, first);
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** Without links, as far as it exists. */
async function realPathOf(path: string): Promise<string> {
  const above = dirname(path);
  return await realpath(path).catch(async (error: unknown) => {
    if (codeOf(error) !== 'ENOENT' || above === path) return path;
    return join(await realPathOf(above), basename(path));
  });
}

export async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
