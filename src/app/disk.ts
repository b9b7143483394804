import { randomUUID } from 'node:crypto';
import { open, statfs, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** What is written to find out: one block. */
const PROBE = Buffer.alloc(4096);

/** As much as one append to the log may take: less free space than this is a full disk. */
const NEEDED = 1024 * 1024;

/** An error with a code, as of the system. */
const FULL = Object.assign(new Error('there is too little free space'), { code: 'ENOSPC' });

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
    const { bavail, bsize } = await statfs(folder);
    if (bavail * bsize < NEEDED) throw FULL;
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
    const isSystem = typeof error === 'object' && error !== null && 'code' in error;
    const code = isSystem ? String(error.code) : 'unknown error';
    return `the data folder cannot be written: ${REASONS[code] ?? code}`;
  }
}
