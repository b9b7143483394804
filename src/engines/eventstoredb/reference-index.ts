import { hash, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type NewEvent, NO_STREAM, type Position, type RecordedEvent, START } from '../../kernel/event';
import {
  EngineUnavailable,
  type EventBatch,
  type EventLog,
  REFERENCE_STREAMS,
  RevisionConflict,
  StreamDeleted,
  UnacceptableAppend,
} from '../../kernel/event-log';
import { NamedError } from '../../kernel/fault';
import { without } from '../../kernel/values';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { batchesOf } from '../../runtime/concurrency';
import { Backoff } from '../../runtime/unavailable';
import { detailsOf, isTransient } from './failure';
import { type End, type End as LogEnd } from './tail';
import { type ReadSelection, eventsIn, type Readers } from './stream-reads';
import { streamRequest } from './requests';
import {
  INDEX,
  metadataEvent,
  metadataIn,
  type Namespace,
  type SentEvent,
  type StreamMetadata,
} from './sent-event';

/** Up to where the index is complete, and the revision of its last record by then. */
interface IndexMark {
  readonly upTo: Position;
  readonly revision: number;
  /** A later position in the server up to which the log has no further event, if there is one. */
  readonly last?: Position;
}

/** The metadata of the index's stream have the mark under this name: of metadata the server keeps the last event. */
const MARK = 'affilogIndex';

const PREFIXES = hash('sha256', REFERENCE_STREAMS.join()).slice(0, 8);
/** A list of prefixes has a stream of its own, so that a version with another list reads another index. */
const INDEX_STREAM = `${INDEX}reference-${PREFIXES}`;

/** The end of the log as of the last mark: reads in search of its end need not look before it. */
export async function readMark(
  readers: Readers,
  namespace: Namespace,
  signal: AbortSignal,
): Promise<End | undefined> {
  try {
    const { upTo, last = upTo } = (await markOf(readers, namespace, signal)) ?? {};
    return upTo === undefined || last === undefined || upTo === START ? undefined : { head: upTo, last };
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return undefined;
  }
}

/** The mark in the metadata of the index's stream. */
async function markOf(
  readers: Readers,
  namespace: Namespace,
  signal: AbortSignal,
): Promise<IndexMark | undefined> {
  const request = streamRequest(`$$${INDEX_STREAM}`, { from: undefined, backwards: true, limit: 1 });
  for await (const sent of eventsIn(readers.read(request, signal), namespace))
    return metadataIn(sent)[MARK] as IndexMark | undefined;
  return undefined;
}

/** Whether the index has all events of streams with these prefixes. */
export function isIndexed(prefixes: readonly string[] | undefined): boolean {
  const isCovered = (prefix: string): boolean => REFERENCE_STREAMS.some((one) => prefix.startsWith(one));
  return prefixes?.every(isCovered) === true;
}

/**
 * Reads the events after a position from the index, as far as it has them: what follows is in the log. An index that is
 * missing, not readable or not continuous gives fewer batches, or none. Raises errors after which a retry may succeed.
 */
export async function* readIndex(
  readers: Readers,
  namespace: Namespace,
  after: Position,
  selection: ReadSelection,
  signal: AbortSignal,
): AsyncGenerator<EventBatch> {
  try {
    const mark = await markOf(readers, namespace, signal);
    if (mark === undefined || mark.upTo <= after) return;
    let at = START;
    let revision = -1;
    const all = streamRequest(INDEX_STREAM, { from: undefined, backwards: false, limit: Infinity });
    if (mark.revision >= 0)
      for await (const sent of eventsIn(readers.read(all, signal), namespace)) {
        const record = recordIn(sent.dataText);
        if (record?.after !== at) return;
        [at, revision] = [record.upTo, sent.revision];
        if (at > after) yield* batchesIn(record.events, at, after, selection);
      }
    if (revision >= mark.revision && at < mark.upTo)
      yield { events: [], position: mark.upTo, caughtUp: false };
  } catch (error) {
    if (!isUnreadable(error)) throw error;
  }
}

/** Whether reading the index has failed for good, and is done without. */
function isUnreadable(error: unknown): boolean {
  return !isTransient(error) && detailsOf(error).code !== undefined;
}

function* batchesIn(
  events: readonly RecordedEvent[],
  upTo: Position,
  after: Position,
  { prefixes, batchSize }: ReadSelection,
): Generator<EventBatch> {
  const selected = events.filter(
    ({ position, stream }) =>
      position > after && prefixes?.some((prefix) => stream.startsWith(prefix)) === true,
  );
  for (let from = 0; from === 0 || from < selected.length; from += batchSize) {
    const part = selected.slice(from, from + batchSize);
    const isLast = from + batchSize >= selected.length;
    yield { events: part, position: isLast ? upTo : (part.at(-1)?.position ?? upTo), caughtUp: false };
  }
}

/**
 * All events of the indexed streams between two positions of the log. Each record continues where the one before it
 * ends.
 */
interface IndexRecord {
  readonly after: Position;
  readonly upTo: Position;
  readonly events: readonly RecordedEvent[];
}

/** Types that start with `$` belong to no log, for earlier versions of this program too. */
const TYPE = '$indexed';

type IndexEntry = Omit<RecordedEvent, 'data' | 'meta'> & {
  /** Of data and metadata, in UTF-16 units. */
  readonly lengths: readonly [number, number];
};

interface RecordHead extends Omit<IndexRecord, 'events'> {
  readonly events: readonly IndexEntry[];
}

const TEXTS = ',"texts":[';

/**
 * A record as an event. Data and metadata of its events are JSON already and are embedded as they are: as strings
 * within JSON they might be twice as long, more than the server accepts. The shape is the storage format: add, never
 * rename.
 */
function toIndexEvent({ after, upTo, events }: IndexRecord): NewEvent {
  const entries = events.map(({ data, meta, ...rest }): IndexEntry => ({
    ...rest,
    lengths: [data.length, meta.length],
  }));
  const head = JSON.stringify({ after, upTo, events: entries } satisfies RecordHead);
  const texts = events.map(({ data, meta }) => `${data},${meta}`).join(',');
  const data = `{"length":${head.length},"head":${head}${TEXTS}${texts}]}`;
  return { id: randomUUID(), type: TYPE, data, meta: '{}' };
}

/** The record in the data of an event; undefined if it has another shape. */
function recordIn(text: string): IndexRecord | undefined {
  try {
    return parsed(text);
  } catch {
    return undefined;
  }
}

function parsed(text: string): IndexRecord | undefined {
  const begin = /^\{"length":(\d+),"head":/.exec(text);
  if (begin === null) return undefined;
  const end = begin[0].length + Number(begin[1]);
  if (!text.startsWith(TEXTS, end)) return undefined;
  const { events, ...bounds } = JSON.parse(text.slice(begin[0].length, end)) as RecordHead;
  let at = end + TEXTS.length;
  const next = (length: number): string => text.slice(at, (at += length + 1) - 1);
  return {
    ...bounds,
    events: events.map(({ lengths: [data, meta], ...rest }) => ({
      ...rest,
      data: next(data),
      meta: next(meta),
    })),
  };
}

/** What the keeper needs of the log in EventStoreDB. */
export interface IndexedLog extends Pick<EventLog, 'subscribe'> {
  /** The last event of a stream of the server. */
  last(name: string): Promise<SentEvent | undefined>;
  /** The last revision of a stream of the server, even if it can no longer be read. Raises `StreamDeleted`. */
  lastRevision(name: string): Promise<number>;
  /** The events of a stream of the server from a revision on. */
  eventsFrom(name: string, from: number): AsyncIterable<SentEvent>;
  /** The end of the log, and how many events have been read so far in search of it. */
  end(): Promise<LogEnd & { readonly passed: number }>;
  /** Appends to a stream of the server; returns the revision of its last event. */
  appendTo(name: string, expected: number, events: readonly NewEvent[]): Promise<number>;
}

/** By default the index follows the log so often (ms): at the next start, no more of the log is read. */
const EVERY_MS = 10_000;
const BACKOFF_MS = { first: 1_000, longest: 60_000 } as const;

/** After this many foreign events the end of the log is marked: searches for it need not pass them again. */
const PASSED = 1_000;

/** Limits of a record. An event that is longer is a record of its own. */
const RECORD = { count: 1_000, size: 256 * 1024 } as const;

/** The end of the index. */
interface KeptUpTo {
  /** The index is complete up to here. */
  readonly upTo: Position;
  /** Of the last event of the stream. */
  readonly revision: number;
  readonly chain: Chain;
  readonly marked: Position;
  readonly metadata: { readonly content: StreamMetadata; readonly revision: number };
}

/** Records that can be read, each of which continues where the one before it ends. */
interface Chain {
  /** Of the first and the last record; `NO_STREAM` without any. */
  readonly first: number;
  readonly last: number;
  /** Up to where the last record is. */
  readonly upTo: Position;
}

const NO_CHAIN: Chain = { first: NO_STREAM, last: NO_STREAM, upTo: START };

/** Limits of a stream's metadata that would delete the first records. */
const LIMITS = ['$maxCount', '$maxAge'] as const;

/** There is no index, and cannot be one. */
class IndexUnused extends NamedError {
  constructor(reason: string, cause: unknown) {
    super(
      `the index of the event log is not used, so each start reads the whole log: its stream ${INDEX_STREAM} ${reason}`,
      { cause },
    );
  }
}

/**
 * Keeps the index up to date until the signal aborts. Several processes may: expected revisions let one of them append,
 * and the others continue after it. An index that is damaged is made again. Raises `IndexUnused` if the server does not
 * accept the index; then the log is read from where it ends.
 */
export async function keepIndex(log: IndexedLog, signal: AbortSignal, everyMs = EVERY_MS): Promise<void> {
  const backoff = new Backoff(SYSTEM_CLOCK, BACKOFF_MS);
  const keeper = new IndexEnd(log);
  while (!signal.aborted) {
    try {
      await follow(log, await keeper.read(), signal, everyMs, () => backoff.reset());
    } catch (error) {
      if (error instanceof StreamDeleted) throw new IndexUnused('was deleted for good (tombstoned)', error);
      if (error instanceof UnacceptableAppend)
        throw new IndexUnused(`accepts no record: ${error.message}`, error);
      if (!(error instanceof EngineUnavailable) && !(error instanceof RevisionConflict)) throw error;
    }
    await backoff.wait(signal);
  }
}

async function follow(
  log: IndexedLog,
  found: KeptUpTo,
  signal: AbortSignal,
  everyMs: number,
  onProgress: () => void,
): Promise<void> {
  const { content } = found.metadata;
  // Before the whole log is read for it, a server that does not accept the index refuses it.
  const isDue = !(MARK in content) || LIMITS.some((limit) => limit in content);
  let end = isDue ? await mark(log, found) : found;
  let events: RecordedEvent[] = [];
  let size = 0;
  let passed = 0;
  const options = { after: end.upTo, prefixes: REFERENCE_STREAMS };
  const subscribe = (ending: AbortSignal): AsyncIterable<EventBatch> =>
    log.subscribe({ ...options, signal: ending });
  for await (const batch of orSilence(subscribe, everyMs, signal)) {
    if (batch === 'silence') {
      const found = await log.end();
      if (events.length > 0 || found.head !== end.upTo || found.passed < passed + PASSED) continue;
      end = await mark(log, end, found.last);
      ({ passed } = found);
      continue;
    }
    events.push(...batch.events);
    for (const event of batch.events) size += sizeOf(event);
    const isDue = batch.caughtUp ? batch.position > end.marked : size >= RECORD.size;
    if (!isDue) continue;
    end = await extend(log, end, events, batch.position);
    [events, size] = [[], 0];
    onProgress();
    // What arrives meanwhile is queued.
    if (batch.caughtUp) await pause(everyMs, undefined, { signal }).catch(() => undefined);
  }
}

/** The batches of a subscription, and `silence` each time that none has come for so long (ms). */
async function* orSilence(
  subscribe: (signal: AbortSignal) => AsyncIterable<EventBatch>,
  everyMs: number,
  signal: AbortSignal,
): AsyncGenerator<EventBatch | 'silence'> {
  const ending = new AbortController();
  const iterator = subscribe(AbortSignal.any([signal, ending.signal]))[Symbol.asyncIterator]();
  try {
    for (let next = iterator.next(); ;) {
      // Awaited below, possibly after it has failed.
      next.catch(() => undefined);
      const found = await Promise.race([next, pause(everyMs, 'silence' as const, { ref: false })]);
      if (found === 'silence') {
        if (!signal.aborted) yield found;
        continue;
      }
      if (found.done === true) return;
      yield found.value;
      next = iterator.next();
    }
  } finally {
    ending.abort();
    await iterator.return?.();
  }
}

/** Finds the end of the index. Records that were checked before are not read again. */
class IndexEnd {
  private checked = NO_CHAIN;

  constructor(private readonly log: IndexedLog) {}

  async read(): Promise<KeptUpTo> {
    const revision = await this.log.lastRevision(INDEX_STREAM);
    const found = await this.log.last(`$$${INDEX_STREAM}`);
    const content = metadataIn(found);
    const metadata = { content, revision: found?.revision ?? NO_STREAM };
    const chain = await this.chain();
    // Readers stop where records do not continue each other, and so would those that are appended.
    if (chain === undefined) {
      const behind = { ...metadata, content: { ...without(content, MARK), $tb: revision + 1 } };
      return { upTo: START, revision, chain: NO_CHAIN, marked: START, metadata: behind };
    }
    const mark = content[MARK] as Partial<IndexMark> | null | undefined;
    const marked = mark?.revision === chain.last ? (mark.upTo ?? START) : START;
    return { upTo: marked > chain.upTo ? marked : chain.upTo, revision, chain, marked, metadata };
  }

  /** All records; undefined if they are not continuous from the start of the log. */
  private async chain(): Promise<Chain | undefined> {
    const first = await firstRevision(this.log);
    let chain = first === this.checked.first ? this.checked : NO_CHAIN;
    this.checked = NO_CHAIN;
    for await (const { revision, dataText } of this.log.eventsFrom(INDEX_STREAM, chain.last + 1)) {
      const record = recordIn(dataText);
      if (record?.after !== chain.upTo) return undefined;
      chain = extended(chain, revision, record.upTo);
    }
    this.checked = chain;
    return chain;
  }
}

function extended({ first }: Chain, revision: number, upTo: Position): Chain {
  return { first: first === NO_STREAM ? revision : first, last: revision, upTo };
}

async function firstRevision(log: IndexedLog): Promise<number> {
  for await (const { revision } of log.eventsFrom(INDEX_STREAM, 0)) return revision;
  return NO_STREAM;
}

/** Appends what the index lacks, then the mark. Raises `RevisionConflict` if another process has. */
async function extend(
  log: IndexedLog,
  end: KeptUpTo,
  events: readonly RecordedEvent[],
  upTo: Position,
): Promise<KeptUpTo> {
  let { revision, chain } = end;
  for (const part of batchesOf(events, RECORD, sizeOf)) {
    const last = part.at(-1);
    const isLast = last === events.at(-1);
    const record = { after: chain.upTo, upTo: isLast ? upTo : (last?.position ?? upTo), events: part };
    revision = await log.appendTo(INDEX_STREAM, revision, [toIndexEvent(record)]);
    chain = extended(chain, revision, record.upTo);
  }
  return await mark(log, { ...end, upTo, revision, chain });
}

/** `last`: up to where the log has no further event. */
async function mark(log: IndexedLog, end: Omit<KeptUpTo, 'marked'>, last?: Position): Promise<KeptUpTo> {
  const { upTo, chain } = end;
  const value: IndexMark = { upTo, revision: chain.last, ...(last === undefined ? {} : { last }) };
  const content = { ...without(end.metadata.content, ...LIMITS), [MARK]: value };
  const events = [metadataEvent(content)];
  const revision = await log.appendTo(`$$${INDEX_STREAM}`, end.metadata.revision, events);
  return { ...end, marked: upTo, metadata: { content, revision } };
}

function sizeOf({ stream, type, data, meta }: RecordedEvent): number {
  return stream.length + type.length + data.length + meta.length + 150;
}
