import { setTimeout as pause } from 'node:timers/promises';
import { NamedError } from '../../kernel/fault';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { Backoff } from '../../runtime/unavailable';
import { batchesOf } from '../../runtime/concurrency';
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
import { without } from '../../kernel/without';
import { INDEX_STREAM, type IndexMark, MARK, recordIn, toIndexEvent } from './reference-index';
import { type End as LogEnd } from './head';
import { metadataEvent, metadataIn, type SentEvent, type StreamMetadata } from './sent-event';

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
  // Before the whole log is read for it, a server that does not accept the index says so.
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
