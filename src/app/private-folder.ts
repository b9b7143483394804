import { type Stats } from 'node:fs';
import { chmod, lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../kernel/values';

const SQLITE = String.raw`\.sqlite(-wal|-shm|-journal)?`;
/** Of a read store. */
const STORE_FILES = new RegExp(`^(registry|[\\w-]+-g\\d+)${SQLITE}$`);
/** In `read`, the folder of a read store: earlier builds had one in `read` itself. */
const STORE = /^layout-\d+$/;
const ID = String.raw`[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}`;

/** What a data folder has (docs/architecture.md, What is on disk), and what file systems and this program put there. */
const OWN_FILES = new RegExp(`^((log|deliveries)${SQLITE}|notify\\.key(\\.\\d+)?|demo-under-way|importing)$`);
/** Its folders, and the names that this program makes in them. */
const OWN_FOLDERS: Readonly<Record<string, RegExp>> = {
  read: STORE_FILES,
  cache: /^feed-\d+\.fingerprints(\.new)?$/,
  spool: new RegExp(`^${ID}\\.(spool|download)$`),
  alive: new RegExp(`^(leases${SQLITE}|${ID}\\.lock(-journal)?)$`),
  analytics: new RegExp(`^([\\da-f]{16}|temporary(-${ID})?)$`),
  uncounted: new RegExp(`^\\d+_\\d+-\\d+_${ID}(\\.uncounted|\\.\\d+\\.counting)?$`),
};
/** The names of the folders are usual ones: one of these shows that a folder with other files is a data folder. */
const MARKS = ['log.sqlite', 'deliveries.sqlite', 'notify.key'];
const STORE_MARK = 'registry.sqlite';
const NOBODYS = /^(lost\+found|\.probe-.*|\.nfs.*)$/;

/** Of anyone but the owner. */
const OTHERS = 0o077;
const STICKY = 0o1000;

/**
 * Closes the data folder and its files to other users: they have orders, and URLs of receivers. What is created later
 * is closed by the umask of the process. Returns a line for what could not be closed, or must not be: it is not ours
 * (`docs/decisions.md#x99`).
 */
export async function closeToOthers(folder: string): Promise<readonly string[]> {
  const found = await stat(folder).catch(() => undefined);
  const uid = process.getuid?.();
  // It is made later; or a system without modes.
  if (found?.isDirectory() !== true || uid === undefined) return [];
  const names = await namesIn(folder);
  const inFolders = await foldersOf(folder, names);
  const isOwn = (name: string): boolean => OWN_FILES.test(name) || inFolders.has(name);
  const foreign = names.find((name) => !isOwn(name) && !NOBODYS.test(name));
  const inner = [...inFolders.values()].find((one) => one.foreign !== undefined)?.foreign;
  // It was mistyped, or nothing of ours is in it yet.
  const stores = [...inFolders.keys()].filter((name) => name.split('/')[0] === 'read');
  const marks = [...MARKS, ...stores.map((name) => `${name}/${STORE_MARK}`)];
  if ((foreign ?? inner) !== undefined && !(await hasAny(folder, marks))) return [];
  const problems = [await closed(folder, 'the data folder', found, { uid, foreign })];
  for (const name of names)
    if (OWN_FILES.test(name)) problems.push(await closedEntry(join(folder, name), name, { uid }));
  for (const [name, own] of inFolders) {
    problems.push(await closedEntry(join(folder, name), name, { uid, foreign: own.foreign }));
    for (const file of own.files)
      problems.push(await closedEntry(join(folder, name, file), `${name}/${file}`, { uid }));
  }
  return problems.filter((problem) => problem !== undefined);
}

/** Files of ours in a folder, and the first name that is not ours. */
interface SeenFolder {
  readonly files: readonly string[];
  readonly foreign: string | undefined;
}

async function foldersOf(folder: string, names: readonly string[]): Promise<ReadonlyMap<string, SeenFolder>> {
  const folders = new Map<string, SeenFolder>();
  for (const [name, own] of Object.entries(OWN_FOLDERS)) {
    if (!names.includes(name)) continue;
    const isStore = (inside: string): boolean => name === 'read' && STORE.test(inside);
    const inside = await namesInFolder(join(folder, name));
    const others = inside.filter((one) => !isStore(one));
    folders.set(name, ownOf(others, own));
    for (const store of inside.filter(isStore))
      folders.set(`${name}/${store}`, ownOf(await namesInFolder(join(folder, name, store)), STORE_FILES));
  }
  return folders;
}

function ownOf(names: readonly string[], own: RegExp): SeenFolder {
  const foreign = names.find((name) => !own.test(name) && !NOBODYS.test(name));
  return { files: names.filter((name) => own.test(name)), foreign };
}

/** Of a link, none. */
async function namesInFolder(path: string): Promise<readonly string[]> {
  const isFolder = (await lstat(path).catch(() => undefined))?.isDirectory() === true;
  return isFolder ? await namesIn(path) : [];
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return await readdir(folder).catch(() => []);
}

async function hasAny(folder: string, files: readonly string[]): Promise<boolean> {
  const found = await Promise.all(
    files.map((name) =>
      lstat(join(folder, name)).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.includes(true);
}

/** A link is not followed: whoever could write the folder may have made it. */
async function closedEntry(path: string, name: string, whose: Whose): Promise<string | undefined> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return undefined;
  const shown = `${name} in the data folder`;
  if (found.isSymbolicLink())
    return (await openTarget(path)) ? `${shown} is a link to what other users can read` : undefined;
  return await closed(path, shown, found, whose);
}

async function openTarget(path: string): Promise<boolean> {
  const target = await stat(path).catch(() => undefined);
  return target !== undefined && (target.mode & OTHERS) !== 0;
}

interface Whose {
  readonly uid: number;
  readonly foreign?: string | undefined;
}

async function closed(
  path: string,
  shown: string,
  { mode, uid: owner }: Stats,
  { uid, foreign }: Whose,
): Promise<string | undefined> {
  if ((mode & OTHERS) === 0) return undefined;
  const isOpen = `${shown} is open to other users (mode ${(mode & 0o7777).toString(8)})`;
  if (owner !== uid) return `${isOpen} and belongs to user ${owner}, not to ${uid}: its mode is not changed`;
  if (foreign !== undefined || (mode & STICKY) !== 0)
    return (
      `${isOpen} and is not for this program ` +
      `alone${foreign === undefined ? '' : `, it has ${JSON.stringify(foreign)}`}: its mode is not changed. Set ` +
      'DATA_DIR to a folder of its own, or chmod 700'
    );
  return await chmod(path, mode & 0o7700).then(
    () => undefined,
    // A file of a process that has ended meanwhile is gone.
    (error: unknown) =>
      codeOf(error) === 'ENOENT' ? undefined : `${isOpen}, and that cannot be changed: ${String(error)}`,
  );
}
