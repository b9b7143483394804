import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** All code that a projection, or the matcher, may run, with the folders in them. */
const FOLDERS = [
  '../../projections',
  '.',
  '../delivery/matching',
  '../domain',
  '../kernel',
  '../network',
  '../runtime',
  '../wire',
] as const;

/** A hash of this code: parked documents and events are retried when it has changed. */
export async function runningCode(): Promise<string> {
  const hash = createHash('sha256');
  for (const folder of FOLDERS) {
    const path = join(__dirname, folder);
    const entries = await readdir(path, { withFileTypes: true, recursive: true });
    const files = entries.filter((entry) => entry.isFile());
    for (const file of files.map(({ name, parentPath }) => join(parentPath, name)).sort())
      hash.update(relative(path, file)).update(await readFile(file));
  }
  return hash.digest('hex').slice(0, 16);
}
