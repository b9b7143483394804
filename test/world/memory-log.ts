import { checkAppend } from '../../src/engines/validation';
import {
  type NewEvent,
  NO_STREAM,
  type Position,
  positionOf,
  type RecordedEvent,
  START,
} from '../../src/kernel/event';
import {
  type Appended,
  EngineUnavailable,
  type EventBatch,
  ExpiringLog,
  type ReadAllOptions,
  type ReadBackwardsOptions,
  type ReadStreamOptions,
  RevisionConflict,
  type SubscribeOptions,
} from '../../src/kernel/event-log';
import { newPromise } from '../../src/runtime/concurrency';
import { EPOCH } from './simulation';

const BATCH = 1_000;

/** The events of a log, which any number of `MemoryLog`s share as processes share a disk. */
export class MemoryEvents {
  readonly all: RecordedEvent[] = [];
  private readonly streams = new Map<string, RecordedEvent[]>();
  /** When each was appended (ms since `EPOCH`). */
  private readonly times = new Map<Position, number>();
  private last = START;
  private count = 0;
  private grown = newPromise();

  /** `now`: the clock of the machine that stores them (ms since `EPOCH`, exact). */
  constructor(private readonly now: () => number) {}

  get head(): Position {
    return this.last;
  }

  /** Resolves with the next append. */
  get growth(): Promise<void> {
    return this.grown.promise;
  }

  stream(name: string): readonly RecordedEvent[] {
    return this.streams.get(name) ?? [];
  }

  /** When an event was appended (ms since `EPOCH`). */
  timeOf({ position }: RecordedEvent): number {
    return this.times.get(position) ?? NaN;
  }

  append(name: string, expected: number, events: readonly NewEvent[]): Appended {
    checkAppend(name, expected, events);
    const stream = this.streams.get(name) ?? [];
    const actual = stream.at(-1)?.revision ?? NO_STREAM;
    if (expected !== actual) return repeated(stream, { name, expected, actual }, events);
    if (events.length === 0) return { revision: actual, position: this.last };
    this.streams.set(name, stream);
    const at = this.now();
    for (const { id, type, data, meta } of events) {
      this.count += 1;
      this.last = positionOf(this.count);
      const revision = (stream.at(-1)?.revision ?? NO_STREAM) + 1;
      const recorded = { id, type, data, meta, stream: name, revision, position: this.last };
      stream.push(recorded);
      this.all.push(recorded);
      this.times.set(this.last, at);
    }
    const { resolve } = this.grown;
    this.grown = newPromise();
    resolve();
    return { revision: actual + events.length, position: this.last };
  }

  expire(before: Date, names: readonly string[]): void {
    const expired = new Set<Position>();
    for (const name of names) {
      const stream = this.streams.get(name) ?? [];
      const old = stream.filter(
        (event, at) => EPOCH + this.timeOf(event) < before.getTime() && at < stream.length - 1,
      );
      for (const { position } of old) expired.add(position);
      if (old.length > 0)
        this.streams.set(
          name,
          stream.filter(({ position }) => !expired.has(position)),
        );
    }
    const kept = this.all.filter(({ position }) => !expired.has(position));
    this.all.splice(0, this.all.length, ...kept);
  }

  /** A copy as of now. `now`: the clock of where it is. */
  copy(now: () => number): MemoryEvents {
    const copy = new MemoryEvents(now);
    copy.all.push(...this.all);
    for (const [name, events] of this.streams) copy.streams.set(name, [...events]);
    for (const [position, time] of this.times) copy.times.set(position, time);
    [copy.last, copy.count] = [this.last, this.count];
    return copy;
  }

  /** The index of the first event after a position. */
  indexAfter(position: Position): number {
    let [low, high] = [0, this.all.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.all[middle]?.position ?? '') > position) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** The answer to an append that was made before; anything else conflicts. */
function repeated(
  stream: readonly RecordedEvent[],
  { name, expected, actual }: { readonly name: string; readonly expected: number; readonly actual: number },
  events: readonly NewEvent[],
): Appended {
  const from = stream.findIndex(({ revision }) => revision === expected + 1);
  const there = from === -1 ? [] : stream.slice(from, from + events.length);
  const last = there.at(-1);
  const isSame = there.length === events.length && there.every(({ id }, at) => id === events[at]?.id);
  if (!isSame || last === undefined) throw new RevisionConflict(name, expected, actual);
  return { revision: last.revision, position: last.position };
}

/** An event log in memory, as one process has it. */
export class MemoryLog extends ExpiringLog {
  private readonly closed = newPromise();
  private isClosed = false;

  constructor(private readonly events: MemoryEvents) {
    super();
  }

  async append(stream: string, expected: number, events: readonly NewEvent[]): Promise<Appended> {
    this.requireOpen();
    return this.events.append(stream, expected, events);
  }

  async *readStream(
    stream: string,
    { from, backwards = false, limit = Infinity, batchSize = BATCH }: ReadStreamOptions = {},
  ): AsyncGenerator<readonly RecordedEvent[]> {
    this.requireOpen();
    const all = this.events.stream(stream);
    const first = all[0]?.revision ?? 0;
    const end = Math.max(0, (from ?? Infinity) - first + 1);
    const wanted = backwards ? all.slice(0, end).reverse() : all.slice(Math.max(0, (from ?? 0) - first));
    yield* this.inBatches(wanted.slice(0, limit), batchSize);
  }

  async *readAll({ after, prefixes, batchSize = BATCH }: ReadAllOptions): AsyncGenerator<EventBatch> {
    this.requireOpen();
    const { head } = this.events;
    const batches = [...batchesOf(this.after(after, prefixes), batchSize)];
    if (batches.length === 0) batches.push([]);
    for (const [at, events] of batches.entries()) {
      this.requireOpen();
      const caughtUp = at === batches.length - 1;
      const reached = head > after ? head : after;
      yield { events, position: caughtUp ? reached : (events.at(-1)?.position ?? after), caughtUp };
    }
  }

  async *readAllBackwards({ before, batchSize = BATCH }: ReadBackwardsOptions = {}): AsyncGenerator<
    readonly RecordedEvent[]
  > {
    this.requireOpen();
    const all = this.events.all.filter(({ position }) => before === undefined || position < before);
    yield* this.inBatches(all.reverse(), batchSize);
  }

  async *subscribe({ signal, ...options }: SubscribeOptions): AsyncGenerator<EventBatch> {
    const { promise: aborted, resolve: abort } = newPromise();
    signal?.addEventListener('abort', abort, { once: true });
    const isOver = (): boolean => this.isClosed || signal?.aborted === true;
    let { after } = options;
    try {
      for (let isFirst = true; !isOver(); isFirst = false) {
        const { growth, head } = this.events;
        if (isFirst || head > after) {
          for await (const batch of this.readAll({ ...options, after })) {
            if (isOver()) return;
            after = batch.position;
            yield batch;
          }
        } else await Promise.race([growth, aborted, this.closed.promise]);
      }
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  async head(): Promise<Position> {
    this.requireOpen();
    return this.events.head;
  }

  async expire(before: Date, streams: readonly string[]): Promise<void> {
    this.requireOpen();
    this.events.expire(before, streams);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.closed.resolve();
  }

  private after(position: Position, prefixes: readonly string[] | undefined): readonly RecordedEvent[] {
    const all = this.events.all.slice(this.events.indexAfter(position));
    if (prefixes === undefined) return all;
    return all.filter(({ stream }) => prefixes.some((prefix) => stream.startsWith(prefix)));
  }

  private async *inBatches(
    events: readonly RecordedEvent[],
    size: number,
  ): AsyncGenerator<readonly RecordedEvent[]> {
    for (const batch of batchesOf(events, size)) {
      this.requireOpen();
      yield batch;
    }
    this.requireOpen();
  }

  private requireOpen(): void {
    if (this.isClosed) throw new EngineUnavailable('the event log is closed');
  }
}

function* batchesOf<Event>(events: readonly Event[], size: number): Generator<readonly Event[]> {
  for (let from = 0; from < events.length; from += size) yield events.slice(from, from + size);
}
