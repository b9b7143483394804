import { open, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { EngineUnavailable } from '../kernel/event-log';
import { NamedError } from '../kernel/fault';
import { codeOf } from '../kernel/unknown';

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

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  await handle.sync().finally(() => handle.close());
}
