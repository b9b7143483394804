import { randomUUID } from 'node:crypto';
import { open, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** As much as one append to the log may take. */
const PROBE = Buffer.alloc(1024 * 1024);

/** By the code of the system error. */
const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'its files may not grow',
  EROFS: 'it is read-only',
  EACCES: 'access is denied',
  EPERM: 'access is denied',
  ENOENT: 'it was removed',
};

/** Why a folder cannot be written, found by trying; undefined if it can. Leaves no file, even if the process is killed. */
export async function diskTrouble(folder: string): Promise<string | undefined> {
  try {
    const path = join(folder, `.probe-${randomUUID()}`);
    const file = await open(path, 'wx');
    try {
      await unlink(path);
      await file.writeFile(PROBE);
    } finally {
      await file.close();
    }
    return undefined;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return `the data folder cannot be written: ${REASONS[code] ?? code}`;
  }
}
