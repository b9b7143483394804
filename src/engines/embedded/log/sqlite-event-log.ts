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
export const BEYOND_LAST = 2 ** 52;

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
    const { prefixes, signal } = options;
    let delivered: Position | undefined;
    while (!this.watcher.closed && signal?.aborted !== true) {
      const batch = this.#batch(delivered ?? options.after, this.reader.head(), options);
      if (batch.position !== delivered) yield batch;
      delivered = batch.position;
      for (let upTo = batch.caughtUp ? Number(delivered) : undefined; upTo !== undefined;) {
        upTo = await this.watcher.grownBeyond(upTo, prefixes, signal);
        if (upTo === undefined) continue;
        delivered = positionOf(upTo);
        yield { events: [], position: delivered, caughtUp: true };
      }
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

/** Polling interval (ms) for appends by other processes. */
export const POLL_MS = 20;

/**
 * The log has grown up to a position: by appends to these streams alone, if what it has `after` a position is known.
 */
export interface Growth {
  readonly position: Position;
  readonly after?: Position;
  readonly streams?: readonly string[];
}

interface Waiter {
  readonly after: number;
  readonly prefixes: readonly string[] | undefined;
  /** `upTo`: nothing that is waited for is before this position. */
  readonly wake: (upTo?: number) => void;
}

/**
 * Lets readers wait until the log grows. Appends of this process notify at once. Those of others are found by polling:
 * by whoever makes the appends of this process, if that `isNotified`, otherwise here.
 */
export class HeadWatcher {
  readonly #waiters = new Set<Waiter>();
  #timer: NodeJS.Timeout | undefined;
  #grownTo = 0;
  #closed = false;

  /** `head` returns the log's last position. */
  constructor(
    private readonly head: () => number,
    private readonly isNotified = false,
  ) {}

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Resolves once the log has, or may have, events after this position, of streams with these prefixes; or to a later
   * position up to which it has none. `signal` and `close` end the wait.
   */
  async grownBeyond(
    after: number,
    prefixes: readonly string[] | undefined,
    signal: AbortSignal | undefined,
  ): Promise<number | undefined> {
    if (this.#closed || signal?.aborted === true) return undefined;
    if ((this.isNotified ? this.#grownTo : this.head()) > after) return undefined;
    return await new Promise<number | undefined>((resolve) => {
      const wake = (upTo?: number): void => {
        this.#waiters.delete(waiter);
        signal?.removeEventListener('abort', end);
        resolve(upTo);
      };
      const end = (): void => wake();
      const waiter = { after, prefixes, wake };
      this.#waiters.add(waiter);
      signal?.addEventListener('abort', end);
      if (!this.isNotified) this.#timer ??= setInterval(() => this.#poll(), POLL_MS).unref();
    });
  }

  /** The log has grown: wakes those whom that may concern, and tells the others how far it has. */
  grew({ position, after, streams = [] }: Growth): void {
    const upTo = Number(position);
    const isIn = (prefix: string): boolean => streams.some((one) => one.startsWith(prefix));
    for (const { after: read, prefixes, wake } of [...this.#waiters]) {
      if (read >= upTo) continue;
      const isKnown = read === Number(after) && prefixes?.some(isIn) === false;
      wake(isKnown ? upTo : undefined);
    }
    if (upTo < BEYOND_LAST) this.#grownTo = Math.max(this.#grownTo, upTo);
    if (this.#waiters.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Ends every wait. */
  close(): void {
    this.#closed = true;
    this.grew({ position: positionOf(BEYOND_LAST) });
  }

  /** If the head cannot be read, wakes everybody: their next read raises the error. */
  #poll(): void {
    let head = BEYOND_LAST;
    try {
      head = this.head();
    } catch {
      // They raise it.
    }
    this.grew({ position: positionOf(head) });
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
