import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type Position, type RecordedEvent } from '../../kernel/event';
import { type End, type Head } from './head';
import { type Messages } from './messages';
import { type Readers } from './readers';
import { later, SentEvent } from './records';
import { followRequest } from './requests';
import { asError, NoAnswer } from './trouble';

/** Messages taken in one piece. */
const PIECE = 500;

/** What may wait in a feed until it overflows. */
const WAITING = { events: 5_000, bytes: 16 * 1024 * 1024 } as const;

/** The new events of some streams for one follower, from where it joined on. */
export class Feed {
  #events: RecordedEvent[] = [];
  #bytes = 0;
  #position: Position;
  #hasOverflowed = false;
  #failure: Error | undefined;
  #wake: () => void = () => undefined;

  /** `from`: what is in the feed comes after it, and nothing is left out. */
  constructor(
    readonly from: Position,
    private readonly prefixes: readonly string[] | undefined,
    private readonly running: { readonly isHeard: boolean; leave(feed: Feed): void },
  ) {
    this.#position = from;
  }

  /** Whether anything has come of the subscription behind it but that it was confirmed. */
  get isHeard(): boolean {
    return this.running.isHeard;
  }

  /** Whether all that has come was taken. */
  get isDrained(): boolean {
    return this.#events.length === 0 && !this.#hasOverflowed;
  }

  /** Position of the last event of the log that has come, of these streams or of others. */
  get position(): Position {
    return this.#position;
  }

  /** The follower was too slow: what came is gone, and it has to join again. */
  get hasOverflowed(): boolean {
    return this.#hasOverflowed;
  }

  wants(stream: string): boolean {
    return this.prefixes?.some((prefix) => stream.startsWith(prefix)) ?? true;
  }

  /** Events of the log, of any streams, in its order; `position` is that of the last one. */
  push(events: readonly RecordedEvent[], position: Position): void {
    for (const event of events)
      if (event.position > this.from && this.wants(event.stream)) {
        this.#events.push(event);
        this.#bytes += event.data.length + event.meta.length;
      }
    this.#position = later(this.#position, position);
    if (this.#events.length > WAITING.events || this.#bytes > WAITING.bytes) this.#overflow();
    this.#wake();
  }

  fail(error: unknown): void {
    this.#failure ??= asError(error);
    this.#wake();
  }

  /** At most so many of the events that have come. */
  take(most: number): readonly RecordedEvent[] {
    const taken = this.#events.splice(0, most);
    for (const { data, meta } of taken) this.#bytes -= data.length + meta.length;
    return taken;
  }

  /** Waits until something comes, or for so long (ms); raises what has ended the feed. `signal` ends the wait. */
  async more(signal: AbortSignal, longest?: number): Promise<void> {
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
    this.running.leave(this);
  }

  #overflow(): void {
    this.#hasOverflowed = true;
    this.#events = [];
    this.running.leave(this);
  }
}

/**
 * The end of the log, followed by one subscription for all followers of a thread: however many there are, they cost the
 * server one call, and an event that none of them wants costs next to nothing.
 */
export class Tail {
  #running: Running | undefined;

  constructor(
    private readonly readers: Readers,
    private readonly head: Head,
    private readonly signal: AbortSignal,
  ) {}

  /** A feed of what comes after `end`, or from before that; it has to be closed. */
  join(end: End, prefixes: readonly string[] | undefined): Feed {
    if (this.#running?.isOver !== false)
      this.#running = new Running(this.readers, this.head, end, this.signal);
    return this.#running.join(prefixes);
  }
}

/** A subscription of the tail, until it breaks or all followers have left. */
class Running {
  readonly #feeds = new Set<Feed>();
  readonly #messages: Messages;
  /** Position of the last event that was taken: who joins wants what comes after it, though it may not be handed on yet. */
  #position: Position;
  #isOver = false;
  #isHeard = false;

  constructor(
    private readonly readers: Readers,
    private readonly head: Head,
    end: End,
    signal: AbortSignal,
  ) {
    this.#position = end.head;
    this.#messages = readers.read(followRequest(end.last, undefined), signal);
    void this.#run();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get isHeard(): boolean {
    return this.#isHeard;
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
    try {
      while (!this.#isOver) {
        if (await this.#pass()) continue;
        if (!(await this.#isAlive())) throw new NoAnswer('a subscription does not deliver');
      }
    } catch (error) {
      for (const feed of this.#feeds) feed.fail(error);
    } finally {
      this.#end();
    }
  }

  /** Hands on what has come in one piece; false when nothing has. */
  async #pass(): Promise<boolean> {
    const events: RecordedEvent[] = [];
    const before = this.#position;
    let count = 0;
    for (; count < PIECE; count += 1) {
      let message = this.#messages.take();
      if (message === undefined && count > 0) {
        // What was appended together comes together, but gRPC hands it on one by one.
        await yieldToEventLoop();
        message = this.#messages.take();
      }
      if (message === undefined) break;
      this.#isHeard ||= !message.hasConfirmation();
      const sent = SentEvent.in(message);
      if (sent?.isOfLog !== true || sent.position <= this.#position) continue;
      this.#position = sent.position;
      const event = this.#isWanted(sent.stream) ? sent.recorded() : undefined;
      if (event !== undefined) events.push(event);
    }
    if (this.#position > before) this.#hand(events);
    return count > 0;
  }

  #isWanted(stream: string): boolean {
    for (const feed of this.#feeds) if (feed.wants(stream)) return true;
    return false;
  }

  #hand(events: readonly RecordedEvent[]): void {
    this.head.reached(this.#position);
    for (const feed of this.#feeds) feed.push(events, this.#position);
  }

  /** Waits for the next message. A silent subscription counts as alive until the log grows without it. */
  async #isAlive(): Promise<boolean> {
    const { silence } = this.readers;
    for (let expected = this.#position; ;) {
      const next = await this.#messages.next(silence);
      if (next === 'more') return true;
      if (next === 'end') return this.#isOver;
      if (expected > this.#position) return false;
      expected = later(expected, (await this.head.look()).head);
    }
  }
}
