import { type Writable } from 'node:stream';
import { type DestinationStream } from 'pino';

/** Bytes of lines that are buffered for a slow reader. */
const MAX_BUFFERED = 1024 * 1024;

/** What may be a token, also beside other digits. */
const TOKENS = /[0-9a-f]{40,}/gi;

/**
 * Writes log lines to a stream of the process, as `format` formats them and with tokens masked wherever they are
 * (`docs/decisions.md#x86`). No request waits for its line or fails because of it: while nobody reads, lines beyond
 * `MAX_BUFFERED` are dropped, and so are lines that cannot be written.
 */
export function logOutput(
  stream: Writable,
  format: (line: string) => string = (line) => line,
): DestinationStream {
  return {
    write: (line) => {
      if (stream.writableLength < MAX_BUFFERED) stream.write(format(line.replace(TOKENS, '***')));
    },
  };
}
