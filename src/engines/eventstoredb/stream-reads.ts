import { type ClientReadableStream } from '@grpc/grpc-js';
import { NO_STREAM, type Position, type RecordedEvent } from '../../kernel/event';
import { StreamDeleted, type EventBatch, type ReadAllOptions } from '../../kernel/event-log';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { withTimeout } from '../../runtime/unavailable';
import { Connection } from './connection';
import { asError, detailsOf, NoAnswer } from './failure';
import { type Namespace, SentEvent, maxPosition, toPosition } from './sent-event';
import { type ReadAnswer } from './protocol';
import { followRequest, type ReadRequest } from './requests';

/** The messages of a read or a subscription, in the order of the server. */
export class Messages {
  #stream: ClientReadableStream<ReadAnswer> | undefined;
  #error: Error | undefined;
  #ended = false;
  #wake: () => void = () => undefined;

  /** `signal` ends the call. `timeoutMs` limits the wait for the next message. `ended` is called once, at the end. */
  constructor(
    opening: Promise<ClientReadableStream<ReadAnswer>>,
    private readonly signal: AbortSignal,
    private readonly timeoutMs: number,
    private readonly ended: () => void,
  ) {
    signal.addEventListener('abort', this.#close);
    if (signal.aborted) this.#finish();
    opening.then(
      (stream) => this.#listen(stream),
      (error: unknown) => this.#fail(error),
    );
  }

  /** The next message that has arrived; undefined if there is none. */
  take(): ReadAnswer | undefined {
    if (this.#ended) return undefined;
    // Typed otherwise, but null if there is none.
    return this.#stream?.read() ?? undefined;
  }

  /**
   * Waits until a message has arrived (`more`), the call has ended (`end`), or the time is up (`timeout`). Raises the
   * error that ended the call.
   */
  async next(timeoutMs = this.timeoutMs): Promise<'more' | 'end' | 'timeout'> {
    if (this.#available > 0) return 'more';
    if (this.#error === undefined && !this.#ended && !(await this.#waitForWake(timeoutMs))) return 'timeout';
    if (this.#ended) return 'end';
    if (this.#error !== undefined && this.#available === 0) throw this.#error;
    return 'more';
  }

  /** Ends the call and wakes the waiter. */
  close(): void {
    this.#finish();
    this.#stream?.cancel();
  }

  /** Messages that have arrived and are not taken yet. */
  get #available(): number {
    return this.#ended ? 0 : (this.#stream?.readableLength ?? 0);
  }

  #listen(stream: ClientReadableStream<ReadAnswer>): void {
    this.#stream = stream;
    stream.on('readable', () => this.#wake());
    stream.on('error', (error) => this.#fail(error));
    stream.on('end', this.#finish);
    if (this.#ended) stream.cancel();
  }

  #fail(error: unknown): void {
    this.#error ??= asError(error);
    this.#wake();
  }

  /** False if nothing happened in time. */
  async #waitForWake(timeoutMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), timeoutMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  readonly #close = (): void => this.close();

  readonly #finish = (): void => {
    if (this.#ended) return;
    this.#ended = true;
    this.signal.removeEventListener('abort', this.#close);
    this.#wake();
    this.ended();
  };
}

interface ReadPart {
  readonly events: readonly RecordedEvent[];
  /** How many events were received, including those that do not belong to the log. */
  readonly received: number;
  /** Revision of the last event received. */
  readonly last: number;
}

/** The events of a stream read, in batches. When interrupted, delivers what has arrived, then raises the error. */
export async function* streamParts(
  messages: Messages,
  namespace: Namespace,
  batchSize: number,
): AsyncGenerator<ReadPart> {
  const buffer = new BatchBuffer(batchSize);
  let received = 0;
  let last = NO_STREAM;
  const part = (): ReadPart => {
    const batch = { events: buffer.take(), received, last };
    received = 0;
    return batch;
  };
  try {
    for await (const sent of eventsIn(messages, namespace)) {
      received += 1;
      last = sent.revision;
      const event = sent.toRecorded();
      if (event !== undefined) buffer.add(event);
      if (buffer.isFull) yield part();
    }
  } catch (error) {
    if (received > 0) yield part();
    // A tombstoned stream counts as empty.
    if (detailsOf(error).type !== 'stream-deleted') throw error;
  }
  if (received > 0) yield part();
}

/**
 * The revision of a stream's last event, whether it belongs to the log or not, from the messages of a backwards read.
 * Raises `StreamDeleted` for a tombstoned stream.
 */
export async function lastRevision(
  stream: string,
  messages: Messages,
  namespace: Namespace,
): Promise<number> {
  let last = NO_STREAM;
  try {
    for await (const message of messagesIn(messages)) {
      const sent = SentEvent.in(message, namespace);
      if (sent !== undefined) return sent.revision;
      last = message.lastRevision ?? last;
    }
  } catch (error) {
    if (detailsOf(error).type !== 'stream-deleted') throw error;
    throw new StreamDeleted(stream);
  }
  return last;
}

export async function* eventsIn(messages: Messages, namespace: Namespace): AsyncGenerator<SentEvent> {
  for await (const message of messagesIn(messages)) {
    const sent = SentEvent.in(message, namespace);
    if (sent !== undefined) yield sent;
  }
}

async function* messagesIn(messages: Messages): AsyncGenerator<ReadAnswer> {
  try {
    for (;;) {
      const message = messages.take();
      if (message !== undefined) {
        yield message;
        continue;
      }
      const next = await messages.next();
      if (next === 'timeout') throw new NoAnswer('it did not answer a read');
      if (next === 'end') return;
    }
  } finally {
    messages.close();
  }
}

/** Target size of a batch; exceeded by less than one event. */
const BATCH_BYTES = 4 * 1024 * 1024;

/** Collects events for the next batch. */
export class BatchBuffer {
  #events: RecordedEvent[] = [];
  #bytes = 0;

  /** `most`: maximum events in a batch. */
  constructor(private readonly most: number) {}

  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  /** Position of the last event; undefined if there is none. */
  get last(): Position | undefined {
    return this.#events.at(-1)?.position;
  }

  get isFull(): boolean {
    return this.#events.length >= this.most || this.#bytes >= BATCH_BYTES;
  }

  add(event: RecordedEvent): void {
    this.#events.push(event);
    this.#bytes += event.data.length + event.meta.length;
  }

  take(): readonly RecordedEvent[] {
    const events = this.#events;
    this.#events = [];
    this.#bytes = 0;
    return events;
  }
}

/** Maximum concurrent calls per connection: the server accepts 100 and queues the others. */
const MAX_CALLS = 90;

interface PooledConnection {
  readonly connection: Connection;
  calls: number;
}

/**
 * A pool of connections for reads, growing with the number of calls. Appends use a separate one, since an interrupted
 * read makes the client reconnect, which must not affect appends.
 */
export class Readers {
  #connections: PooledConnection[] = [];
  #renewed = -Infinity;

  /** `timeoutMs`: how long to wait for a message before the connection is considered broken. Raises `UnusableUrl`. */
  constructor(
    private readonly url: string,
    readonly timeoutMs: number,
  ) {
    this.#open();
  }

  /** Starts a call; `signal` ends it. */
  read(request: ReadRequest, signal: AbortSignal): Messages {
    const pooled = this.#connections.find(({ calls }) => calls < MAX_CALLS) ?? this.#open();
    pooled.calls += 1;
    return new Messages(pooled.connection.read(request), signal, this.timeoutMs, () => {
      pooled.calls -= 1;
    });
  }

  async version(): Promise<string> {
    return await withTimeout(
      SYSTEM_CLOCK,
      this.#first.connection.version(),
      this.timeoutMs,
      () => new NoAnswer('it did not report its version'),
    );
  }

  async explain(error: unknown): Promise<unknown> {
    return await this.#first.connection.explain(error);
  }

  /**
   * Replaces the connections, unless that already happened after `since`, when the failed call began
   * (`performance.now`). Calls over the old connections fail on their own, and the connections close with their last
   * call.
   */
  renew(since: number): void {
    if (this.#renewed >= since) return;
    this.#renewed = performance.now();
    this.close();
    this.#connections = [];
    this.#open();
  }

  close(): void {
    for (const { connection } of this.#connections) connection.close();
  }

  get #first(): PooledConnection {
    return this.#connections[0] ?? this.#open();
  }

  #open(): PooledConnection {
    const pooled = { connection: new Connection(this.url), calls: 0 };
    this.#connections.push(pooled);
    return pooled;
  }
}

/** Events per batch by default. */
export const BATCH = 1_000;

/** Which events to read, and the size of batches. */
export interface ReadSelection {
  readonly prefixes: readonly string[] | undefined;
  readonly batchSize: number;
}

/**
 * Reads the existing events between two positions. After an interruption, the next read resumes there. Invariant:
 * `#position` <= `#seen` <= the end of the read.
 */
export class History {
  /** Everything up to here was delivered. */
  #position: Position;
  /** Everything up to here was received: maybe a checkpoint to resume from, but no position of the log. */
  #seen: Position;

  constructor(
    private readonly readers: Readers,
    private readonly namespace: Namespace,
    after: Position,
    private readonly selection: ReadSelection,
  ) {
    this.#position = after;
    this.#seen = after;
  }

  get position(): Position {
    return this.#position;
  }

  /** Records that the tail has delivered everything up to this position. */
  delivered(position: Position): void {
    this.#position = maxPosition(this.#position, position);
    this.#seen = maxPosition(this.#seen, position);
  }

  /**
   * Reads the events up to `to`, the position of an existing event. The last batch has that position; `isCaughtUp`
   * returns whether it reaches the end of the log. When interrupted, delivers what has arrived, then raises the error.
   */
  async *upTo(to: Position, signal: AbortSignal, isCaughtUp: () => boolean): AsyncGenerator<EventBatch> {
    if (this.#position >= to) return;
    const buffer = new BatchBuffer(this.selection.batchSize);
    const { prefixes } = this.selection;
    const messages =
      prefixes?.length === 0
        ? undefined
        : this.readers.read(followRequest(this.#seen, this.namespace.expression(prefixes)), signal);
    try {
      while (messages !== undefined && this.#seen < to) {
        const message = messages.take();
        if (message === undefined) {
          await nextMessage(messages);
          continue;
        }
        const event = this.#eventIn(message, to);
        if (event === undefined) continue;
        buffer.add(event);
        if (buffer.isFull && this.#seen < to) yield this.#batch(buffer, event.position, false);
      }
    } catch (error) {
      const last = buffer.last;
      if (last !== undefined) yield this.#batch(buffer, last, false);
      throw error;
    } finally {
      messages?.close();
    }
    yield this.#batch(buffer, to, isCaughtUp());
  }

  #batch(buffer: BatchBuffer, position: Position, caughtUp: boolean): EventBatch {
    this.#position = position;
    return { events: buffer.take(), position, caughtUp };
  }

  /** The event in a message, if it is selected and not beyond `to`. */
  #eventIn(message: ReadAnswer, to: Position): RecordedEvent | undefined {
    const sent = SentEvent.in(message, this.namespace);
    const before = this.#seen;
    const { checkpoint, isCaughtUp } = message;
    const seen = sent?.position ?? (checkpoint === undefined ? undefined : toPosition(checkpoint));
    // Events beyond `to` are left to the tail, so they do not count as seen.
    if (seen !== undefined) this.#seen = maxPosition(before, seen < to ? seen : to);
    // Events up to `to` existed before the call, so a server that has caught up has sent them.
    if (isCaughtUp) this.#seen = maxPosition(this.#seen, to);
    if (sent === undefined || sent.position <= before || sent.position > to) return undefined;
    const event = sent.toRecorded();
    const { prefixes } = this.selection;
    return prefixes?.some((prefix) => event?.stream.startsWith(prefix)) === false ? undefined : event;
  }
}

/** Waits for the next message of a subscription. */
async function nextMessage(messages: Messages): Promise<void> {
  const next = await messages.next();
  if (next === 'timeout') throw new NoAnswer('it did not answer a subscription');
  if (next === 'end') throw new NoAnswer('it ended a subscription');
}

export function selectionOf({ prefixes, batchSize = BATCH }: ReadAllOptions): ReadSelection {
  return { prefixes, batchSize: Math.max(1, batchSize) };
}
