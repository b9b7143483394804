import { setMaxListeners } from 'node:events';
import { NO_STREAM, type NewEvent, type Position, type RecordedEvent, START } from '../../kernel/event';
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
import { readBackwards, readStream, subscribe } from './calls';
import { type ReadingClient } from './connection';
import { Following } from './following';
import { Patience } from './patience';
import { eventsIn, lastEventIn } from './reading';
import { later } from './records';
import { marksOf, NoAnswer } from './trouble';

const BATCH = 1_000;

/** Events looked at in one go for the last one that is none of the server's own. */
const PAGE = 500;

/** The log in an EventStoreDB. Events of the server itself (`$…`) are none of it. */
export class EventStoreLog extends EventLog {
  readonly #closing = new AbortController();
  /** The last event that `head` has found, and how far the log was looked at for it: no further back again. */
  #head = START;
  #looked = START;

  /** `patience`: for how long a server that fails is tried (ms). `release` gives the others back. */
  constructor(
    private readonly reading: ReadingClient,
    private readonly appender: Appender,
    private readonly patience: number,
    private readonly release: () => Promise<void>,
  ) {
    super();
    // Each call listens to it, and there may be many at a time.
    setMaxListeners(0, this.#closing.signal);
  }

  override async append(stream: string, expected: number, events: readonly NewEvent[]): Promise<Appended> {
    checkAppend(stream, expected, events);
    if (events.length > 0) return this.appender.append(stream, expected, events);
    // Not every version of the server says of nothing where it would be.
    let actual = NO_STREAM;
    for await (const [last] of this.readStream(stream, { backwards: true, limit: 1 }))
      actual = last?.revision ?? NO_STREAM;
    if (actual !== expected) throw new RevisionConflict(stream, expected, actual);
    return { revision: actual, position: await this.head() };
  }

  override async *readStream(
    stream: string,
    options: ReadStreamOptions = {},
  ): AsyncGenerator<readonly RecordedEvent[]> {
    const { backwards = false, batchSize = BATCH } = options;
    let { from, limit = Infinity } = options;
    const signal = this.#closing.signal;
    const batches = this.#persist(signal, () =>
      eventsIn(readStream(this.reading, stream, { from, backwards, limit }, signal), batchSize),
    );
    try {
      for await (const events of batches) {
        from = (events.at(-1)?.revision ?? 0) + (backwards ? -1 : 1);
        limit -= events.length;
        yield events;
        if (limit <= 0 || from < 0) return;
      }
    } catch (error) {
      // A stream that has been ended for ever has no events either.
      if (!(error instanceof Error) || marksOf(error.cause).type !== 'stream-deleted') throw error;
    }
  }

  override async *readAll(options: ReadAllOptions): AsyncGenerator<EventBatch> {
    const end = await this.head();
    if (options.after >= end) {
      yield { events: [], position: options.after, caughtUp: true };
      return;
    }
    for await (const { events, position } of this.#follow(options, this.#closing.signal)) {
      const caughtUp = position >= end;
      if (caughtUp)
        yield { events: events.filter((event) => event.position <= end), position: end, caughtUp };
      else yield { events, position, caughtUp };
      if (caughtUp) return;
    }
  }

  override async *readAllBackwards(
    options: ReadBackwardsOptions = {},
  ): AsyncGenerator<readonly RecordedEvent[]> {
    const { batchSize = BATCH } = options;
    let { before } = options;
    const signal = this.#closing.signal;
    const batches = this.#persist(signal, () =>
      eventsIn(readBackwards(this.reading, before, Infinity, signal), batchSize),
    );
    for await (const events of batches) {
      before = events.at(-1)?.position;
      yield events;
    }
  }

  override async *subscribe(options: SubscribeOptions): AsyncGenerator<EventBatch> {
    const closing = this.#closing.signal;
    const signal = options.signal === undefined ? closing : AbortSignal.any([options.signal, closing]);
    for await (const batch of this.#follow(options, signal)) {
      yield batch;
      if (signal.aborted) return;
    }
  }

  override async head(): Promise<Position> {
    const signal = this.#closing.signal;
    const patience = new Patience(this.patience);
    for (;;) {
      const since = performance.now();
      try {
        return await this.#findHead(signal);
      } catch (error) {
        await this.#afterFailure(error, since, patience, signal);
      }
    }
  }

  override async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    await this.release();
  }

  #follow(options: ReadAllOptions, signal: AbortSignal): AsyncGenerator<EventBatch> {
    const { after, prefixes, batchSize = BATCH } = options;
    const following = new Following(
      {
        head: () => this.#findHead(signal),
        subscribe: (from) => subscribe(this.reading, from, prefixes, signal),
      },
      { after, prefixes, batchSize },
    );
    return this.#persist(signal, async function* (patience) {
      while (!signal.aborted) yield* following.batches(patience);
    });
  }

  /** The position of the last event that is none of the server's own, or `START`. */
  async #findHead(signal: AbortSignal): Promise<Position> {
    let before: Position | undefined;
    let newest = START;
    for (let limit = 1; ; limit = PAGE) {
      const { event, seen } = await lastEventIn(readBackwards(this.reading, before, limit, signal));
      newest = later(newest, seen?.last ?? START);
      if (event === undefined && seen !== undefined && seen.first > this.#looked) {
        before = seen.first;
        continue;
      }
      this.#head = later(this.#head, event ?? START);
      this.#looked = later(this.#looked, newest);
      return this.#head;
    }
  }

  /** Makes a call over again until it ends well; each time it has to take up where the last one broke off. */
  async *#persist<T>(signal: AbortSignal, call: (patience: Patience) => AsyncIterable<T>): AsyncGenerator<T> {
    const patience = new Patience(this.patience);
    for (;;) {
      const since = performance.now();
      try {
        for await (const part of call(patience)) {
          patience.renew();
          yield part;
        }
        return;
      } catch (error) {
        if (signal.aborted) return;
        await this.#afterFailure(error, since, patience, signal);
      }
    }
  }

  /** `since`: when the call began that has failed (ms, of `performance.now`). */
  async #afterFailure(error: unknown, since: number, patience: Patience, signal: AbortSignal): Promise<void> {
    if (error instanceof NoAnswer) this.reading.renew(since);
    await patience.afterFailure(error, signal);
  }
}
