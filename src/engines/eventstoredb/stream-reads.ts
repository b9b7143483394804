import { type ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb';
import { type ClientReadableStream } from '@grpc/grpc-js';
import { NO_STREAM, type Position, type RecordedEvent } from '../../kernel/event';
import { StreamDeleted } from '../../kernel/event-log';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { withTimeout } from '../../runtime/unavailable';
import { Connection } from './connection';
import { asError, detailsOf, NoAnswer } from './failure';
import { type Namespace, SentEvent } from './sent-event';

/** The messages of a read or a subscription, in the order of the server. */
export class Messages {
  #stream: ClientReadableStream<ReadResp> | undefined;
  #error: Error | undefined;
  #ended = false;
  #wake: () => void = () => undefined;

  /** `signal` ends the call. `timeoutMs` limits the wait for the next message. `ended` is called once, at the end. */
  constructor(
    opening: Promise<ClientReadableStream<ReadResp>>,
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
  take(): ReadResp | undefined {
    if (this.#ended) return undefined;
    const message: unknown = this.#stream?.read();
    return message instanceof ReadResp ? message : undefined;
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

  #listen(stream: ClientReadableStream<ReadResp>): void {
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
      if (message.hasLastStreamPosition()) last = Number(message.getLastStreamPosition());
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

async function* messagesIn(messages: Messages): AsyncGenerator<ReadResp> {
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
  read(request: ReadReq, signal: AbortSignal): Messages {
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
