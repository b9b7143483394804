import { type NewEvent, type Position, positionOf, type RecordedEvent } from '../../../kernel/event';
import {
  type Appended,
  type EventBatch,
  EventLog,
  type ExpiringLog,
  type ReadAllOptions,
  type ReadBackwardsOptions,
  type ReadStreamOptions,
  type SubscribeOptions,
} from '../../../kernel/event-log';
import { type LogReader } from './log-reader';
import { type LogWriter, pack, type PackedAppend } from './log-writer';

const BATCH = 1_000;

/** Beyond every revision and position. */
const BEYOND_LAST = 2 ** 52;

/** Makes an append, in this thread or another. */
export type Send = (append: PackedAppend) => Promise<Appended>;

/** The event log in a SQLite file. Each thread reads over its own connection; one appends for all. */
export class SqliteEventLog extends EventLog {
  /** `closeRest` closes the resources behind `send`. */
  constructor(
    private readonly reader: LogReader,
    private readonly watcher: HeadWatcher,
    private readonly send: Send,
    private readonly closeRest: () => Promise<void>,
  ) {
    super();
  }

  override async append(stream: string, expected: number, events: readonly NewEvent[]): Promise<Appended> {
    return await this.send(pack(stream, expected, events));
  }

  override async *readStream(
    stream: string,
    options: ReadStreamOptions = {},
  ): AsyncGenerator<readonly RecordedEvent[]> {
    const { backwards = false, limit = Infinity, batchSize = BATCH } = options;
    let from = options.from ?? (backwards ? BEYOND_LAST : 0);
    let left = limit;
    while (left > 0) {
      await yieldToEventLoop();
      const most = Math.max(1, Math.min(batchSize, left));
      const { events, isLast } = this.reader.ofStream(stream, from, backwards, most);
      const last = events.at(-1);
      if (last !== undefined) yield events;
      if (last === undefined || isLast) return;
      left -= events.length;
      from = last.revision + (backwards ? -1 : 1);
    }
  }

  override async *readAll(options: ReadAllOptions): AsyncGenerator<EventBatch> {
    const end = this.reader.head();
    for (let after = options.after; ;) {
      await yieldToEventLoop();
      const batch = this.#batch(after, end, options);
      yield batch;
      if (batch.caughtUp) return;
      after = batch.position;
    }
  }

  override async *readAllBackwards(
    options: ReadBackwardsOptions = {},
  ): AsyncGenerator<readonly RecordedEvent[]> {
    const { batchSize = BATCH } = options;
    for (let before = Number(options.before ?? BEYOND_LAST); ;) {
      await yieldToEventLoop();
      const events = this.reader.before(before, Math.max(1, batchSize));
      const first = events.at(-1);
      if (first === undefined) return;
      yield events;
      before = Number(first.position);
    }
  }

  override async *subscribe(options: SubscribeOptions): AsyncGenerator<EventBatch> {
    const { signal } = options;
    let delivered: Position | undefined;
    while (!this.watcher.closed && signal?.aborted !== true) {
      const batch = this.#batch(delivered ?? options.after, this.reader.head(), options);
      if (batch.position !== delivered) yield batch;
      delivered = batch.position;
      if (batch.caughtUp) await this.watcher.grownBeyond(Number(delivered), signal);
      await yieldToEventLoop();
    }
  }

  override async head(): Promise<Position> {
    return positionOf(this.reader.head());
  }

  override async close(): Promise<void> {
    this.watcher.close();
    this.reader.close();
    await this.closeRest();
  }

  #batch(after: Position, end: number, { prefixes, batchSize = BATCH }: ReadAllOptions): EventBatch {
    const { events, upTo } = this.reader.after(Number(after), end, prefixes, Math.max(1, batchSize));
    return { events, position: positionOf(upTo), caughtUp: upTo >= end };
  }
}

/** Reading blocks its thread, so other work runs before each batch. */
async function yieldToEventLoop(): Promise<void> {
  await new Promise(setImmediate);
}

/** Polling interval (ms) for appends by other threads and processes. */
const POLL_MS = 20;

interface Waiter {
  readonly after: number;
  readonly wake: () => void;
}

/** Lets readers wait until the log grows. Appends of this process notify at once; others are found by polling. */
export class HeadWatcher {
  readonly #waiters = new Set<Waiter>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** `head` returns the log's last position. */
  constructor(private readonly head: () => number) {}

  get closed(): boolean {
    return this.#closed;
  }

  /** Resolves once the log has, or may have, events after this position; `signal` and `close` end the wait. */
  async grownBeyond(after: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#closed || signal?.aborted === true || this.head() > after) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        this.#waiters.delete(waiter);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const waiter = { after, wake };
      this.#waiters.add(waiter);
      signal?.addEventListener('abort', wake);
      this.#timer ??= setInterval(() => this.#poll(), POLL_MS).unref();
    });
  }

  /** Wakes those who wait for less than this position, which the log has reached. */
  reached(position: number): void {
    for (const { after, wake } of [...this.#waiters]) if (after < position) wake();
    if (this.#waiters.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Ends every wait. */
  close(): void {
    this.#closed = true;
    this.reached(Infinity);
  }

  /** If the head cannot be read, wakes everybody: their next read raises the error. */
  #poll(): void {
    try {
      this.reached(this.head());
    } catch {
      this.reached(Infinity);
    }
  }
}

/** Deletes what was appended before a time (epoch ms), in this thread or another. */
export type Expire = (before: number) => Promise<void>;

/** A log whose events expire, in a SQLite file that shrinks with them. */
export class SqliteExpiringLog extends SqliteEventLog implements ExpiringLog {
  constructor(
    private readonly expireRest: Expire,
    ...rest: readonly [LogReader, HeadWatcher, Send, () => Promise<void>]
  ) {
    super(...rest);
  }

  async expire(before: Date): Promise<void> {
    await this.expireRest(before.getTime());
  }
}

/** Commits of this thread take place between two slices. */
export async function expireWith(writer: LogWriter, before: number): Promise<void> {
  while (writer.expire(before)) await yieldToEventLoop();
  while (writer.shrink()) await yieldToEventLoop();
}
