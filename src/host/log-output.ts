import { type Writable } from 'node:stream';
import { type DestinationStream } from 'pino';

/** Bytes of lines that wait for whoever reads them. */
const MOST_WAITING = 1024 * 1024;

/**
 * Where log lines go: a stream of the process. No request waits for its line, and none fails because of it: while nobody
 * reads, lines beyond `MOST_WAITING` are dropped, and so is what cannot be written.
 */
export function logOutput(stream: Writable): DestinationStream {
  return {
    write: (line) => {
      if (stream.writableLength < MOST_WAITING) stream.write(line);
    },
  };
}
