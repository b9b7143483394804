import { closeSync, openSync, readSync } from 'node:fs';

/** A file with a secret cannot be used; the message names the setting and the file. */
class UnusableFile extends Error {
  override readonly name = 'UnusableFile';
}

/** Most bytes of a file with a secret. */
const MOST = 64 * 1024;

/**
 * A value that may be secret: as it is, or with `@file` the content of the file, without white space at its ends. So it is
 * neither in the list of processes nor in the environment (`docs/decisions.md#x99`). A value that begins with `@` has another one
 * before it. `name`: of its setting, for errors. Raises `UnusableFile`.
 */
export function secretValue(value: string, name: string): string {
  if (!namesFile(value)) return value.replace(/^@@/, '@');
  const file = value.slice(1);
  const content = contentOf(file, name).toString('utf8').trim();
  if (content === '') throw new UnusableFile(`${name}: the file ${file} is empty: expected the value in it`);
  return content;
}

/** Whether a value is the path of a file that has it. */
export function namesFile(value: string): boolean {
  return /^@(?!@)/.test(value);
}

function contentOf(file: string, name: string): Buffer {
  try {
    // A pipe has no size, and is read until its end.
    const opened = openSync(file, 'r');
    try {
      const buffer = Buffer.alloc(MOST + 1);
      for (let length = 0; ;) {
        const read = readSync(opened, buffer, length, buffer.length - length, null);
        length += read;
        if (length > MOST) throw new Error(`it has more than ${MOST} bytes`);
        if (read === 0) return buffer.subarray(0, length);
      }
    } finally {
      closeSync(opened);
    }
  } catch (error) {
    const { message: reason } = error as Error;
    throw new UnusableFile(
      `${name}: the file ${file} cannot be read: ${reason}. A value that begins with @ names a file: write @@ for a value that itself begins with @`,
    );
  }
}
