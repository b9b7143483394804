import { lastEvent } from '../kernel/decider';
import { NO_STREAM, type RecordedEvent } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import {
  BATCH,
  type ClientEvent,
  type FollowedPart,
  type ReadEvent,
  type StreamPart,
  type StreamRead,
  toClient,
} from './client-event';
import { hasLinks, Links } from './links';

/**
 * The log as clients see it. All events are this program's own: JSON, in streams without metadata or tombstones. Streams
 * of links to them can be read, but are not stored. The server of the tests, to which clients write, overrides what
 * differs then.
 */
export class ClientLog {
  /** Raises `Refusal` if the stream has ended with one of these events. */
  readonly checkEnd: ((stream: string, events: readonly RecordedEvent[]) => void) | undefined;
  readonly #links: Links;

  constructor(readonly log: EventLog) {
    this.#links = new Links(log);
  }

  toClient(event: RecordedEvent): ClientEvent {
    return toClient(event);
  }

  /** The visible events of a part of a stream; undefined if the stream does not exist. Raises `Refusal`. */
  async readStream(stream: string, part: StreamPart): Promise<StreamRead | undefined> {
    if (hasLinks(stream)) return await this.#links.readStream(stream, part);
    const { from, backwards, count } = part;
    const last = await this.lastRevision(stream);
    if (last === undefined) return undefined;
    const start = backwards ? Math.min(from ?? last, last) : (from ?? last + 1);
    const limit = Math.min(count, backwards ? start + 1 : Math.max(0, last + 1 - start));
    const batches = this.log.readStream(stream, { from: start, backwards, limit, batchSize: BATCH });
    return { events: this.shown(batches), first: 0, last };
  }

  /** The events of a stream from a revision, by default from its end, then new ones. Raises `Refusal`. */
  follow(stream: string, from: number | undefined, signal: AbortSignal): AsyncIterable<FollowedPart> {
    return hasLinks(stream)
      ? this.#links.follow(stream, from, signal)
      : this.followStored(stream, from, signal);
  }

  /** What a client gets that wants links to be resolved. */
  async resolve(event: ClientEvent): Promise<ReadEvent> {
    return event.target === undefined ? { event, link: undefined } : { event: event.target, link: event };
  }

  protected async *followStored(
    stream: string,
    from: number | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<FollowedPart> {
    const after = await this.log.head();
    const history = await this.readStream(stream, { from, backwards: false, count: Infinity });
    let next = from ?? (history?.last ?? NO_STREAM) + 1;
    for await (const events of history?.events ?? []) {
      yield { events, caughtUp: false };
      next = Number(events.at(-1)?.revision ?? next - 1) + 1;
    }
    const options = { after, prefixes: [stream], batchSize: BATCH, signal };
    for await (const { events, caughtUp } of this.log.subscribe(options)) {
      const fresh = events.filter(({ stream: name, revision }) => name === stream && revision >= next);
      yield { events: fresh.map((event) => this.toClient(event)), caughtUp };
      this.checkEnd?.(stream, fresh);
    }
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
