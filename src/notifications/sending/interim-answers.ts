import { type Socket } from 'node:net';
import { Switched } from './failures';

/** The beginning of an interim answer. */
const INTERIM = 'HTTP/1.1 1';
const STATUS = /^HTTP\/1\.[01] 1(\d\d)[ \r\n]/;
const END = /\r?\n\r?\n/;
const EMPTY_LINES = /^[\r\n]+/;

/** Bytes of an interim answer. */
const MOST_HEAD = 16 * 1024;

const NOTHING: Buffer = Buffer.alloc(0);

/**
 * Skips interim answers on a connection (RFC 9110, 15.2). undici ends a connection on which a `100 Continue` arrives that it has not asked
 * for, which many servers and proxies send anyway.
 */
export class InterimAnswers {
  /** No byte of the answer itself has arrived. */
  private isAwaiting = true;
  private pending = NOTHING;

  /** Replaces the `read` of a socket, by which undici takes what has arrived. */
  constructor(private readonly socket: Socket) {
    const read = socket.read.bind(socket) as () => Buffer | null;
    socket.read = () => this.read(read);
  }

  /** The next answer is to begin. */
  expect(): void {
    this.isAwaiting = true;
    this.pending = NOTHING;
  }

  private read(next: () => Buffer | null): Buffer | null {
    for (let chunk = next(); chunk !== null; chunk = next()) {
      if (!this.isAwaiting) return chunk;
      this.pending = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk]);
      if (!this.hasBegun()) continue;
      this.isAwaiting = false;
      const answer = this.pending;
      this.pending = NOTHING;
      return answer;
    }
    return null;
  }

  /** Drops what precedes the answer, as far as it is complete. True: what is left is the answer, or what undici will refuse. */
  private hasBegun(): boolean {
    for (;;) {
      const text = this.pending.toString('latin1', 0, MOST_HEAD).replace(EMPTY_LINES, '');
      const beginning = text.slice(0, INTERIM.length).replace('/1.0', '/1.1');
      if (!INTERIM.startsWith(beginning)) return true;
      const end = END.exec(text);
      if (end === null && this.pending.length < MOST_HEAD) return false;
      const status = STATUS.exec(text)?.[1];
      if (end === null || status === undefined) return true;
      if (status === '01') {
        this.socket.destroy(new Switched());
        return false;
      }
      const emptyLines = Math.min(this.pending.length, MOST_HEAD) - text.length;
      this.pending = this.pending.subarray(emptyLines + end.index + end[0].length);
    }
  }
}
