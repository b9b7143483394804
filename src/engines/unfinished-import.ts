import { open, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { EngineUnavailable } from '../kernel/event-log';
import { NamedError } from '../kernel/fault';
import { codeOf } from '../kernel/unknown';

/** The log has part of an import or a copy: its state is that of no moment. */
export class UnfinishedImport extends NamedError {}

/** In the data folder from before the first event of an import or a copy is appended until all are verified. */
const MARKER = 'importing';

/** Where the events of an unfinished import come from: the folder of an export, or another log. */
type ImportOrigin = { readonly from: string } | 'copy';

/** Stands in the marker for a copy; a folder begins with a slash there. */
const COPY = 'copy';

/** Raises `UnfinishedImport`. */
export async function refuseUnfinishedImport(dataDir: string): Promise<void> {
  const from = await readFile(join(dataDir, MARKER), 'utf8').catch((cause: unknown) => {
    if (codeOf(cause) === 'ENOENT') return undefined;
    throw new EngineUnavailable('the data folder cannot be read', { cause });
  });
  if (from === undefined) return;
  const [what, how] =
    from.trim() === COPY
      ? ['a copy', '`affilog log copy` again with the same options']
      : ['an import', `\`affilog log import ${from.trim() || 'FOLDER'}\` again`];
  throw new UnfinishedImport(
    `${what} into ${resolve(dataDir)} has not finished: run ${how}, or empty DATA_DIR`,
  );
}

/** From now on, also after a power failure, the log is refused. */
export async function markImport(dataDir: string, origin: ImportOrigin): Promise<void> {
  const file = await open(join(dataDir, MARKER), 'w', 0o600);
  try {
    // The address of another log may have a password.
    await file.writeFile(`${origin === 'copy' ? COPY : resolve(origin.from)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await syncFolder(dataDir);
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
