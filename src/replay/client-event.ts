import { type RecordedEvent } from '../kernel/event';

/** An event as delivered to a client of EventStoreDB. */
export interface ClientEvent {
  readonly id: string;
  readonly type: string;
  /** Whether the content type is JSON, as opposed to any bytes. */
  readonly json: boolean;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
  readonly stream: string;
  /** Decimal, since that of a tombstone exceeds JavaScript's integers. */
  readonly revision: string;
  readonly position: string;
  /** Creation time (ms since 1970), if known. */
  readonly created: number | undefined;
  /** Of a link, the event that it points to, if that is known without reading it. */
  readonly target?: ClientEvent;
}

/** An event, or a link with its target, if that still exists. */
export interface ReadEvent {
  readonly event: ClientEvent | undefined;
  readonly link: ClientEvent | undefined;
}

export interface StreamPart {
  /** First revision to read; undefined for the stream's end. */
  readonly from: number | undefined;
  readonly backwards: boolean;
  readonly count: number;
}

/** A part of a stream, with the revisions of the first and the last event that are visible in the whole stream. */
export interface StreamRead {
  readonly events: AsyncIterable<readonly ClientEvent[]>;
  readonly first: number;
  readonly last: number;
}

/** What a follower of a stream gets next. */
export interface FollowedPart {
  readonly events: readonly ClientEvent[];
  /** It has everything that was in the stream. */
  readonly caughtUp: boolean;
}

/** Maximum events per read of the log, which blocks the thread. */
export const BATCH = 250;

/** An event of the program: JSON, with the time in its data. */
export function toClient({ id, type, stream, position, ...event }: RecordedEvent): ClientEvent {
  const [data, metadata] = [Buffer.from(event.data), Buffer.from(event.meta)];
  const revision = String(event.revision);
  return { id, type, json: true, data, metadata, stream, revision, position, created: timeIn(event.data) };
}

/** The time of the last `at` field in a JSON text (ms since 1970). */
export function timeIn(data: string): number | undefined {
  const from = data.lastIndexOf(AT);
  if (from < 0) return undefined;
  const time = TIME.exec(data.slice(from + AT.length, from + AT.length + 25));
  const at = time === null ? NaN : Date.parse(time[0]);
  return Number.isNaN(at) ? undefined : at;
}

const AT = '"at":"';
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z(?=")/;
