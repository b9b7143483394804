import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Backoff } from '../../kernel/backoff';
import { batchesOf } from '../../kernel/batches';
import { NO_STREAM, type NewEvent, type Position, type RecordedEvent, START } from '../../kernel/event';
import {
  EngineUnavailable,
  type EventBatch,
  type EventLog,
  RevisionConflict,
  UnacceptableAppend,
} from '../../kernel/event-log';
import { REFERENCE_STREAMS } from '../../kernel/reference-streams';
import { recordIn, toIndexEvent } from './index-record';
import { INDEX_STREAM, type IndexMark, MARK, markIn } from './reference-index';
import { type End as LogEnd } from './head';
import { type SentEvent } from './sent-event';

/** What the keeper needs of the log in EventStoreDB. */
export interface IndexedLog extends Pick<EventLog, 'subscribe'> {
  /** The last event of a stream of the server. */
  last(name: string): Promise<SentEvent | undefined>;
  /** The end of the log, and how many events have been read so far in search of it. */
  end(): Promise<LogEnd & { readonly passed: number }>;
  /** Appends to a stream of the server; returns the revision of its last event. */
  appendTo(name: string, expected: number, events: readonly NewEvent[]): Promise<number>;
}

/** By default the index follows the log so often (ms): at the next start, no more of the log is read. */
const EVERY_MS = 10_000;
const BACKOFF_MS = { first: 1_000, longest: 60_000 } as const;

/** After so many events that belong to no log or another, the end of the log is marked: searches for it need not pass them again. */
const PASSED = 1_000;

/** Limits of a record. An event that is longer is a record of its own. */
const RECORD = { count: 1_000, size: 256 * 1024 } as const;

/** The end of the index. */
interface End {
  /** The index is complete up to here. */
  readonly upTo: Position;
  /** Of the last record, and up to where it is. */
  readonly revision: number;
  readonly recorded: Position;
  /** The last mark. */
  readonly marked: Position;
  readonly metadata: { readonly content: object; readonly revision: number };
}

/**
 * Keeps the index up to date until the signal aborts. Several processes may: expected revisions let one of them append, and the
 * others continue after it. Ends early if the server does not accept the index; then the log is read from where it ends.
 */
export async function keepIndex(log: IndexedLog, signal: AbortSignal, everyMs = EVERY_MS): Promise<void> {
  const backoff = new Backoff(BACKOFF_MS);
  while (!signal.aborted) {
    try {
      await follow(log, signal, everyMs, () => backoff.reset());
    } catch (error) {
      if (error instanceof UnacceptableAppend) return;
      if (!(error instanceof EngineUnavailable) && !(error instanceof RevisionConflict)) throw error;
    }
    await backoff.wait(signal);
  }
}

async function follow(
  log: IndexedLog,
  signal: AbortSignal,
  everyMs: number,
  onProgress: () => void,
): Promise<void> {
  let end = await endOf(log);
  // Before the whole log is read for it, a server that does not accept the index says so.
  if (!(MARK in end.metadata.content)) end = await mark(log, end);
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

async function endOf(log: IndexedLog): Promise<End> {
  const last = await log.last(INDEX_STREAM);
  const found = await log.last(`$$${INDEX_STREAM}`);
  const content = JSON.parse(found?.dataText ?? '{}') as object;
  const metadata = { content, revision: found?.revision ?? NO_STREAM };
  const revision = last?.revision ?? NO_STREAM;
  const recorded = (last && recordIn(last.dataText)?.upTo) ?? START;
  const mark = markIn(found);
  const marked = mark?.revision === revision ? mark.upTo : START;
  return { upTo: marked > recorded ? marked : recorded, revision, recorded, marked, metadata };
}

/** Appends what the index lacks, then the mark. Raises `RevisionConflict` if another process has. */
async function extend(
  log: IndexedLog,
  end: End,
  events: readonly RecordedEvent[],
  upTo: Position,
): Promise<End> {
  let { revision, recorded } = end;
  for (const part of batchesOf(events, RECORD, sizeOf)) {
    const last = part.at(-1);
    const isLast = last === events.at(-1);
    const record = { after: recorded, upTo: isLast ? upTo : (last?.position ?? upTo), events: part };
    revision = await log.appendTo(INDEX_STREAM, revision, [toIndexEvent(record)]);
    recorded = record.upTo;
  }
  return await mark(log, { ...end, upTo, revision, recorded });
}

/** `last`: up to where the log has no further event. */
async function mark(log: IndexedLog, end: Omit<End, 'marked'>, last?: Position): Promise<End> {
  const { upTo, revision } = end;
  const value: IndexMark = { upTo, revision, ...(last === undefined ? {} : { last }) };
  const content = { ...end.metadata.content, [MARK]: value };
  const event = { id: randomUUID(), type: '$metadata', data: JSON.stringify(content), meta: '{}' };
  const metadata = {
    content,
    revision: await log.appendTo(`$$${INDEX_STREAM}`, end.metadata.revision, [event]),
  };
  return { ...end, marked: upTo, metadata };
}

function sizeOf({ stream, type, data, meta }: RecordedEvent): number {
  return stream.length + type.length + data.length + meta.length + 150;
}
