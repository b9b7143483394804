import { type Socket } from 'node:net';
import { Flood, Switched } from './failures';

/** The beginning of an interim answer. */
const INTERIM = 'HTTP/1.1 1';
const STATUS = /^HTTP\/1\.[01] 1(\d\d)[ \r\n]/;
const STATUS_LENGTH = 'HTTP/1.1 100 '.length;

/** Interim answers to one request, and their bytes (`docs/decisions.md#n4`). */
const MOST_ANSWERS = 32;
const MOST_BYTES = 16 * 1024;

const [LF, CR] = [10, 13];

const NOTHING: Buffer = Buffer.alloc(0);

/**
 * Skips interim answers on a connection (RFC 9110, 15.2). undici ends a connection on which a `100 Continue` arrives that it has
 * not asked for, which many servers and proxies send anyway.
 */
export class InterimAnswers {
  /** No byte of the answer itself has arrived. */
  private isAwaiting = true;
  /** What has arrived since the request; there is space for more behind it. */
  private space = NOTHING;
  private length = 0;
  /** What is skipped, and what has no end of a head. */
  private skipped = 0;
  private scanned = 0;
  private answers = 0;

  /** Replaces the `read` of a socket, by which undici takes what has arrived. */
  constructor(private readonly socket: Socket) {
    const read = socket.read.bind(socket) as () => Buffer | null;
    socket.read = () => this.read(read);
  }

  /** The next answer is to begin. */
  expect(): void {
    this.isAwaiting = true;
    this.space = NOTHING;
    this.length = this.skipped = this.scanned = this.answers = 0;
  }

  private read(next: () => Buffer | null): Buffer | null {
    for (let chunk = next(); chunk !== null; chunk = next()) {
      if (!this.isAwaiting) return chunk;
      this.add(chunk);
      const error = this.skip();
      if (error === 'incomplete') continue;
      if (error !== undefined) {
        this.socket.destroy(error);
        return null;
      }
      this.isAwaiting = false;
      const answer = this.arrived.subarray(this.skipped);
      this.space = NOTHING;
      return answer;
    }
    return null;
  }

  private get arrived(): Buffer {
    return this.space.subarray(0, this.length);
  }

  private add(chunk: Buffer): void {
    const length = this.length + chunk.length;
    if (length > this.space.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.space.length));
      this.space.copy(larger, 0, 0, this.length);
      this.space = larger;
    }
    chunk.copy(this.space, this.length);
    this.length = length;
  }

  /** Skips what precedes the answer. Undefined: what is left is the answer, or what undici will refuse. */
  private skip(): 'incomplete' | Error | undefined {
    const { arrived } = this;
    for (;;) {
      while (arrived[this.skipped] === CR || arrived[this.skipped] === LF) this.skipped += 1;
      const text = arrived.toString('latin1', this.skipped, this.skipped + STATUS_LENGTH);
      if (this.skipped > MOST_BYTES) return new Flood();
      if (!INTERIM.startsWith(text.slice(0, INTERIM.length).replace('/1.0', '/1.1'))) return undefined;
      const end = this.endOfHead(arrived);
      if ((end ?? arrived.length) > MOST_BYTES) return new Flood();
      if (end === undefined) return 'incomplete';
      const status = STATUS.exec(text)?.[1];
      if (status === undefined) return undefined;
      if (status === '01') return new Switched();
      this.answers += 1;
      if (this.answers > MOST_ANSWERS) return new Flood();
      this.skipped = end;
    }
  }

  /** Behind the empty line at the end of the head that begins after what is skipped. Looks at each byte once. */
  private endOfHead(arrived: Buffer): number | undefined {
    this.scanned = Math.max(this.scanned, this.skipped);
    for (;;) {
      const line = arrived.indexOf(LF, this.scanned);
      this.scanned = line === -1 ? arrived.length : line;
      if (line === -1) return undefined;
      const next = arrived[line + 1] === CR ? line + 2 : line + 1;
      if (next >= arrived.length) return undefined;
      this.scanned = next;
      if (arrived[next] === LF) return next + 1;
    }
  }
}
