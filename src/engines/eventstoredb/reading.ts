import { type ReadResp } from '@eventstore/db-client/generated/streams_pb';
import { type Position, type RecordedEvent } from '../../kernel/event';
import { type Messages } from './messages';
import { recordOf, toPosition } from './records';
import { NoAnswer } from './trouble';

/** Bytes after which a batch is cut: it is over them by less than one event. */
export const BATCH_BYTES = 4 * 1024 * 1024;

/** The events of a call that ends by itself, in batches. Raises what breaks it off, after what has come until then. */
export async function* eventsIn(
  messages: Messages,
  batchSize: number,
): AsyncGenerator<readonly RecordedEvent[]> {
  let events: RecordedEvent[] = [];
  let bytes = 0;
  try {
    for await (const message of messagesIn(messages)) {
      const event = recordOf(message);
      if (event === undefined) continue;
      events.push(event);
      bytes += event.data.length + event.meta.length;
      if (events.length < batchSize && bytes < BATCH_BYTES) continue;
      yield events;
      events = [];
      bytes = 0;
    }
  } catch (error) {
    if (events.length > 0) yield events;
    throw error;
  }
  if (events.length > 0) yield events;
}

/** What a call backwards has found. */
export interface Found {
  /** Position of the last event that is none of the server's own. */
  readonly event: Position | undefined;
  /** Positions of the last and the first event that were looked at; undefined if there were none. */
  readonly seen: { readonly last: Position; readonly first: Position } | undefined;
}

export async function lastEventIn(messages: Messages): Promise<Found> {
  let seen: Found['seen'];
  for await (const message of messagesIn(messages)) {
    const offset = message.getEvent()?.getEvent()?.getCommitPosition();
    if (offset === undefined) continue;
    const first = toPosition(offset);
    seen = { last: seen?.last ?? first, first };
    if (recordOf(message) !== undefined) return { event: first, seen };
  }
  return { event: undefined, seen };
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
      if (next === 'silence') throw new NoAnswer('nothing has come of a read');
      if (next === 'end') return;
    }
  } finally {
    messages.close();
  }
}
