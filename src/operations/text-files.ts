import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { promisify, types } from 'node:util';
import { createGunzip, gunzip } from 'node:zlib';
import { foreignByte } from '../wire/bytes';
import { CommandError } from './command-error';

/** A line without its end, or why it cannot be read: it is too long, or not UTF-8. */
export type Line = { readonly line: number } & LineText;

type LineText = { readonly text: string } | { readonly text: undefined; readonly problem: string };

export const MAX_LINE_BYTES = 256 * 1024;

/**
 * The lines of a file of any size, of at most `most` bytes each, gzip-compressed or not. `onRead` receives the number
 * of bytes of the file that have been read. Raises `CommandError` and system errors.
 */
export async function* fileLines(
  path: string,
  onRead: (bytes: number) => void,
  most = MAX_LINE_BYTES,
): AsyncGenerator<Line> {
  const file = createReadStream(path);
  try {
    const onChunk = (): void => onRead(file.bytesRead);
    if (await isGzip(path)) {
      const bytes = createGunzip();
      // `pipe` does not pass on errors.
      file.on('error', (error) => bytes.destroy(error));
      yield* linesOf(file.pipe(bytes), onChunk, most);
    } else yield* linesOf(file, onChunk, most);
  } catch (error) {
    if (!isZlib(error)) throw error;
    throw new CommandError(`${path}: cannot be decompressed: ${error.message}`);
  } finally {
    file.destroy();
  }
}

const GZIP = [0x1f, 0x8b];

async function isGzip(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer } = await file.read({ buffer: Buffer.alloc(GZIP.length), position: 0 });
    return GZIP.every((byte, at) => buffer[at] === byte);
  } finally {
    await file.close();
  }
}

function isZlib(error: unknown): error is Error {
  return types.isNativeError(error) && 'code' in error && /^Z_/.test(String(error.code));
}

async function* linesOf(
  chunks: AsyncIterable<Buffer>,
  onChunk: () => void,
  most: number,
): AsyncGenerator<Line> {
  const tooLong = { text: undefined, problem: `expected at most ${most} bytes` } as const;
  let line = 1;
  let parts: Buffer[] = [];
  let length = 0;
  const add = (part: Buffer): void => {
    length += part.length;
    // Of a line that is too long only the length matters.
    if (length <= most) parts.push(part);
  };
  const end = (): Line => {
    const ended = {
      line,
      ...(length > most ? tooLong : textOf(Buffer.concat(parts), line === 1)),
    };
    line += 1;
    parts = [];
    length = 0;
    return ended;
  };
  for await (const chunk of chunks) {
    onChunk();
    let start = 0;
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, start)) {
      add(chunk.subarray(start, at));
      yield end();
      start = at + 1;
    }
    add(chunk.subarray(start));
  }
  if (length > 0) yield end();
}

const LINE_FEED = 0x0a;

function textOf(bytes: Buffer, isFirst: boolean): LineText {
  const foreign = foreignByte(bytes);
  if (foreign !== undefined)
    return { text: undefined, problem: `not UTF-8: ${foreign}; save the file as UTF-8` };
  const text = bytes.toString();
  return { text: isFirst ? text.replace(/^\ufeff/, '') : text };
}

/** Limit for a file, compressed and decompressed. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** The text of a UTF-8 file, gzip-compressed or not. Raises `CommandError` and system errors. */
export async function readTextFile(path: string): Promise<string> {
  const bytes = await decompress(path, await readBytes(path));
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new CommandError(`${path}: expected text in UTF-8`);
  }
}

async function readBytes(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size > MAX_FILE_BYTES) throw tooLarge(path);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

async function decompress(path: string, bytes: Buffer): Promise<Buffer> {
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  if (!isGzip) return bytes;
  try {
    return await promisify(gunzip)(bytes, { maxOutputLength: MAX_FILE_BYTES });
  } catch (error) {
    if (String(error).includes('ERR_BUFFER_TOO_LARGE')) throw tooLarge(path);
    throw new CommandError(`${path}: cannot be decompressed: ${String(error)}`);
  }
}

function tooLarge(path: string): CommandError {
  return new CommandError(`${path}: expected at most ${MAX_FILE_BYTES} bytes`);
}
