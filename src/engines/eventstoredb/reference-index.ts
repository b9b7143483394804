import { hash, randomUUID } from 'node:crypto';
import { type NewEvent, type Position, type RecordedEvent, START } from '../../kernel/event';
import { type EventBatch, REFERENCE_STREAMS } from '../../kernel/event-log';
import { detailsOf, isTransient } from './failure';
import { type End } from './head';
import { type ReadSelection } from './history';
import { INDEX, type Namespace } from './namespace';
import { eventsIn, type Readers } from './stream-reads';
import { streamRequest } from './requests';
import { metadataIn } from './sent-event';

/** Up to where the index is complete, and the revision of its last record by then. */
export interface IndexMark {
  readonly upTo: Position;
  readonly revision: number;
  /** A later position in the server up to which the log has no further event, if there is one. */
  readonly last?: Position;
}

/** The metadata of the index's stream have the mark under this name: of metadata the server keeps the last event. */
export const MARK = 'affilogIndex';

const PREFIXES = hash('sha256', REFERENCE_STREAMS.join()).slice(0, 8);
/** A list of prefixes has a stream of its own, so that a version with another list reads another index. */
export const INDEX_STREAM = `${INDEX}reference-${PREFIXES}`;

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
export function toIndexEvent({ after, upTo, events }: IndexRecord): NewEvent {
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
export function recordIn(text: string): IndexRecord | undefined {
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
