import { lastEvent } from '../kernel/decider';
import { namedUuid, NO_STREAM, type Position, type RecordedEvent, START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import {
  BATCH,
  type ClientEvent,
  failing,
  type FollowedPart,
  type ReadEvent,
  type StreamPart,
  type StreamRead,
  toClient,
} from './client-values';

/**
 * The log as clients see it. All events are this program's own: JSON, in streams without metadata or tombstones.
 * Streams of links to them can be read, but are not stored. The server of the tests, to which clients write, overrides
 * what differs then.
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

/** Whether a stream has links only: those that the system projections of EventStoreDB would write. */
function hasLinks(stream: string): boolean {
  return stream === STREAMS || stream.startsWith(CATEGORY) || stream.startsWith(TYPE);
}

/**
 * The streams of links to a log: `$ce-<category>` to all events of the streams `<category>-…`, `$et-<type>` to those of
 * a type, `$streams` to the first event of each stream. Links have the order of the log, so their revisions are the
 * same in every process.
 *
 * Nothing is stored. The first read of any such stream reads the log once and notes how many links each block of
 * `BLOCK` events has (ADR 43); later reads note what was appended since. So a read of some links reads the blocks that
 * have them.
 */
export class Links {
  readonly #blocks: LinkBlock[] = [];
  readonly #streams = new Map<string, LinkStream>();
  #upTo: Position = START;
  #noting: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly log: EventLog,
    private readonly maxStreams = MAX_STREAMS,
  ) {}

  /** Like that of `ClientLog`. */
  async readStream(stream: string, { from, backwards, count }: StreamPart): Promise<StreamRead | undefined> {
    const { links } = await this.#noted(stream);
    if (links === undefined) return undefined;
    const last = links.count - 1;
    const start = backwards ? Math.min(from ?? last, last) : (from ?? last + 1);
    const limit = Math.min(count, backwards ? start + 1 : Math.max(0, last + 1 - start));
    const events = backwards ? this.#backwards(stream, start, limit) : this.#forwards(stream, start, limit);
    return { events, first: 0, last };
  }

  /** The links from a revision on, by default from the end, then new ones. */
  async *follow(stream: string, from: number | undefined, signal: AbortSignal): AsyncGenerator<FollowedPart> {
    const { links, upTo } = await this.#noted(stream);
    let revision = links?.count ?? 0;
    const first = from ?? revision;
    for await (const events of this.#forwards(stream, first, revision - first))
      yield { events, caughtUp: false };
    const prefixes = prefixesOf(stream);
    const options = { after: upTo, batchSize: BATCH, signal, ...(prefixes && { prefixes }) };
    for await (const { events, caughtUp } of this.log.subscribe(options)) {
      const fresh: ClientEvent[] = [];
      for (const event of events) {
        if (!isLinked(event, stream)) continue;
        if (revision >= first) fresh.push(linkTo(event, stream, revision));
        revision += 1;
      }
      yield { events: fresh, caughtUp };
    }
  }

  /** Notes what was appended since, and returns what is known about a stream up to some position. */
  async #noted(stream: string): Promise<{ readonly links: LinkStream | undefined; readonly upTo: Position }> {
    // One at a time. A failure is that of the read which waits for it, and what was noted before remains.
    const noting = this.#noting.then(() => this.#note());
    this.#noting = noting.catch(() => undefined);
    await noting;
    if (this.#isFull())
      throw failing(
        `${stream}: the log has more than ${this.maxStreams} streams of links; read all events, with a filter by ` +
          'stream or by type',
      );
    const links = this.#streams.get(stream);
    return { links: links && { ...links }, upTo: this.#upTo };
  }

  #isFull(): boolean {
    return this.#streams.size > this.maxStreams;
  }

  async #note(): Promise<void> {
    if (this.#isFull()) return;
    for await (const { events, position } of this.log.readAll({ after: this.#upTo, batchSize: BLOCK })) {
      for (const event of events) this.#count(event);
      this.#upTo = position;
      if (this.#isFull()) return;
    }
  }

  #count(event: RecordedEvent): void {
    let block = this.#blocks.at(-1);
    if (block === undefined || block.events === BLOCK)
      this.#blocks.push((block = { first: event.position, last: event.position, events: 0 }));
    block.events += 1;
    block.last = event.position;
    const number = this.#blocks.length - 1;
    for (const stream of streamsWith(event)) {
      let links = this.#streams.get(stream);
      if (links === undefined) this.#streams.set(stream, (links = { blocks: [], firsts: [], count: 0 }));
      if (links.blocks.at(-1) !== number) {
        links.blocks.push(number);
        links.firsts.push(links.count);
      }
      links.count += 1;
    }
  }

  /** Batches may be empty. */
  async *#forwards(stream: string, from: number, limit: number): AsyncGenerator<readonly ClientEvent[]> {
    const links = this.#streams.get(stream);
    if (links === undefined || limit <= 0) return;
    const { blocks, firsts } = links;
    const prefixes = prefixesOf(stream);
    let left = limit;
    for (let at = placeOf(from, firsts); at < blocks.length; at += 1) {
      const start = blocks[at] ?? 0;
      let revision = firsts[at] ?? 0;
      while (blocks[at + 1] === (blocks[at] ?? 0) + 1) at += 1;
      const end = this.#blocks[blocks[at] ?? 0]?.last ?? START;
      const after = this.#blocks[start - 1]?.last ?? START;
      for await (const batch of this.log.readAll({
        after,
        batchSize: BATCH,
        ...(prefixes && { prefixes }),
      })) {
        const found: ClientEvent[] = [];
        for (const event of batch.events) {
          if (found.length === left || event.position > end) break;
          if (!isLinked(event, stream)) continue;
          if (revision >= from) found.push(linkTo(event, stream, revision));
          revision += 1;
        }
        yield found;
        left -= found.length;
        if (left === 0) return;
        if (batch.position >= end) break;
      }
    }
  }

  /** Batches may be empty. */
  async *#backwards(stream: string, from: number, limit: number): AsyncGenerator<readonly ClientEvent[]> {
    const links = this.#streams.get(stream);
    if (links === undefined || limit <= 0) return;
    const { blocks, firsts } = links;
    // The last block may grow meanwhile.
    const [count, upTo] = [links.count, this.#upTo];
    let left = limit;
    for (let at = placeOf(from, firsts); at >= 0; at -= 1) {
      let revision = (firsts[at + 1] ?? count) - 1;
      const before = this.#blocks[(blocks[at] ?? 0) + 1]?.first;
      while (at > 0 && blocks[at - 1] === (blocks[at] ?? 0) - 1) at -= 1;
      const start = this.#blocks[blocks[at] ?? 0]?.first ?? START;
      for await (const batch of this.log.readAllBackwards({ batchSize: BATCH, ...(before && { before }) })) {
        const found: ClientEvent[] = [];
        for (const event of batch) {
          if (found.length === left || event.position < start) break;
          if (event.position > upTo || !isLinked(event, stream)) continue;
          if (revision <= from) found.push(linkTo(event, stream, revision));
          revision -= 1;
        }
        yield found;
        left -= found.length;
        if (left === 0) return;
        if ((batch.at(-1)?.position ?? START) <= start) break;
      }
    }
  }
}

/** Consecutive events of the log. */
interface LinkBlock {
  readonly first: Position;
  last: Position;
  events: number;
}

/** Where the links of a stream are: numbers of blocks that have any, and the revision of the first link in each. */
interface LinkStream {
  readonly blocks: number[];
  readonly firsts: number[];
  count: number;
}

const STREAMS = '$streams';
const CATEGORY = '$ce-';
const TYPE = '$et-';

const BLOCK = 1_000;
/** The log of this program has some hundred; other programs' events in EventStoreDB may have any number of types. */
const MAX_STREAMS = 10_000;

/** The streams that have a link to an event. */
function streamsWith({ stream, type, revision }: RecordedEvent): readonly string[] {
  const category = categoryOf(stream);
  const streams = [TYPE + type];
  if (category !== undefined) streams.push(CATEGORY + category);
  if (revision === 0) streams.push(STREAMS);
  return streams;
}

function isLinked(event: RecordedEvent, stream: string): boolean {
  if (stream === STREAMS) return event.revision === 0;
  if (stream.startsWith(TYPE)) return event.type === stream.slice(TYPE.length);
  return categoryOf(event.stream) === stream.slice(CATEGORY.length);
}

/** What is before the first dash, as by EventStoreDB's default; undefined for streams without a category. */
function categoryOf(stream: string): string | undefined {
  const dash = stream.indexOf('-');
  return dash > 0 ? stream.slice(0, dash) : undefined;
}

/** Prefixes of the streams that the links of a stream point to; undefined for any. */
function prefixesOf(stream: string): readonly string[] | undefined {
  return stream.startsWith(CATEGORY) ? [`${stream.slice(CATEGORY.length)}-`] : undefined;
}

/** The index of the block that has a revision: of the last one that begins with it or an earlier one. */
function placeOf(revision: number, firsts: readonly number[]): number {
  let [low, high] = [0, firsts.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((firsts[middle] ?? 0) <= revision) low = middle;
    else high = middle;
  }
  return low;
}

const LINK_IDS = Buffer.from('6f1d6c1e0c2c5d5e8a3f4d0b9c7e2a15', 'hex');

/**
 * A link as EventStoreDB writes it, except that it has the time and the position of its target, and always the same id.
 */
function linkTo(event: RecordedEvent, stream: string, revision: number): ClientEvent {
  const position = Number(event.position);
  const metadata = {
    $c: position,
    $p: position,
    ...(stream.startsWith(CATEGORY) && { $o: event.stream }),
    $causedBy: event.id,
  };
  const target = toClient(event);
  return {
    id: namedUuid(LINK_IDS, `${stream} ${revision}`),
    type: '$>',
    json: false,
    data: Buffer.from(`${event.revision}@${event.stream}`),
    metadata: Buffer.from(JSON.stringify(metadata)),
    stream,
    revision: String(revision),
    position: event.position,
    created: target.created,
    target,
  };
}
