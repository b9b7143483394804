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
import { checkAppend } from '../check-append';
import { type Appender } from './appender';
import { Gathered } from './batches';
import { Past, type Selection } from './past';
import { follow } from './follow';
import { type End, type Head } from './head';
import { Patience } from './patience';
import { type Readers } from './readers';
import { eventsIn, lastRevision, streamParts } from './reading';
import { backwardsRequest, streamRequest } from './requests';
import { type Tail } from './tail';
import { NoAnswer, Refused, unavailable } from './trouble';

const BATCH = 1_000;

/** Events of a stream asked for, at least, once events of other programs were among them. */
const LOOK_AHEAD = 100;

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
    this.#checkOpen();
    const made = await this.#unlessClosed(
      events.length > 0
        ? this.shared.appender.append({ stream, expected, events })
        : this.#check(stream, expected),
    );
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
        // Events of other programs count for the server, but not here: where there are some, there may be many.
        [asked, looked] = [asked === 0 ? limit : Math.max(limit, LOOK_AHEAD), 0];
        const messages = readers.read(streamRequest(stream, { from, backwards, limit: asked }), signal);
        for await (const part of streamParts(messages, batchSize)) {
          from = part.last + (backwards ? -1 : 1);
          looked += part.looked;
          const events = part.events.slice(0, limit);
          limit -= events.length;
          if (events.length > 0) yield events;
          if (limit <= 0) return;
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
    const past = new Past(this.shared.readers, options.after, selectionOf(options));
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
    // Not by `AbortSignal.any`, which leaves something behind in the signal that lives longest.
    const ending = new AbortController();
    const { signal } = ending;
    const end = (): void => ending.abort();
    const causes = [this.#closing.signal, ...(options.signal === undefined ? [] : [options.signal])];
    for (const cause of causes) cause.addEventListener('abort', end);
    if (causes.some(isAborted)) end();
    const selection = selectionOf(options);
    const past = new Past(this.shared.readers, options.after, selection);
    try {
      while (!isAborted(signal)) {
        for await (const batch of this.#persist(signal, (patience) =>
          follow(this.shared, past, selection, signal, patience),
        )) {
          yield batch;
          if (isAborted(signal)) return;
        }
      }
    } finally {
      for (const cause of causes) cause.removeEventListener('abort', end);
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

  /** An empty append: what it would have met. */
  async #check(stream: string, expected: number): Promise<{ revision: number; position: Position }> {
    const { signal } = this.#closing;
    const actual = await this.#once(() =>
      lastRevision(
        stream,
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
        await patience.afterFailure(await this.shared.readers.explained(error), since, signal);
      }
    }
  }

  /** What comes of some work, unless the log is closed meanwhile. */
  async #unlessClosed<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#closing;
    let end = (): void => undefined;
    const closing = new Promise<never>((_, reject) => (end = () => reject(closed())));
    signal.addEventListener('abort', end);
    try {
      return await Promise.race([work, closing]);
    } finally {
      signal.removeEventListener('abort', end);
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

function selectionOf({ prefixes, batchSize = BATCH }: ReadAllOptions): Selection {
  return { prefixes, batchSize: Math.max(1, batchSize) };
}
