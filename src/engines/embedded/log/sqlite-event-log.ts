import { type NewEvent, type Position, type RecordedEvent } from '../../../kernel/event';
import {
  type Appended,
  type EventBatch,
  EventLog,
  type ReadAllOptions,
  type ReadBackwardsOptions,
  type ReadStreamOptions,
  type SubscribeOptions,
} from '../../../kernel/event-log';
import { type LogReader } from './log-reader';
import { type News } from './news';
import { pack, type PackedAppend, toPosition } from './packed';

const BATCH = 1_000;

/** Beyond the last revision of any stream, and the last position. */
const LAST = 2 ** 52;

/** Makes an append, here or in another thread. */
export type Send = (append: PackedAppend) => Promise<Appended>;

/** The log in a SQLite file: each thread reads over its own connection, one appends for all. */
export class SqliteEventLog extends EventLog {
  /** `closeRest` closes what was opened for `send`. */
  constructor(
    private readonly reader: LogReader,
    private readonly news: News,
    private readonly send: Send,
    private readonly closeRest: () => Promise<void>,
  ) {
    super();
  }

  override async append(stream: string, expected: number, events: readonly NewEvent[]): Promise<Appended> {
    return this.send(pack(stream, expected, events));
  }

  override async *readStream(
    stream: string,
    options: ReadStreamOptions = {},
  ): AsyncGenerator<readonly RecordedEvent[]> {
    const { backwards = false, limit = Infinity, batchSize = BATCH } = options;
    let from = options.from ?? (backwards ? LAST : 0);
    let left = limit;
    while (left > 0) {
      await othersTurn();
      const most = Math.max(1, Math.min(batchSize, left));
      const { events, whole } = this.reader.ofStream(stream, from, backwards, most);
      const last = events.at(-1);
      if (last !== undefined) yield events;
      if (last === undefined || whole) return;
      left -= events.length;
      from = last.revision + (backwards ? -1 : 1);
    }
  }

  override async *readAll(options: ReadAllOptions): AsyncGenerator<EventBatch> {
    const end = this.reader.head();
    for (let after = options.after; ;) {
      await othersTurn();
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
    for (let before = Number(options.before ?? LAST); ;) {
      await othersTurn();
      const events = this.reader.before(before, Math.max(1, batchSize));
      const first = events.at(-1);
      if (first === undefined) return;
      yield events;
      before = Number(first.position);
    }
  }

  override async *subscribe(options: SubscribeOptions): AsyncGenerator<EventBatch> {
    const { signal } = options;
    let told: Position | undefined;
    while (!this.news.closed && signal?.aborted !== true) {
      const batch = this.#batch(told ?? options.after, this.reader.head(), options);
      if (batch.position !== told) yield batch;
      told = batch.position;
      if (batch.caughtUp) await this.news.beyond(Number(told), signal);
      await othersTurn();
    }
  }

  override async head(): Promise<Position> {
    return toPosition(this.reader.head());
  }

  override async close(): Promise<void> {
    this.news.close();
    this.reader.close();
    await this.closeRest();
  }

  #batch(after: Position, end: number, { prefixes, batchSize = BATCH }: ReadAllOptions): EventBatch {
    const { events, upTo } = this.reader.after(Number(after), end, prefixes, Math.max(1, batchSize));
    return { events, position: toPosition(upTo), caughtUp: upTo >= end };
  }
}

/** Reading blocks its thread: before each batch everything else that waits for it has its turn. */
async function othersTurn(): Promise<void> {
  await new Promise(setImmediate);
}
