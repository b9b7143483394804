import { type ReadResp } from '@eventstore/db-client/generated/streams_pb';
import { type Position, type RecordedEvent } from '../../kernel/event';
import { type EventBatch } from '../../kernel/event-log';
import { Gathered } from './batches';
import { type Messages } from './messages';
import { type Readers } from './readers';
import { later, SentEvent, toPosition } from './records';
import { followRequest } from './requests';
import { NoAnswer } from './trouble';

/** Which events, and in what batches. */
export interface Selection {
  readonly prefixes: readonly string[] | undefined;
  readonly batchSize: number;
}

/**
 * The past: what lies after a position, up to another. It can be asked for again when it was broken off, and resumes
 * there. Always `#position` <= `#seen` <= the position asked for.
 */
export class Past {
  /** All up to here was passed on. */
  #position: Position;
  /** All up to here was seen: a checkpoint of the server, to resume from, but no position of the log. */
  #seen: Position;

  constructor(
    private readonly readers: Readers,
    after: Position,
    private readonly selection: Selection,
  ) {
    this.#position = after;
    this.#seen = after;
  }

  get position(): Position {
    return this.#position;
  }

  /** The tail has delivered everything up to this position. */
  delivered(position: Position): void {
    this.#position = later(this.#position, position);
    this.#seen = later(this.#seen, position);
  }

  /**
   * The events up to `to`, the position of one that there is. The last batch has that position; `isCaughtUp` says
   * whether it is the last one for now. Raises what breaks it off, after what has come until then.
   */
  async *upTo(to: Position, signal: AbortSignal, isCaughtUp: () => boolean): AsyncGenerator<EventBatch> {
    if (this.#position >= to) return;
    const gathered = new Gathered(this.selection.batchSize);
    const { prefixes } = this.selection;
    const messages =
      prefixes?.length === 0 ? undefined : this.readers.read(followRequest(this.#seen, prefixes), signal);
    try {
      while (messages !== undefined && this.#seen < to) {
        const message = messages.take();
        if (message === undefined) {
          await arrival(messages);
          continue;
        }
        const event = this.#eventIn(message, to);
        if (event === undefined) continue;
        gathered.add(event);
        if (gathered.isFull && this.#seen < to) yield this.#batch(gathered, event.position, false);
      }
    } catch (error) {
      const last = gathered.last;
      if (last !== undefined) yield this.#batch(gathered, last, false);
      throw error;
    } finally {
      messages?.close();
    }
    yield this.#batch(gathered, to, isCaughtUp());
  }

  #batch(gathered: Gathered, position: Position, caughtUp: boolean): EventBatch {
    this.#position = position;
    return { events: gathered.take(), position, caughtUp };
  }

  /** The event in a message, where it is one of these up to `to`. */
  #eventIn(message: ReadResp, to: Position): RecordedEvent | undefined {
    const sent = SentEvent.in(message);
    const before = this.#seen;
    const checkpoint = message.getCheckpoint()?.getCommitPosition();
    const seen = sent?.position ?? (checkpoint === undefined ? undefined : toPosition(checkpoint));
    // What lies beyond `to` is left to the tail: it is not seen until it was delivered.
    if (seen !== undefined) this.#seen = later(before, seen < to ? seen : to);
    // What lies up to `to` was there before the call was made: a server that has caught up has sent it.
    if (message.hasCaughtUp()) this.#seen = later(this.#seen, to);
    if (sent === undefined || sent.position <= before || sent.position > to) return undefined;
    const event = sent.recorded();
    const { prefixes } = this.selection;
    return prefixes?.some((prefix) => event?.stream.startsWith(prefix)) === false ? undefined : event;
  }
}

/** Waits for the next message of a subscription. */
async function arrival(messages: Messages): Promise<void> {
  const next = await messages.next();
  if (next === 'silence') throw new NoAnswer('it did not answer a subscription');
  if (next === 'end') throw new NoAnswer('it ended a subscription');
}
