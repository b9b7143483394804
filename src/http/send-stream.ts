import { type ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import { NamedError } from '../kernel/fault';

interface SendOptions {
  readonly gzip: boolean;
  /** Bytes a second, before they are compressed. */
  readonly leastRate: number;
  /** Milliseconds for which a client may accept nothing, beyond what the rate allows. */
  readonly patience?: number;
}

const PATIENCE_MS = 10_000;

/** Bytes buffered for a slow client. */
const AHEAD = 256 * 1024;

/** Better compression would cost more processor time than it is worth. */
const LEVEL = constants.Z_BEST_SPEED;

/** A client accepted fewer bytes than required (`docs/decisions.md#x52`). */
export class TooSlow extends NamedError {}

/** Sends a body at the client's pace; returns it early if the client disconnects or is slower than `leastRate`. */
export function streamOf(
  body: AsyncIterable<Uint8Array>,
  { gzip, leastRate, patience = PATIENCE_MS }: SendOptions,
): Readable {
  const late = (): unknown => sent.destroy(new TooSlow());
  const sent: Readable = Readable.from(paced(body, { leastRate, patience }, late), {
    objectMode: false,
    highWaterMark: AHEAD,
  });
  if (!gzip) return sent;
  // An end of either stream ends the other.
  return pipeline(sent, createGzip({ level: LEVEL }), () => undefined);
}

/** Calls back when an answer has been sent (`writableFinished`), or its connection is closed. */
export function whenOver(response: ServerResponse, onOver: () => void): void {
  // A connection that is closed already emits no further event. `finished` would cost ten times as much, for every
  // request.
  if (response.destroyed) onOver();
  else response.once('close', onOver);
}

/** Disconnects a client that accepts fewer than `leastRate` bytes a second of an answer sent as a whole. */
export function dropIfSlow(response: ServerResponse, bytes: number, leastRate: number): void {
  // In whole seconds: Node.js has a list of timers for each duration.
  const late = setTimeout(() => response.destroy(), PATIENCE_MS + Math.ceil(bytes / leastRate) * 1000);
  whenOver(response, () => clearTimeout(late));
}

async function* paced(
  body: AsyncIterable<Uint8Array>,
  { leastRate, patience }: { readonly leastRate: number; readonly patience: number },
  onLate: () => unknown,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    const late = setTimeout(onLate, patience + (chunk.byteLength / leastRate) * 1000);
    try {
      yield chunk;
    } finally {
      clearTimeout(late);
    }
  }
}
