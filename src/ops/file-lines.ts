import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { types } from 'node:util';
import { createGunzip } from 'node:zlib';

/** A line without its end; `text` is undefined if it is longer than `MAX_BYTES` or not UTF-8. */
export interface Line {
  readonly line: number;
  readonly text: string | undefined;
}

export const MAX_BYTES = 256 * 1024;

/** The file is too large, damaged or not UTF-8. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}

/**
 * The lines of a file of any size, gzip-compressed or not. `onRead` receives the number of bytes of the file that have been
 * read. Raises `UnreadableFile` and system errors.
 */
export async function* fileLines(path: string, onRead: (bytes: number) => void): AsyncGenerator<Line> {
  const file = createReadStream(path);
  try {
    if (!(await isGzip(path))) return yield* linesOf(file, () => onRead(file.bytesRead));
    const bytes = createGunzip();
    // `pipe` does not pass on errors.
    file.on('error', (error) => bytes.destroy(error));
    yield* linesOf(file.pipe(bytes), () => onRead(file.bytesRead));
  } catch (error) {
    if (!isZlib(error)) throw error;
    throw new UnreadableFile(`${path}: cannot be decompressed: ${error.message}`);
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

async function* linesOf(chunks: AsyncIterable<Buffer>, onRead: () => void): AsyncGenerator<Line> {
  let line = 1;
  let parts: Buffer[] = [];
  let length = 0;
  const add = (part: Buffer): void => {
    length += part.length;
    // Of a line that is too long only the length matters.
    if (length <= MAX_BYTES) parts.push(part);
  };
  const end = (): Line => {
    const text = length > MAX_BYTES ? undefined : textOf(Buffer.concat(parts), line === 1);
    const ended = { line, text };
    line += 1;
    parts = [];
    length = 0;
    return ended;
  };
  for await (const chunk of chunks) {
    onRead();
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
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOf(bytes: Buffer, isFirst: boolean): string | undefined {
  try {
    const text = UTF_8.decode(bytes);
    return isFirst ? text.replace(/^\ufeff/, '') : text;
  } catch {
    return undefined;
  }
}
