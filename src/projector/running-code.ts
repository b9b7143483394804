import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** All code that a projection, or the matcher, may run. */
const FOLDERS = [
  '../../projections',
  '.',
  '../categories',
  '../claims',
  '../conversions',
  '../directory',
  '../kernel',
  '../notifications',
  '../notifications/matching',
  '../products',
  '../transactions',
  '../vouchers',
  '../wire',
] as const;

/** A hash of this code: parked documents and events are retried when it has changed. */
export async function runningCode(): Promise<string> {
  const hash = createHash('sha256');
  for (const folder of FOLDERS) {
    const path = join(__dirname, folder);
    const files = (await readdir(path, { withFileTypes: true })).filter((entry) => entry.isFile());
    for (const name of files.map((entry) => entry.name).sort())
      hash.update(name).update(await readFile(join(path, name)));
  }
  return hash.digest('hex').slice(0, 16);
}
