import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type Position, type RecordedEvent } from '../../kernel/event';
import { type End, type LogHead } from './head';
import { type Messages, type Readers } from './stream-reads';
import { maxPosition, type Namespace, SentEvent } from './sent-event';
import { followRequest } from './requests';
import { asError, NoAnswer } from './failure';

/** Maximum messages per batch. */
const BATCH_SIZE = 500;

/** Limits of a feed's queue; beyond them it overflows. */
const QUEUE_LIMITS = { events: 5_000, bytes: 16 * 1024 * 1024 } as const;

/** A queue of new events for one follower, starting where it joined. */
export class Feed {
  #events: RecordedEvent[] = [];
  #bytes = 0;
  #position: Position;
  #hasOverflowed = false;
  #failure: Error | undefined;
  #wake: () => void = () => undefined;

  /** `from`: the feed has every selected event after this position. */
  constructor(
    readonly from: Position,
    private readonly prefixes: readonly string[] | undefined,
    private readonly source: { readonly hasReceived: boolean; leave(feed: Feed): void },
  ) {
    this.#position = from;
  }

  /** Whether the underlying subscription has received anything but its confirmation. */
  get hasReceived(): boolean {
    return this.source.hasReceived;
  }

  /** Whether all queued events were taken. */
  get isDrained(): boolean {
    return this.#events.length === 0 && !this.#hasOverflowed;
  }

  /** Position of the last event received, of any stream. */
  get position(): Position {
    return this.#position;
  }

  /** The follower was too slow: queued events were discarded, and it must join again. */
  get hasOverflowed(): boolean {
    return this.#hasOverflowed;
  }

  wants(stream: string): boolean {
    return this.prefixes?.some((prefix) => stream.startsWith(prefix)) ?? true;
  }

  /** Queues the selected ones of these events, which are in order. `position`: of the last event received. */
  push(events: readonly RecordedEvent[], position: Position): void {
    for (const event of events)
      if (event.position > this.from && this.wants(event.stream)) {
        this.#events.push(event);
        this.#bytes += event.data.length + event.meta.length;
      }
    this.#position = maxPosition(this.#position, position);
    if (this.#events.length > QUEUE_LIMITS.events || this.#bytes > QUEUE_LIMITS.bytes) this.#overflow();
    this.#wake();
  }

  fail(error: unknown): void {
    this.#failure ??= asError(error);
    this.#wake();
  }

  /** Takes up to `most` queued events. */
  take(most: number): readonly RecordedEvent[] {
    const events = this.#events.splice(0, most);
    for (const { data, meta } of events) this.#bytes -= data.length + meta.length;
    return events;
  }

  /** Waits for events, at most `longest` ms. Raises the error that ended the feed. `signal` ends the wait. */
  async waitForMore(signal: AbortSignal, longest?: number): Promise<void> {
    if (this.#failure === undefined && !signal.aborted)
      await new Promise<void>((resolve) => {
        const timer = longest === undefined ? undefined : setTimeout(() => this.#wake(), longest);
        const wake = (): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', wake);
          resolve();
        };
        this.#wake = wake;
        signal.addEventListener('abort', wake, { once: true });
      });
    if (this.#failure !== undefined) throw this.#failure;
  }

  close(): void {
    this.source.leave(this);
  }

  #overflow(): void {
    this.#hasOverflowed = true;
    this.#events = [];
    this.source.leave(this);
  }
}

/**
 * Follows the end of the log with one subscription for all followers of a thread. However many there are, they cost the
 * server one call, and an event that none of them selects is barely parsed.
 */
export class Tail {
  #running: TailSubscription | undefined;

  constructor(
    private readonly readers: Readers,
    private readonly namespace: Namespace,
    private readonly head: LogHead,
    private readonly signal: AbortSignal,
  ) {}

  /** Opens a feed that starts at `end` or earlier. Callers must close it. */
  join(end: End, prefixes: readonly string[] | undefined): Feed {
    if (this.#running?.isOver !== false)
      this.#running = new TailSubscription(this.readers, this.namespace, this.head, end, this.signal);
    return this.#running.join(prefixes);
  }
}

/** One subscription of the tail. It ends when it fails or when the last follower leaves. */
class TailSubscription {
  readonly #feeds = new Set<Feed>();
  readonly #messages: Messages;
  /** Position of the last event taken from the subscription, possibly not delivered yet. A new feed starts after it. */
  #position: Position;
  #isOver = false;
  #hasReceived = false;

  constructor(
    private readonly readers: Readers,
    private readonly namespace: Namespace,
    private readonly head: LogHead,
    end: End,
    signal: AbortSignal,
  ) {
    this.#position = end.head;
    this.#messages = readers.read(followRequest(end.last, namespace.expression(undefined)), signal);
    this.#run()
      .catch((error: unknown) => {
        for (const feed of this.#feeds) feed.fail(error);
      })
      .finally(() => this.#end());
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get hasReceived(): boolean {
    return this.#hasReceived;
  }

  join(prefixes: readonly string[] | undefined): Feed {
    const feed = new Feed(this.#position, prefixes, this);
    this.#feeds.add(feed);
    return feed;
  }

  leave(feed: Feed): void {
    if (this.#feeds.delete(feed) && this.#feeds.size === 0) this.#end();
  }

  #end(): void {
    this.#isOver = true;
    this.#messages.close();
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      if (await this.#deliver()) continue;
      if (!(await this.#isAlive())) throw new NoAnswer('a subscription does not deliver');
    }
  }

  /** Delivers a batch of the events that have arrived; false if there are none. */
  async #deliver(): Promise<boolean> {
    const events: RecordedEvent[] = [];
    const before = this.#position;
    let count = 0;
    for (; count < BATCH_SIZE; count += 1) {
      let message = this.#messages.take();
      if (message === undefined && count > 0) {
        // Events that were appended together arrive together, but gRPC delivers them one at a time.
        await yieldToEventLoop();
        message = this.#messages.take();
      }
      if (message === undefined) break;
      this.#hasReceived ||= !message.isConfirmation;
      const sent = SentEvent.in(message, this.namespace);
      if (sent?.isOfLog !== true || sent.position <= this.#position) continue;
      this.#position = sent.position;
      const event = this.#isWanted(sent.stream) ? sent.toRecorded() : undefined;
      if (event !== undefined) events.push(event);
    }
    if (this.#position > before) this.#push(events);
    return count > 0;
  }

  #isWanted(stream: string | undefined): boolean {
    if (stream === undefined) return false;
    for (const feed of this.#feeds) if (feed.wants(stream)) return true;
    return false;
  }

  #push(events: readonly RecordedEvent[]): void {
    this.head.advanceTo(this.#position);
    for (const feed of this.#feeds) feed.push(events, this.#position);
  }

  /** Waits for the next message. A silent subscription counts as alive unless the log grows without it noticing. */
  async #isAlive(): Promise<boolean> {
    const { timeoutMs } = this.readers;
    for (let expected = this.#position; ;) {
      const next = await this.#messages.next(timeoutMs);
      if (next === 'more') return true;
      if (next === 'end') return this.#isOver;
      if (expected > this.#position) return false;
      expected = maxPosition(expected, (await this.head.read()).head);
    }
  }
}
