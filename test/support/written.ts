import { type Readable } from 'node:stream';

/**
 * What has been written to a stream in memory since the last call. A read of Node.js 26 and later returns one chunk.
 */
export function written(stream: Readable): string {
  const chunks: Buffer[] = [];
  for (;;) {
    const chunk = stream.read() as Buffer | null;
    if (chunk === null) return Buffer.concat(chunks).toString();
    chunks.push(chunk);
  }
}
