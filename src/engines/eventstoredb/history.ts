import { type ReadResp } from '@eventstore/db-client/generated/streams_pb';
import { type Position, type RecordedEvent } from '../../kernel/event';
import { type EventBatch, type ReadAllOptions } from '../../kernel/event-log';
import { BatchBuffer, type Messages, type Readers } from './stream-reads';
import { maxPosition, type Namespace, SentEvent, toPosition } from './sent-event';
import { followRequest } from './requests';
import { NoAnswer } from './failure';

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
  #eventIn(message: ReadResp, to: Position): RecordedEvent | undefined {
    const sent = SentEvent.in(message, this.namespace);
    const before = this.#seen;
    const checkpoint = message.getCheckpoint()?.getCommitPosition();
    const seen = sent?.position ?? (checkpoint === undefined ? undefined : toPosition(checkpoint));
    // Events beyond `to` are left to the tail, so they do not count as seen.
    if (seen !== undefined) this.#seen = maxPosition(before, seen < to ? seen : to);
    // Events up to `to` existed before the call, so a server that has caught up has sent them.
    if (message.hasCaughtUp()) this.#seen = maxPosition(this.#seen, to);
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
