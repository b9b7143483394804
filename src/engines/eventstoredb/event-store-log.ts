import { setMaxListeners } from 'node:events';
import { type NewEvent, type Position, type RecordedEvent } from '../../kernel/event';
import {
  type Appended,
  type EventBatch,
  EventLog,
  type ReadAllOptions,
  type ReadBackwardsOptions,
  type ReadStreamOptions,
  RevisionConflict,
  type SubscribeOptions,
} from '../../kernel/event-log';
import { checkAppend } from '../acceptable';
import { type Appender } from './appender';
import { Gathered } from './batches';
import { type Followed, Past } from './following';
import { type End, type Head } from './head';
import { Patience } from './patience';
import { type Readers } from './readers';
import { eventsIn, lastRevision, streamParts } from './reading';
import { backwardsRequest, streamRequest } from './requests';
import { type Tail } from './tail';
import { NoAnswer, Refused, unavailable } from './trouble';

const BATCH = 1_000;

/** How often a follower learns that the log has grown by events of other streams alone (ms). */
const ADVANCE_MS = 100;

/** What all logs of a thread at one URL share. */
export interface Shared {
  readonly readers: Readers;
  readonly appender: Appender;
  readonly head: Head;
  readonly tail: Tail;
}

/** The log in an EventStoreDB. Events of the server itself (`$…`), and what is no JSON object, are none of it. */
export class EventStoreLog extends EventLog {
  readonly #closing = new AbortController();

  /** `patience`: for how long a server that fails is tried (ms). `release` gives back what is shared. */
  constructor(
    private readonly shared: Shared,
    private readonly patience: number,
    private readonly release: () => Promise<void>,
  ) {
    super();
    // Each call listens to it, and there may be many at a time.
    setMaxListeners(0, this.#closing.signal);
  }

  /** Raises `EngineUnavailable` for a server that does not answer, or is too old. */
  async checkServer(): Promise<void> {
    await this.#look();
    checkVersion(await this.#once(() => this.shared.readers.version()));
  }

  override async append(stream: string, expected: number, events: readonly NewEvent[]): Promise<Appended> {
    checkAppend(stream, expected, events);
    const made = await (events.length > 0
      ? this.shared.appender.append({ stream, expected, events })
      : this.#check(stream, expected));
    const position = made.position ?? (await this.#positionOf(stream, made.revision));
    this.shared.head.reached(position);
    return { revision: made.revision, position };
  }

  override async *readStream(
    stream: string,
    options: ReadStreamOptions = {},
  ): AsyncGenerator<readonly RecordedEvent[]> {
    const { backwards = false, batchSize = BATCH } = options;
    const { readers } = this.shared;
    const { signal } = this.#closing;
    let { from, limit = Infinity } = options;
    const isDone = (): boolean => stream === '' || limit <= 0 || (from ?? 0) < 0;
    yield* this.#persist(signal, async function* () {
      for (let asked = 0, looked = 0; looked === asked && !isDone();) {
        [asked, looked] = [limit, 0];
        const messages = readers.read(streamRequest(stream, { from, backwards, limit }), signal);
        for await (const part of streamParts(messages, batchSize)) {
          from = part.last + (backwards ? -1 : 1);
          looked += part.looked;
          limit -= part.events.length;
          if (part.events.length > 0) yield part.events;
        }
      }
    });
    this.#checkOpen();
  }

  override async *readAll(options: ReadAllOptions): AsyncGenerator<EventBatch> {
    const { signal } = this.#closing;
    const { head } = await this.#look();
    if (options.after >= head) {
      yield { events: [], position: options.after, caughtUp: true };
      return;
    }
    const past = new Past(this.shared.readers, options.after, followed(options));
    yield* this.#persist(signal, () => past.upTo(head, signal, () => true));
    this.#checkOpen();
  }

  override async *readAllBackwards(
    options: ReadBackwardsOptions = {},
  ): AsyncGenerator<readonly RecordedEvent[]> {
    const { batchSize = BATCH } = options;
    const { signal } = this.#closing;
    const { readers } = this.shared;
    let { before } = options;
    yield* this.#persist(signal, async function* () {
      const gathered = new Gathered(batchSize);
      for await (const sent of eventsIn(readers.read(backwardsRequest(before, Infinity), signal))) {
        const event = sent.recorded();
        if (event !== undefined) gathered.add(event);
        if (!gathered.isFull) continue;
        before = gathered.last;
        yield gathered.take();
      }
      if (!gathered.isEmpty) yield gathered.take();
    });
    this.#checkOpen();
  }

  override async *subscribe(options: SubscribeOptions): AsyncGenerator<EventBatch> {
    const closing = this.#closing.signal;
    const signal = options.signal === undefined ? closing : AbortSignal.any([options.signal, closing]);
    const past = new Past(this.shared.readers, options.after, followed(options));
    while (!isAborted(signal)) {
      for await (const batch of this.#persist(signal, (patience) =>
        this.#follow(past, options, signal, patience),
      )) {
        yield batch;
        if (isAborted(signal)) return;
      }
    }
  }

  override async head(): Promise<Position> {
    return (await this.#look()).head;
  }

  override async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    await this.release();
  }

  /** Follows until its feed overflows: then it has to be taken up again, from the past. */
  async *#follow(
    past: Past,
    options: ReadAllOptions,
    signal: AbortSignal,
    patience: Patience,
  ): AsyncGenerator<EventBatch> {
    const { batchSize } = followed(options);
    const end = await this.shared.head.look();
    const feed = this.shared.tail.join(end, options.prefixes);
    const isCaughtUp = (): boolean => feed.isDrained && feed.position >= end.head;
    let told: EventBatch | undefined;
    let advanced = -Infinity;
    try {
      for await (const batch of past.upTo(feed.from, signal, isCaughtUp)) yield (told = batch);
      while (!feed.hasOverflowed && !signal.aborted) {
        const events = feed.take(batchSize).filter(({ position }) => position > past.position);
        if (feed.isDrained) past.passed(feed.position);
        else past.passed(events.at(-1)?.position ?? past.position);
        const batch = { events, position: past.position, caughtUp: isCaughtUp() };
        const isNews = batch.caughtUp && !(told?.caughtUp === true && told.position === batch.position);
        const wait =
          events.length > 0 || told?.caughtUp !== true ? 0 : advanced + ADVANCE_MS - performance.now();
        if (events.length === 0 && (!isNews || wait > 0)) {
          if (feed.isDrained) await feed.more(signal, isNews ? wait : undefined);
          continue;
        }
        advanced = performance.now();
        yield (told = batch);
      }
    } finally {
      if (feed.isHeard) patience.renew();
      feed.close();
    }
  }

  /** An empty append: what it would have met. */
  async #check(stream: string, expected: number): Promise<{ revision: number; position: Position }> {
    const { signal } = this.#closing;
    const actual = await this.#once(() =>
      lastRevision(
        this.shared.readers.read(
          streamRequest(stream, { from: undefined, backwards: true, limit: 1 }),
          signal,
        ),
      ),
    );
    if (actual !== expected) throw new RevisionConflict(stream, expected, actual);
    return { revision: actual, position: await this.head() };
  }

  /** The position of an event, or where it can be read no more, of one after it. */
  async #positionOf(stream: string, revision: number): Promise<Position> {
    for await (const [event] of this.readStream(stream, { from: revision, limit: 1 }))
      if (event?.revision === revision) return event.position;
    return await this.head();
  }

  async #look(): Promise<End> {
    return await this.#once(() => this.shared.head.look());
  }

  /** Makes a call that answers once over again until it does. */
  async #once<T>(call: () => Promise<T>): Promise<T> {
    const { signal } = this.#closing;
    for await (const answer of this.#persist(signal, async function* () {
      yield await call();
    })) {
      this.#checkOpen();
      return answer;
    }
    throw closed();
  }

  /** Makes a call over again until it ends well; each time it has to take up where the last one broke off. */
  async *#persist<T>(signal: AbortSignal, call: (patience: Patience) => AsyncIterable<T>): AsyncGenerator<T> {
    const patience = new Patience(this.patience);
    for (;;) {
      if (isAborted(signal)) return;
      const since = performance.now();
      try {
        for await (const part of call(patience)) {
          patience.renew();
          yield part;
        }
        return;
      } catch (error) {
        if (isAborted(signal)) return;
        if (error instanceof NoAnswer) this.shared.readers.renew(since);
        await patience.afterFailure(await this.shared.readers.explained(error), signal);
      }
    }
  }

  /** What closing has cut short must not look as if it had come to its end. */
  #checkOpen(): void {
    if (this.#closing.signal.aborted) throw closed();
  }
}

/** Versions before this one do not say when a subscription has caught up; `unknown` ones read streams without positions. */
const OLDEST = '23.10';

function checkVersion(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  // 0.0.0 is a build of the server's developers.
  if (version.startsWith('0.') || major * 100 + minor >= 2310) return;
  throw unavailable(new Refused(`it is version ${version}: expected EventStoreDB ${OLDEST} or later`));
}

/** By a call, since it changes meanwhile. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

function closed(): Error {
  return unavailable(new NoAnswer('it was closed'));
}

function followed({ prefixes, batchSize = BATCH }: ReadAllOptions): Followed {
  return { prefixes, batchSize: Math.max(1, batchSize) };
}
