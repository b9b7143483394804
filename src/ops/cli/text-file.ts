import { open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

/** Bytes of a file, as it is and unpacked. */
const MOST_BYTES = 64 * 1024 * 1024;

/** A file that is no text we read: too large, or not UTF-8. */
class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}

/** The text of a file in UTF-8, packed by gzip or not. Raises `UnreadableFile`, and what the system says. */
export async function readTextFile(path: string): Promise<string> {
  const bytes = await unpacked(path, await readBytes(path));
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new UnreadableFile(`${path} is not text in UTF-8`);
  }
}

async function readBytes(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size > MOST_BYTES) throw tooLarge(path);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

async function unpacked(path: string, bytes: Buffer): Promise<Buffer> {
  const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b;
  if (!isPacked) return bytes;
  try {
    return await promisify(gunzip)(bytes, { maxOutputLength: MOST_BYTES });
  } catch (error) {
    if (String(error).includes('ERR_BUFFER_TOO_LARGE')) throw tooLarge(path);
    throw new UnreadableFile(`${path} cannot be unpacked: ${String(error)}`);
  }
}

function tooLarge(path: string): UnreadableFile {
  return new UnreadableFile(`${path} is larger than ${MOST_BYTES} bytes`);
}
