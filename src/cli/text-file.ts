import { open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { UnreadableFile } from '../operations/file-lines';

/** Limit for a file, compressed and decompressed. */
const MAX_BYTES = 64 * 1024 * 1024;

/** The text of a UTF-8 file, gzip-compressed or not. Raises `UnreadableFile` and system errors. */
export async function readTextFile(path: string): Promise<string> {
  const bytes = await decompress(path, await readBytes(path));
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new UnreadableFile(`${path}: expected text in UTF-8`);
  }
}

async function readBytes(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size > MAX_BYTES) throw tooLarge(path);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

async function decompress(path: string, bytes: Buffer): Promise<Buffer> {
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  if (!isGzip) return bytes;
  try {
    return await promisify(gunzip)(bytes, { maxOutputLength: MAX_BYTES });
  } catch (error) {
    if (String(error).includes('ERR_BUFFER_TOO_LARGE')) throw tooLarge(path);
    throw new UnreadableFile(`${path}: cannot be decompressed: ${String(error)}`);
  }
}

function tooLarge(path: string): UnreadableFile {
  return new UnreadableFile(`${path}: expected at most ${MAX_BYTES} bytes`);
}
