import { type RecordedEvent } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { lastEvent } from '../kernel/decider';

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

/** Maximum events per read of the log, which blocks the thread. */
export const BATCH = 250;

/**
 * The log as clients see it. All events are this program's own: JSON, in streams without metadata, links or tombstones.
 * The server of the tests, to which clients write, overrides what differs then.
 */
export class ClientLog {
  /** Raises `Refusal` if the stream has ended with one of these events. */
  readonly checkEnd: ((stream: string, events: readonly RecordedEvent[]) => void) | undefined;

  constructor(readonly log: EventLog) {}

  toClient(event: RecordedEvent): ClientEvent {
    const { id, type, stream, position } = event;
    const [data, metadata] = [Buffer.from(event.data), Buffer.from(event.meta)];
    const revision = String(event.revision);
    return { id, type, json: true, data, metadata, stream, revision, position, created: timeIn(event.data) };
  }

  /** The visible events of a part of a stream; undefined if the stream does not exist. Raises `Refusal`. */
  async readStream(stream: string, { from, backwards, count }: StreamPart): Promise<StreamRead | undefined> {
    const last = await this.lastRevision(stream);
    if (last === undefined) return undefined;
    const start = backwards ? Math.min(from ?? last, last) : (from ?? last + 1);
    const limit = Math.min(count, backwards ? start + 1 : Math.max(0, last + 1 - start));
    const batches = this.log.readStream(stream, { from: start, backwards, limit, batchSize: BATCH });
    return { events: this.shown(batches), first: 0, last };
  }

  /** What a client gets that wants links to be resolved. */
  async resolve(event: ClientEvent): Promise<ReadEvent> {
    return { event, link: undefined };
  }

  private async *shown(
    batches: AsyncIterable<readonly RecordedEvent[]>,
  ): AsyncGenerator<readonly ClientEvent[]> {
    for await (const batch of batches) yield batch.map((event) => this.toClient(event));
  }

  private async lastRevision(stream: string): Promise<number | undefined> {
    return (await lastEvent(this.log, stream))?.revision;
  }
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
