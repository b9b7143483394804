import { type Stats } from 'node:fs';
import { chmod, lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** What a data folder has (docs/architecture.md, What is on disk), and what file systems and this program put there. */
const OWN_FILES = /^((log|deliveries)\.sqlite(-wal|-shm|-journal)?|notify\.key(\.\d+)?|demo-under-way)$/;
const OWN_FOLDERS: ReadonlySet<string> = new Set(['read', 'cache', 'spool', 'alive', 'uncounted']);
const NOBODYS = /^(lost\+found|\.probe-.*|\.nfs.*)$/;

/** Of anyone but the owner. */
const OTHERS = 0o077;
const STICKY = 0o1000;

/**
 * Closes the data folder and its files to other users: they have orders, and URLs of receivers. What is created later is closed
 * by the umask of the process. Returns a line for what could not be closed, or must not be: it is not ours
 * (`docs/decisions.md#x99`).
 */
export async function closeToOthers(folder: string): Promise<readonly string[]> {
  const found = await stat(folder).catch(() => undefined);
  const uid = process.getuid?.();
  // It is made later; or a system without modes.
  if (found?.isDirectory() !== true || uid === undefined) return [];
  const names = await readdir(folder).catch(() => []);
  const isOwn = (name: string): boolean => OWN_FILES.test(name) || OWN_FOLDERS.has(name);
  const foreign = names.find((name) => !isOwn(name) && !NOBODYS.test(name));
  // It was mistyped, or nothing of ours is in it yet.
  if (foreign !== undefined && !names.some(isOwn)) return [];
  const problems = [await closed(folder, 'the data folder', found, { uid, foreign })];
  for (const name of names) {
    const path = join(folder, name);
    if (OWN_FILES.test(name)) problems.push(await closedEntry(path, name, uid));
    if (OWN_FOLDERS.has(name)) problems.push(...(await closedTree(path, name, uid)));
  }
  return problems.filter((problem) => problem !== undefined);
}

/** A folder whose files are all ours. */
async function closedTree(
  path: string,
  shown: string,
  uid: number,
): Promise<readonly (string | undefined)[]> {
  const problems = [await closedEntry(path, shown, uid)];
  const isFolder = (await lstat(path).catch(() => undefined))?.isDirectory() === true;
  for (const name of isFolder ? await readdir(path).catch(() => []) : [])
    problems.push(await closedEntry(join(path, name), `${shown}/${name}`, uid));
  return problems;
}

/** A link is not followed: whoever could write the folder may have made it. */
async function closedEntry(path: string, name: string, uid: number): Promise<string | undefined> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return undefined;
  const shown = `${name} in the data folder`;
  if (found.isSymbolicLink())
    return (await openTarget(path)) ? `${shown} is a link to what other users can read` : undefined;
  return await closed(path, shown, found, { uid });
}

async function openTarget(path: string): Promise<boolean> {
  const target = await stat(path).catch(() => undefined);
  return target !== undefined && (target.mode & OTHERS) !== 0;
}

/** `foreign`: something in it that is not ours. */
async function closed(
  path: string,
  shown: string,
  { mode, uid: owner }: Stats,
  { uid, foreign }: { readonly uid: number; readonly foreign?: string | undefined },
): Promise<string | undefined> {
  if ((mode & OTHERS) === 0) return undefined;
  const isOpen = `${shown} is open to other users (mode ${(mode & 0o7777).toString(8)})`;
  if (owner !== uid) return `${isOpen} and belongs to user ${owner}, not to ${uid}: its mode is not changed`;
  if (foreign !== undefined || (mode & STICKY) !== 0)
    return `${isOpen} and is not for this program alone${foreign === undefined ? '' : `, it has ${JSON.stringify(foreign)}`}: its mode is not changed. Set DATA_DIR to a folder of its own, or chmod 700`;
  return await chmod(path, mode & 0o7700).then(
    () => undefined,
    (error: unknown) =>
      isGone(error) ? undefined : `${isOpen}, and that cannot be changed: ${String(error)}`,
  );
}

/** A file of a process that has ended meanwhile. */
function isGone(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT';
}
