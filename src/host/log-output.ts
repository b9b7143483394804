import { type Writable } from 'node:stream';
import { type DestinationStream } from 'pino';

/** Bytes of lines that are buffered for a slow reader. */
const MAX_BUFFERED = 1024 * 1024;

/**
 * Writes log lines to a stream of the process. No request waits for its line or fails because of it: while nobody reads,
 * lines beyond `MAX_BUFFERED` are dropped, and so are lines that cannot be written.
 */
export function logOutput(stream: Writable): DestinationStream {
  return {
    write: (line) => {
      if (stream.writableLength < MAX_BUFFERED) stream.write(line);
    },
  };
}
