import { type IncomingHttpHeaders } from 'node:http';

/** Bytes of an answer that are kept (`docs/decisions.md#n4`). */
const KEPT = 1024;

/** Bytes that are read before the connection is ended. */
const MOST_READ = 16 * 1024;

/** `Retry-After` extends a delay by a day at most (ms). */
const MOST_RETRY_AFTER = 24 * 60 * 60 * 1000;

/** Statuses whose `Retry-After` counts. */
const RETRY_AFTER_STATUSES: ReadonlySet<number> = new Set([429, 503]);

const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d{2}:\d{2}:\d{2}/;

/** A time with its zone, which asctime dates do not have: they are in UTC (RFC 9110). */
const ZONED = /:\d{2} ?(?:GMT|UTC?|Z|[ECMP][SD]T|[+-]\d{2}:?\d{2})\b/;

/** Whatever could move the cursor of a terminal, end a string, or change the direction of text. */
const CONTROLS = /[^\P{Cc}\t\n]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

const NOTHING = Buffer.alloc(0);

/** The body of an answer: its first KiB as text, however long it is. */
export class AnswerBody {
  private kept = NOTHING;
  private read = 0;

  /** `headers`: of the answer. What is compressed is not kept as text. */
  constructor(private readonly headers: IncomingHttpHeaders) {}

  /** False: nothing more shall be read. */
  add(chunk: Buffer): boolean {
    this.read += chunk.length;
    const room = KEPT - this.kept.length;
    if (room > 0) this.kept = Buffer.concat([this.kept, chunk.subarray(0, room)]);
    return this.read <= MOST_READ;
  }

  /** Invalid UTF-8 is replaced, control characters are removed. Undefined: there is none. */
  get text(): string | undefined {
    const encoding = this.headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity' || this.kept.length === 0) return undefined;
    // A character that is cut off at the end is left out.
    const text = printable(new TextDecoder().decode(this.kept, { stream: true }));
    return text === '' ? undefined : text;
  }
}

/** The text without control characters, except for tabs and line ends. */
export function printable(text: string): string {
  return text.replace(CONTROLS, '');
}

/** `Retry-After` in ms from `now`, at most a day; undefined: there is none, or it does not count. */
export function retryAfterOf(status: number, headers: IncomingHttpHeaders, now: number): number | undefined {
  const value = headers['retry-after'];
  if (!RETRY_AFTER_STATUSES.has(status) || typeof value !== 'string') return undefined;
  const ms = /^\d+$/.test(value)
    ? Number(value) * 1000
    : HTTP_DATE.test(value)
      ? Date.parse(ZONED.test(value) ? value : `${value} GMT`) - now
      : NaN;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MOST_RETRY_AFTER);
}
