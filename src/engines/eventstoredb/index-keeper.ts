import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Backoff } from '../../kernel/backoff';
import { batchesOf } from '../../kernel/batches';
import { NO_STREAM, type NewEvent, type Position, type RecordedEvent, START } from '../../kernel/event';
import {
  EngineUnavailable,
  type EventLog,
  RevisionConflict,
  UnacceptableAppend,
} from '../../kernel/event-log';
import { REFERENCE_STREAMS } from '../../kernel/reference-streams';
import { recordIn, toIndexEvent } from './index-record';
import { INDEX_STREAM, MARK, markIn } from './reference-index';
import { type SentEvent } from './sent-event';

/** What the keeper needs of the log in EventStoreDB. */
export interface IndexedLog extends Pick<EventLog, 'subscribe'> {
  /** The last event of a stream of the server. */
  last(name: string): Promise<SentEvent | undefined>;
  /** Appends to a stream of the server; returns the revision of its last event. */
  appendTo(name: string, expected: number, events: readonly NewEvent[]): Promise<number>;
}

/** By default the index follows the log so often (ms): at the next start, no more of the log is read. */
const EVERY_MS = 10_000;
const BACKOFF_MS = { first: 1_000, longest: 60_000 } as const;

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
  let events: RecordedEvent[] = [];
  let size = 0;
  const options = { after: end.upTo, prefixes: REFERENCE_STREAMS, signal };
  for await (const { events: more, position, caughtUp } of log.subscribe(options)) {
    events.push(...more);
    for (const event of more) size += sizeOf(event);
    const isDue = caughtUp ? position > end.marked : size >= RECORD.size;
    if (!isDue) continue;
    end = await extend(log, end, events, position);
    [events, size] = [[], 0];
    onProgress();
    // What arrives meanwhile is queued.
    if (caughtUp) await pause(everyMs, undefined, { signal }).catch(() => undefined);
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
  const content = { ...end.metadata.content, [MARK]: { upTo, revision } };
  const mark = { id: randomUUID(), type: '$metadata', data: JSON.stringify(content), meta: '{}' };
  const metadata = {
    content,
    revision: await log.appendTo(`$$${INDEX_STREAM}`, end.metadata.revision, [mark]),
  };
  return { upTo, revision, recorded, marked: upTo, metadata };
}

function sizeOf({ stream, type, data, meta }: RecordedEvent): number {
  return stream.length + type.length + data.length + meta.length + 150;
}
