import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Position, type RecordedEvent } from '../../kernel/event';
import { type EventBatch } from '../../kernel/event-log';
import { type Messages } from './messages';
import { type Patience } from './patience';
import { BATCH_BYTES } from './reading';
import { later, recordOf, toPosition } from './records';
import { NoAnswer } from './trouble';

/**
 * How long nothing may come (ms) until it is asked whether the log has grown: a server tells how far it has come
 * without finding anything from time to time only.
 */
const LOOK = 250;
/** As long as a timer can be. */
const FOR_EVER = 2 ** 31 - 1;

/** What a subscription asks the server for. */
export interface FollowCalls {
  /** Position of the last event of all. */
  head(): Promise<Position>;
  /** Everything after a position that begins with one of the prefixes. */
  subscribe(after: Position): Messages;
}

export interface FollowOptions {
  readonly after: Position;
  readonly prefixes: readonly string[] | undefined;
  readonly batchSize: number;
}

/** What one call has brought so far that has not been told. */
interface Collected {
  events: RecordedEvent[];
  bytes: number;
  position: Position;
  /** Everything there was is seen: what comes now is new. */
  live: boolean;
}

/** A subscription over one call after the other: each takes up where the last one was broken off. */
export class Following {
  #told: Pick<EventBatch, 'position' | 'caughtUp'> | undefined;

  constructor(
    private readonly calls: FollowCalls,
    private readonly options: FollowOptions,
  ) {}

  /**
   * The batches of one call, until it has to be made again. Raises what breaks it off, after what has come until
   * then.
   */
  async *batches(patience: Patience): AsyncGenerator<EventBatch> {
    // What is there now is in the past of the call that is made next: when that has caught up, it was seen.
    const head = await this.calls.head();
    const position = this.#told?.position ?? this.options.after;
    const messages = this.calls.subscribe(position);
    const collected: Collected = { events: [], bytes: 0, position, live: false };
    try {
      for (;;) {
        const idle =
          !this.#take(messages, collected, head) && !(await this.#takeSoon(messages, collected, head));
        if (!idle) patience.renew();
        const batch = this.#batch(collected, head, idle);
        if (batch !== undefined) yield batch;
        else if (idle && !(await this.#wait(messages, collected, head))) return;
      }
    } catch (error) {
      if (collected.events.length > 0) yield this.#tell(collected, false);
      throw error;
    } finally {
      messages.close();
    }
  }

  /** Takes a message, if there is one. */
  #take(messages: Messages, collected: Collected, head: Position): boolean {
    const message = messages.take();
    if (message === undefined) return false;
    const event = recordOf(message);
    const checkpoint = message.getCheckpoint()?.getCommitPosition();
    if (checkpoint !== undefined) collected.position = later(collected.position, toPosition(checkpoint));
    if (message.hasCaughtUp()) collected.position = later(collected.position, head);
    collected.live ||= message.hasCaughtUp();
    if (event === undefined || event.position <= collected.position) return true;
    collected.position = event.position;
    const { prefixes } = this.options;
    if (prefixes?.some((prefix) => event.stream.startsWith(prefix)) === false) return true;
    collected.events.push(event);
    collected.bytes += event.data.length + event.meta.length;
    return true;
  }

  /** Takes a message that has arrived with those collected: they come in one piece, but are handed on one by one. */
  async #takeSoon(messages: Messages, collected: Collected, head: Position): Promise<boolean> {
    if (collected.events.length === 0) return false;
    await nextTurn();
    return this.#take(messages, collected, head);
  }

  /** What has been collected, when that is enough, or all there is for now and not told yet. */
  #batch(collected: Collected, head: Position, idle: boolean): EventBatch | undefined {
    const { events, bytes, position, live } = collected;
    const full = events.length >= this.options.batchSize || bytes >= BATCH_BYTES;
    const caughtUp = live ? idle : position >= head;
    const news = events.length > 0 || position !== this.#told?.position || !this.#told.caughtUp;
    return full || (idle && caughtUp && news) ? this.#tell(collected, caughtUp) : undefined;
  }

  #tell(collected: Collected, caughtUp: boolean): EventBatch {
    const { events, position } = collected;
    collected.events = [];
    collected.bytes = 0;
    this.#told = { position, caughtUp };
    return { events, position, caughtUp };
  }

  /** Waits for the next message; false when another call has to be made. */
  async #wait(messages: Messages, { live, position }: Collected, head: Position): Promise<boolean> {
    // Servers before 23.10 do not say that a subscription has caught up.
    const waits = live || position >= head;
    const look = this.options.prefixes === undefined ? FOR_EVER : LOOK;
    const next = waits ? await messages.next(look) : await messages.next();
    if (next === 'silence' && !waits) throw new NoAnswer('nothing has come of a subscription');
    if (next === 'silence') return (await this.calls.head()) <= position;
    return next === 'more';
  }
}
