import { setMaxListeners } from 'node:events';
import { type NewEvent, NO_STREAM, type Position, type RecordedEvent } from '../../kernel/event';
import {
  type Appended,
  type EventBatch,
  EventLog,
  type ReadAllOptions,
  type ReadBackwardsOptions,
  type ReadStreamOptions,
  RevisionConflict,
  type SubscribeOptions,
  UnacceptableAppend,
} from '../../kernel/event-log';
import { type OnRetry } from '../../runtime/unavailable';
import { checkAppend, countedAppend } from '../validation';
import { type Appender, type AppendResult } from './appender';
import {
  BatchBuffer,
  eventsIn,
  lastRevision,
  type Messages,
  type Readers,
  streamParts,
  BATCH,
  History,
  type ReadSelection,
  selectionOf,
} from './stream-reads';
import { NoAnswer, RefusedByServer, unavailable } from './failure';
import { type End, type LogHead, type Tail } from './tail';
import { type IndexedLog, isIndexed, keepIndex, readIndex } from './reference-index';
import { backwardsRequest, RetryBudget, streamRequest } from './requests';
import { metadataEvent, type Namespace, type SentEvent } from './sent-event';

/** Minimum events to request once a stream turned out to contain events of other programs. */
const MIN_REQUEST = 100;

/** Shared by all logs of a thread with the same URL and streams. */
export interface Shared {
  readonly namespace: Namespace;
  readonly readers: Readers;
  readonly appender: Appender;
  readonly head: LogHead;
  readonly tail: Tail;
  /** There is an index of its reference streams. */
  readonly isIndexed: boolean;
}

/** The event log in EventStoreDB. Skips events of the server itself (`$…`) and events that are not JSON objects. */
export class EventStoreLog extends EventLog {
  readonly #closing = new AbortController();

  /** `retryMs`: how long a failing server is retried. `release` releases the shared resources. */
  constructor(
    private readonly shared: Shared,
    private readonly retryMs: number,
    private readonly release: () => Promise<void>,
    private readonly onRetry?: OnRetry,
  ) {
    super();
    // Every call adds a listener, and there may be many at a time.
    setMaxListeners(0, this.#closing.signal);
  }

  /** Raises `EngineUnavailable` if the server does not answer or is too old. */
  async checkServer(): Promise<void> {
    await this.#readEnd();
    checkVersion(await this.#retryingCall(() => this.shared.readers.version()));
  }

  override async append(stream: string, expected: number, events: readonly NewEvent[]): Promise<Appended> {
    checkAppend(stream, expected, events);
    if (this.shared.namespace.toLog(this.serverName(stream)) === undefined)
      throw new UnacceptableAppend(`"${stream}" is not a valid name of a stream`);
    this.#checkOpen();
    return await countedAppend(this.shared.namespace.log, events.length, async () => {
      const result = await this.#unlessClosed(
        events.length > 0 ? this.#appendOwn(stream, expected, events) : this.#check(stream, expected),
      );
      const position = result.position ?? (await this.#positionOf(stream, result.revision));
      this.shared.head.advanceTo(position);
      return { revision: result.revision, position };
    });
  }

  override async *readStream(
    stream: string,
    options: ReadStreamOptions = {},
  ): AsyncGenerator<readonly RecordedEvent[]> {
    const { backwards = false, batchSize = BATCH } = options;
    const { readers, namespace } = this.shared;
    const { signal } = this.#closing;
    const name = this.serverName(stream);
    let { from, limit = Infinity } = options;
    const isDone = (): boolean => stream === '' || limit <= 0 || (from ?? 0) < 0;
    yield* this.#retrying(signal, async function* () {
      for (let requested = 0, received = 0; received === requested && !isDone();) {
        // The server counts events of other programs, which are skipped here. If there are some, there may be many.
        [requested, received] = [requested === 0 ? limit : Math.max(limit, MIN_REQUEST), 0];
        const messages = readers.read(streamRequest(name, { from, backwards, limit: requested }), signal);
        for await (const part of streamParts(messages, namespace, batchSize)) {
          from = part.last + (backwards ? -1 : 1);
          received += part.received;
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
    const { head } = await this.#readEnd();
    if (options.after >= head) {
      yield { events: [], position: options.after, caughtUp: true };
      return;
    }
    const history = this.#historyOf(options);
    yield* this.#fromIndex(history, selectionOf(options), signal);
    if (history.position >= head) yield { events: [], position: history.position, caughtUp: true };
    else yield* this.#retrying(signal, () => history.upTo(head, signal, () => true));
    this.#checkOpen();
  }

  override async *readAllBackwards(
    options: ReadBackwardsOptions = {},
  ): AsyncGenerator<readonly RecordedEvent[]> {
    const { batchSize = BATCH } = options;
    const { signal } = this.#closing;
    const { readers, namespace } = this.shared;
    let { before } = options;
    yield* this.#retrying(signal, async function* () {
      const buffer = new BatchBuffer(batchSize);
      for await (const sent of eventsIn(
        readers.read(backwardsRequest(before, Infinity), signal),
        namespace,
      )) {
        const event = sent.toRecorded();
        if (event !== undefined) buffer.add(event);
        if (!buffer.isFull) continue;
        before = buffer.last;
        yield buffer.take();
      }
      if (!buffer.isEmpty) yield buffer.take();
    });
    this.#checkOpen();
  }

  override async *subscribe(options: SubscribeOptions): AsyncGenerator<EventBatch> {
    // Not `AbortSignal.any`, which leaks memory in the signal that lives longest.
    const ending = new AbortController();
    const { signal } = ending;
    const end = (): void => ending.abort();
    const causes = [this.#closing.signal, ...(options.signal === undefined ? [] : [options.signal])];
    for (const cause of causes) cause.addEventListener('abort', end);
    if (causes.some(isAborted)) end();
    const selection = selectionOf(options);
    const history = this.#historyOf(options);
    try {
      for await (const batch of this.#fromIndex(history, selection, signal)) {
        yield batch;
        if (isAborted(signal)) return;
      }
      while (!isAborted(signal)) {
        for await (const batch of this.#retrying(signal, (budget) =>
          follow(this.shared, history, selection, signal, budget),
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
    return (await this.#readEnd()).head;
  }

  override async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    await this.release();
  }

  /** Names the stream as its caller does. */
  async #appendOwn(stream: string, expected: number, events: readonly NewEvent[]): Promise<AppendResult> {
    return await this.appendTo(this.serverName(stream), expected, events).catch((error: unknown) => {
      if (!(error instanceof RevisionConflict)) throw error;
      throw new RevisionConflict(stream, error.expected, error.actual);
    });
  }

  protected serverName(stream: string): string {
    return this.shared.namespace.toServer(stream);
  }

  /** Appends to any stream of the server. */
  protected async appendTo(
    name: string,
    expected: number,
    events: readonly NewEvent[],
  ): Promise<AppendResult> {
    return await this.shared.appender.append({ stream: name, expected, events });
  }

  /** Sets the metadata of a stream of the server, unless they have another revision than expected. */
  protected async setMetadata(name: string, metadata: object, expected = NO_STREAM): Promise<void> {
    try {
      await this.appendTo(`$$${name}`, expected, [metadataEvent(metadata)]);
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
    }
  }

  /** Keeps the index of the reference streams up to date until the signal aborts; several processes may. */
  async keepIndex(signal: AbortSignal, everyMs?: number): Promise<void> {
    const log: IndexedLog = {
      subscribe: (options) => this.subscribe(options),
      last: (name) => this.eventIn(name, 'last'),
      lastRevision: (name) => this.#lastRevision(name, name),
      eventsFrom: (name, from) => this.#eventsFrom(name, from),
      end: async () => ({ ...(await this.#readEnd()), passed: this.shared.head.passed }),
      appendTo: async (...append) => (await this.appendTo(...append)).revision,
    };
    await keepIndex(log, signal, everyMs);
  }

  /** The first event of a stream of the server from a revision on, or the last one; undefined if there is none. */
  protected async eventIn(name: string, from: number | 'last'): Promise<SentEvent | undefined> {
    const { namespace } = this.shared;
    return await this.#retryingCall(async () => {
      for await (const sent of eventsIn(this.#readOne(name, from), namespace)) return sent;
      return undefined;
    });
  }

  #readOne(name: string, from: number | 'last'): Messages {
    const part = from === 'last' ? { from: undefined, backwards: true } : { from, backwards: false };
    return this.shared.readers.read(streamRequest(name, { ...part, limit: 1 }), this.#closing.signal);
  }

  /** Reads what the index has of a selection, and advances the history past it. */
  async *#fromIndex(
    history: History,
    selection: ReadSelection,
    signal: AbortSignal,
  ): AsyncGenerator<EventBatch> {
    const { readers, namespace, isIndexed: hasIndex } = this.shared;
    if (!hasIndex || !isIndexed(selection.prefixes)) return;
    for await (const batch of this.#retrying(signal, () =>
      readIndex(readers, namespace, history.position, selection, signal),
    )) {
      history.delivered(batch.position);
      yield batch;
    }
  }

  #historyOf(options: ReadAllOptions): History {
    const { readers, namespace } = this.shared;
    return new History(readers, namespace, options.after, selectionOf(options));
  }

  /** Checks the revision for an empty append. */
  async #check(stream: string, expected: number): Promise<{ revision: number; position: Position }> {
    const actual = await this.#lastRevision(stream, this.serverName(stream));
    if (actual !== expected) throw new RevisionConflict(stream, expected, actual);
    return { revision: actual, position: await this.head() };
  }

  /** `name`: that of the stream in the server. */
  async #lastRevision(stream: string, name: string): Promise<number> {
    return await this.#retryingCall(() =>
      lastRevision(stream, this.#readOne(name, 'last'), this.shared.namespace),
    );
  }

  /** The events of a stream of the server from a revision on. */
  async *#eventsFrom(name: string, from: number): AsyncGenerator<SentEvent> {
    const { readers, namespace } = this.shared;
    const { signal } = this.#closing;
    let next = from;
    yield* this.#retrying(signal, async function* () {
      const request = streamRequest(name, { from: next, backwards: false, limit: Infinity });
      for await (const sent of eventsIn(readers.read(request, signal), namespace)) {
        next = sent.revision + 1;
        yield sent;
      }
    });
    this.#checkOpen();
  }

  /** The position of an event; if it can no longer be read, a later position. */
  async #positionOf(stream: string, revision: number): Promise<Position> {
    for await (const [event] of this.readStream(stream, { from: revision, limit: 1 }))
      if (event?.revision === revision) return event.position;
    return await this.head();
  }

  async #readEnd(): Promise<End> {
    return await this.#retryingCall(() => this.shared.head.read());
  }

  /** Retries a call with a single answer. */
  async #retryingCall<T>(call: () => Promise<T>): Promise<T> {
    const { signal } = this.#closing;
    for await (const answer of this.#retrying(signal, async function* () {
      yield await call();
    })) {
      this.#checkOpen();
      return answer;
    }
    throw closed();
  }

  /** Retries a streaming call until it completes. Each attempt must resume where the previous one broke off. */
  async *#retrying<T>(
    signal: AbortSignal,
    call: (budget: RetryBudget) => AsyncIterable<T>,
  ): AsyncGenerator<T> {
    const budget = new RetryBudget(this.retryMs);
    for (;;) {
      if (isAborted(signal)) return;
      const since = performance.now();
      try {
        for await (const part of call(budget)) {
          budget.reset();
          yield part;
        }
        return;
      } catch (error) {
        if (isAborted(signal)) return;
        if (error instanceof NoAnswer) this.shared.readers.renew(since);
        await budget.afterFailure(await this.shared.readers.explain(error), since, signal, this.onRetry);
      }
    }
  }

  /** Resolves like `work`, or rejects when the log is closed. */
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

  /** Raises `EngineUnavailable` once the log is closed: an interrupted read is no complete one. */
  #checkOpen(): void {
    if (this.#closing.signal.aborted) throw closed();
  }
}

/** A function, since TypeScript would narrow `signal.aborted` across awaits. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

function closed(): Error {
  return unavailable(new NoAnswer('it was closed'));
}

/** Older versions do not report when a subscription has caught up; `unknown` ones read streams without positions. */
const OLDEST = '23.10';

/** Raises `EngineUnavailable` if the server is too old. */
function checkVersion(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  // 0.0.0 is a development build of the server.
  if (version.startsWith('0.') || major * 100 + minor >= 2310) return;
  throw unavailable(
    new RefusedByServer(`it is version ${version}: expected EventStoreDB ${OLDEST} or later`),
  );
}

/**
 * The rest of the history, then new events, until the feed overflows: the follower must then resume from the history.
 * Raises the error that interrupts it.
 */
async function* follow(
  { head, tail }: { readonly head: LogHead; readonly tail: Tail },
  history: History,
  { prefixes, batchSize }: ReadSelection,
  signal: AbortSignal,
  budget: RetryBudget,
): AsyncGenerator<EventBatch> {
  const end = await head.read();
  const feed = tail.join(end, prefixes);
  const isCaughtUp = (): boolean => feed.isDrained && feed.position >= end.head;
  let last: EventBatch | undefined;
  try {
    const isAll = (): boolean => isCaughtUp() && feed.position === feed.from;
    for await (const batch of history.upTo(feed.from, signal, isAll)) yield (last = batch);
    while (!feed.hasOverflowed && !signal.aborted) {
      const events = feed.take(batchSize).filter(({ position }) => position > history.position);
      if (feed.isDrained) history.delivered(feed.position);
      else history.delivered(events.at(-1)?.position ?? history.position);
      const batch = { events, position: history.position, caughtUp: isCaughtUp() };
      const isNewPosition = batch.caughtUp && !(last?.caughtUp === true && last.position === batch.position);
      if (events.length === 0 && !isNewPosition) {
        if (feed.isDrained) await feed.waitForMore(signal);
        continue;
      }
      yield (last = batch);
    }
  } finally {
    if (feed.hasReceived) budget.reset();
    feed.close();
  }
}
