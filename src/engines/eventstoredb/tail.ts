import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type Position, type RecordedEvent, START } from '../../kernel/event';
import { type Messages, type Readers, eventsIn } from './stream-reads';
import { maxPosition, type Namespace, SentEvent } from './sent-event';
import { followRequest, backwardsRequest } from './requests';
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

  /** Waits until something is received. Raises the error that ended the feed. `signal` ends the wait. */
  async waitForMore(signal: AbortSignal): Promise<void> {
    if (this.#failure === undefined && !signal.aborted)
      await new Promise<void>((resolve) => {
        const wake = (): void => {
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

/** Sizes of successive backwards reads, until one contains an event of the log. */
const PAGES = [1, 8, 64, 500] as const;

export interface End {
  /** Position of the last event of the log, or `START`. */
  readonly head: Position;
  /** Position of the last event in the server, including its own and those of other programs, or `START`. */
  readonly last: Position;
}

/** Finds the end of the log. Reads no event twice, since the server writes many that do not belong to the log. */
export class LogHead {
  #end: End = { head: START, last: START };
  #passed = 0;
  #isKnown = false;
  #reading: Promise<End> | undefined;
  #next: Promise<End> | undefined;

  /** `signal` cancels reads. `findKnown` finds an earlier end of the log, if one is recorded: reads stop there. */
  constructor(
    private readonly readers: Readers,
    private readonly namespace: Namespace,
    private readonly signal: AbortSignal,
    private readonly findKnown: () => Promise<End | undefined> = async () => undefined,
  ) {}

  /** How many events have been read so far in search of the end. */
  get passed(): number {
    return this.#passed;
  }

  /** Reads the current end. Callers that arrive during a read share the next one. */
  async read(): Promise<End> {
    if (this.#reading === undefined) return await this.#start();
    this.#next ??= this.#reading
      .catch(() => undefined)
      .then(async () => {
        this.#next = undefined;
        return await this.#start();
      });
    return await this.#next;
  }

  /** Records that the log has an event at this position. */
  advanceTo(position: Position): void {
    this.#advance(position, position);
  }

  #advance(head: Position, last: Position): End {
    this.#end = { head: maxPosition(this.#end.head, head), last: maxPosition(this.#end.last, last) };
    return this.#end;
  }

  async #start(): Promise<End> {
    this.#reading = this.#find().finally(() => (this.#reading = undefined));
    return await this.#reading;
  }

  async #find(): Promise<End> {
    if (this.#isKnown) return await this.#findBackwards();
    const known = await this.findKnown();
    if (known !== undefined) this.#advance(known.head, known.last);
    const end = await this.#findBackwards(known === undefined);
    this.#isKnown = true;
    return end;
  }

  /** `filters`: lets the server skip what does not belong to the log, unless that takes it too long. */
  async #findBackwards(filters = false): Promise<End> {
    let [last, before] = [undefined, undefined] as [Position | undefined, Position | undefined];
    let isFiltered = false;
    for (let page = 0; ; page = Math.min(page + 1, PAGES.length - 1)) {
      // A filtered read ends only when it has found this many.
      const limit = PAGES[Math.max(0, isFiltered ? page - 1 : page)] ?? 1;
      let count = 0;
      try {
        for await (const sent of this.#read(before, limit, isFiltered)) {
          const { position } = sent;
          count += 1;
          last ??= position;
          before = position;
          if (sent.isOfLog || position <= this.#end.last)
            return this.#advance(sent.isOfLog ? position : START, last);
        }
      } catch (error) {
        if (!isFiltered || !(error instanceof NoAnswer)) throw error;
        [isFiltered, filters] = [false, false];
        continue;
      }
      this.signal.throwIfAborted();
      if (count < limit) break;
      isFiltered = filters;
    }
    return this.#advance(START, last ?? START);
  }

  async *#read(before: Position | undefined, limit: number, isFiltered: boolean): AsyncGenerator<SentEvent> {
    const regex = isFiltered ? this.namespace.expression(undefined) : undefined;
    const messages = this.readers.read(backwardsRequest(before, limit, regex), this.signal);
    for await (const sent of eventsIn(messages, this.namespace)) {
      this.#passed += 1;
      yield sent;
    }
  }
}
