import { randomUUID } from 'node:crypto';
import { type NewEvent, type Position, type RecordedEvent } from '../../kernel/event';

/** All events of the indexed streams between two positions of the log. Each record continues where the one before it ends. */
export interface IndexRecord {
  readonly after: Position;
  readonly upTo: Position;
  readonly events: readonly RecordedEvent[];
}

/** Types that start with `$` belong to no log, for earlier versions of this program too. */
const TYPE = '$indexed';

type Entry = Omit<RecordedEvent, 'data' | 'meta'> & {
  /** Of data and metadata, in UTF-16 units. */
  readonly lengths: readonly [number, number];
};

interface RecordHead extends Omit<IndexRecord, 'events'> {
  readonly events: readonly Entry[];
}

const TEXTS = ',"texts":[';

/**
 * A record as an event. Data and metadata of its events are JSON already and are embedded as they are: as strings within JSON
 * they might be twice as long, more than the server accepts. The shape is the storage format: add, never rename.
 */
export function toIndexEvent({ after, upTo, events }: IndexRecord): NewEvent {
  const entries = events.map(({ data, meta, ...rest }): Entry => ({
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
