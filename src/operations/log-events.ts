import { originOf } from '../domain/subscriptions/receiver-id';
import { parsePosition, type Position, type RecordedEvent, START } from '../kernel/event';
import { type EventBatch, type EventLog } from '../kernel/event-log';
import { isObject, isTime, jsonObject, without } from '../kernel/values';
import { type Clock } from '../runtime/clock';
import { asUpperBound, readDate } from '../wire/date';
import { UsageError } from './command-error';
import { EVENTS, problemsOf } from './events/schemas';

/** As they are sent: all texts, an empty list selects all. */
export interface RangeTexts {
  readonly type?: readonly string[] | undefined;
  /** Beginnings of the names of streams. */
  readonly stream?: readonly string[] | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly after?: string | undefined;
  readonly upTo?: string | undefined;
}

/** Some events of a log. Times are in milliseconds since 1970, both included. */
export interface LogRange {
  readonly types: readonly string[];
  readonly streams: readonly string[];
  readonly since?: number;
  readonly until?: number;
  readonly after: Position;
  /** By default the end of the log. */
  readonly upTo?: Position;
}

/** Raises `UsageError`. */
export function rangeOf({ type = [], stream = [], since, until, after, upTo }: RangeTexts): LogRange {
  const unknown = type.find((name) => !EVENTS.has(name));
  if (unknown !== undefined)
    throw new UsageError(`type=${unknown.slice(0, 100)}: expected a type of event (docs/events.md)`);
  if (stream.includes(''))
    throw new UsageError('stream is empty: expected the beginning of the names of streams');
  return {
    types: type,
    streams: stream,
    after: after === undefined ? START : positionIn('after', after),
    ...(upTo === undefined ? {} : { upTo: positionIn('upTo', upTo) }),
    ...(since === undefined ? {} : { since: timeIn('since', since, readDate(since)) }),
    ...(until === undefined ? {} : { until: timeIn('until', until, asUpperBound(until, readDate(until))) }),
  };
}

/** A position that was sent. Raises `UsageError`. */
export function positionIn(name: string, sent: string): Position {
  const position = parsePosition(sent);
  if (position !== undefined) return position;
  throw new UsageError(`${name}=${sent.slice(0, 100)}: expected a log position, up to 19 digits`);
}

/** Raises `UsageError` unless there is a time (epoch ms). */
export function timeIn(name: string, sent: string, time: number | undefined): number {
  if (time !== undefined) return time;
  throw new UsageError(
    `${name}=${sent.slice(0, 100)}: expected a time, such as 2026-01-31 or 2026-01-31T12:00:00Z`,
  );
}

interface LogReadOptions {
  readonly signal?: AbortSignal | undefined;
  /** Waits for new events at the end of the log, until `signal` is aborted. */
  readonly follow?: boolean;
}

/** The events of a range, in batches, each with the position up to which everything was read. */
export async function* readRange(
  log: EventLog,
  range: LogRange,
  { signal, follow = false }: LogReadOptions = {},
): AsyncGenerator<EventBatch> {
  const { after, upTo } = range;
  if (upTo !== undefined && upTo <= after) return;
  const prefixes = prefixesOf(range);
  const options = { after, ...(prefixes.length === 0 ? {} : { prefixes }) };
  const batches = follow
    ? log.subscribe({ ...options, ...(signal === undefined ? {} : { signal }) })
    : log.readAll(options);
  for await (const { events, position, caughtUp } of batches) {
    signal?.throwIfAborted();
    const isOver = upTo !== undefined && position >= upTo;
    yield {
      events: events.filter((event) => isIn(event, range)),
      position: isOver ? upTo : position,
      caughtUp: isOver || caughtUp,
    };
    if (isOver) return;
  }
}

/** Streams that have the types, so that others are not read. */
function prefixesOf({ streams, types }: LogRange): readonly string[] {
  if (streams.length > 0) return streams;
  return [...new Set(types.flatMap((type) => EVENTS.get(type)?.streams ?? []))].map(
    (name) => name.split('<')[0] ?? '',
  );
}

function isIn(event: RecordedEvent, { types, since, until, upTo }: LogRange): boolean {
  if (types.length > 0 && !types.includes(event.type)) return false;
  if (upTo !== undefined && event.position > upTo) return false;
  if (since === undefined && until === undefined) return true;
  const at = timeOf(event);
  if (at === undefined) return false;
  const time = Date.parse(at);
  return (since === undefined || time >= since) && (until === undefined || time <= until);
}

/** The time in the data of an event, which some types do not have. */
export function timeOf({ data }: RecordedEvent): string | undefined {
  const at = TIME.exec(data)?.[1] ?? jsonObject(data)?.['at'];
  return isTime(at) ? at : undefined;
}

/** `at` behind nothing but texts and numbers, as in most events: that is ten times as fast as parsing. */
const TIME = /^\{(?:"[^"\\]*":(?:"[^"\\]*"|[\d.]+),)*"at":"([^"\\]*)"/;

/** An event as a line of JSON; its data and meta as they are stored. */
export function toLine({ position, stream, revision, id, type, data, meta }: RecordedEvent): string {
  return (
    `{"position":"${position}","stream":${JSON.stringify(stream)},"revision":${revision},"id":${JSON.stringify(id)},` +
    `"type":${JSON.stringify(type)},"meta":${inLine(meta)},"data":${inLine(data)}}\n`
  );
}

/** Line ends in JSON are white space. */
function inLine(json: string): string {
  return json.includes('\n') || json.includes('\r') ? json.replace(/[\r\n]+/g, ' ') : json;
}

/**
 * What is left out of events that are read over HTTP: hashes of tokens and keys, and what may be receivers’ secrets.
 */
const MASKS: ReadonlyMap<string, (data: Secretive) => object> = new Map<string, (data: Secretive) => object>([
  ['TokenIssued', (data) => without(data, 'hash')],
  ['TokenRevoked', (data) => without(data, 'hash')],
  ['DeliveriesOwned', (data) => without(data, 'key')],
  ['SubscriptionCreated', withoutReceivers],
  ['SubscriptionReplaced', withoutReceivers],
]);

interface Secretive {
  readonly hash?: unknown;
  readonly key?: unknown;
  readonly subscription?: {
    readonly receivers?: readonly { readonly receiverUrl?: unknown; readonly receiverBody?: unknown }[];
  };
}

function withoutReceivers(data: Secretive): object {
  const receivers = maskedReceivers(data.subscription?.receivers);
  return { ...data, subscription: { ...data.subscription, receivers } };
}

/** Address and body may have secrets of the receiver; of the address scheme and host are left. */
export function maskedReceivers<
  Receiver extends { readonly receiverUrl?: unknown; readonly receiverBody?: unknown },
>(receivers: readonly Receiver[] | undefined) {
  return receivers?.map((receiver) => ({
    ...without(receiver, 'receiverBody'),
    receiverUrl: originOf(String(receiver.receiverUrl)),
  }));
}

/**
 * An event without secrets (`docs/decisions.md#x107`). Of one that only has the type of such events, another program's,
 * all data is left out.
 */
export function masked(event: RecordedEvent): RecordedEvent {
  const mask = MASKS.get(event.type);
  if (mask === undefined) return event;
  const data = problemsOf(event).length > 0 ? {} : mask(JSON.parse(event.data) as Secretive);
  return { ...event, data: JSON.stringify(data) };
}

/** The events of a range as lines without secrets, at most so many (`docs/decisions.md#x107`). */
export async function* maskedLines(
  log: EventLog,
  range: LogRange,
  most: number,
  options: LogReadOptions,
): AsyncGenerator<Buffer> {
  let left = most;
  try {
    for await (const { events } of readRange(log, range, options)) {
      const lines = events.slice(0, left).map((event) => toLine(masked(event)));
      left -= lines.length;
      if (lines.length > 0) yield Buffer.from(lines.join(''));
      if (left <= 0) return;
    }
  } catch (error) {
    // Whoever reads is gone, or the server stops.
    if (options.signal?.aborted !== true) throw error;
  }
}

/** Longest time without a line for those who follow (ms). */
const QUIET_MS = 15_000;

const EMPTY_LINE = Buffer.from('\n');

/**
 * Lines, and an empty one whenever there was none for some time: proxies close connections without traffic, and only
 * what is written shows that a reader has disappeared.
 */
export async function* withEmptyLines(lines: AsyncGenerator<Buffer>, clock: Clock): AsyncGenerator<Buffer> {
  try {
    for (;;) {
      const next = new Upcoming(lines.next());
      while (!(await next.within(QUIET_MS, clock))) yield EMPTY_LINE;
      const read = await next.result;
      if (read.done === true) return;
      yield read.value;
    }
  } finally {
    await lines.return(undefined);
  }
}

/** A result that is waited for several times; `Promise.race` would have it keep each of them. */
class Upcoming<T> {
  private isThere = false;
  private wake = (): void => undefined;

  constructor(readonly result: Promise<T>) {
    const settle = (): void => {
      this.isThere = true;
      this.wake();
    };
    result.then(settle, settle);
  }

  /** Whether it is there, or failed, within a time. */
  async within(ms: number, clock: Clock): Promise<boolean> {
    if (this.isThere) return true;
    await new Promise<void>((resolve) => {
      const timer = clock.timer(ms, resolve);
      this.wake = () => {
        timer.cancel();
        resolve();
      };
    });
    return this.isThere;
  }
}

const TEXT = '("(?:[^"\\\\]|\\\\.)*")';
const HEAD = new RegExp(
  `^\\{"position":"(\\d{19})","stream":${TEXT},"revision":(\\d{1,15}),"id":${TEXT},"type":${TEXT},"meta":`,
);

/** The inverse of `toLine`, undefined if it is none. Data and meta keep their bytes. */
export function fromLine(line: string): RecordedEvent | undefined {
  const [head, position = '', stream = '', revision, id = '', type = ''] = HEAD.exec(line) ?? [];
  if (head === undefined || !line.endsWith('}')) return undefined;
  // Of all texts that could be the meta, only the right one is JSON.
  for (let end = line.indexOf(DATA, head.length); end !== -1; end = line.indexOf(DATA, end + 1)) {
    const [meta, data] = [line.slice(head.length, end), line.slice(end + DATA.length, -1)];
    if (![meta, data].every(isJsonObject)) continue;
    const [ofStream, ofId, ofType] = [stream, id, type].map((text) => JSON.parse(text) as string) as Three;
    return { position, stream: ofStream, revision: Number(revision), id: ofId, type: ofType, meta, data };
  }
  return undefined;
}

const DATA = ',"data":';
type Three = [string, string, string];

function isJsonObject(text: string): boolean {
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
}

export const CSV_HEAD = 'position,stream,revision,id,type,at,meta,data\r\n';

/** Stands for the quotes around a cell until `csvBytes`: no event contains it. */
const BOUND = '\0';

/** A row for `csvBytes`. */
export function toCsvRow(event: RecordedEvent): string {
  const { position, stream, revision, id, type, meta, data } = event;
  const head = `${position},${bounded(stream)},${revision},${bounded(id)},${bounded(type)}`;
  return `${head},${timeOf(event) ?? ''},${bounded(meta)},${bounded(data)}\r\n`;
}

function bounded(text: string): string {
  return /[",\r\n]/.test(text) ? BOUND + text + BOUND : text;
}

/** The bytes of many texts: one by one, since one text of all of them would be copied once more. */
export function utf8Of(texts: readonly string[]): Buffer {
  const most = texts.reduce((sum, { length }) => sum + length, 0) * MOST_OF_A_CHARACTER;
  const bytes = Buffer.allocUnsafe(most);
  let end = 0;
  for (const text of texts) end += bytes.write(text, end);
  return bytes.subarray(0, end);
}

/** Bytes of one UTF-16 code unit in UTF-8. */
const MOST_OF_A_CHARACTER = 3;

const [QUOTE, NUL] = [0x22, 0x00];

/** The bytes of many rows: JSON has so many quotes that doubling them as text takes three times as long. */
export function csvBytes(rows: readonly string[]): Buffer {
  const bytes = utf8Of(rows);
  const { length } = bytes;
  const written = Buffer.allocUnsafe(length * 2);
  let end = 0;
  // An iterator would take several times as long.
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) written[end++] = QUOTE;
    written[end++] = byte === NUL ? QUOTE : byte;
  }
  return written.subarray(0, end);
}
