import { type ReadResp } from '@eventstore/db-client/generated/streams_pb';
import { NO_STREAM, type RecordedEvent } from '../../kernel/event';
import { UnacceptableAppend } from '../../kernel/event-log';
import { Gathered } from './batches';
import { type Messages } from './messages';
import { SentEvent } from './records';
import { marksOf, NoAnswer } from './trouble';

/** A part of a stream that was read. */
export interface ReadPart {
  readonly events: readonly RecordedEvent[];
  /** How many events were looked at, those of the log and others, and the revision of the last one. */
  readonly looked: number;
  readonly last: number;
}

/**
 * The events of a stream in the messages of a read, in batches. Raises what breaks the read off, after what has come
 * until then.
 */
export async function* streamParts(messages: Messages, batchSize: number): AsyncGenerator<ReadPart> {
  const gathered = new Gathered(batchSize);
  let looked = 0;
  let last = NO_STREAM;
  const part = (): ReadPart => {
    const taken = { events: gathered.take(), looked, last };
    looked = 0;
    return taken;
  };
  try {
    for await (const sent of eventsIn(messages)) {
      looked += 1;
      last = sent.revision;
      const event = sent.recorded();
      if (event !== undefined) gathered.add(event);
      if (gathered.isFull) yield part();
    }
  } catch (error) {
    if (looked > 0) yield part();
    // A stream that was ended for ever has no events either.
    if (marksOf(error).type !== 'stream-deleted') throw error;
  }
  if (looked > 0) yield part();
}

/**
 * The revision of a stream's last event, one of the log or not: the messages are those of a read back from its end.
 * Raises `UnacceptableAppend` for a stream that was ended for ever.
 */
export async function lastRevision(stream: string, messages: Messages): Promise<number> {
  let last = NO_STREAM;
  try {
    for await (const message of messagesIn(messages)) {
      const sent = SentEvent.in(message);
      if (sent !== undefined) return sent.revision;
      if (message.hasLastStreamPosition()) last = Number(message.getLastStreamPosition());
    }
  } catch (error) {
    if (marksOf(error).type !== 'stream-deleted') throw error;
    throw new UnacceptableAppend(`${stream} was deleted for ever`);
  }
  return last;
}

/** The events in the messages of a call that ends by itself. */
export async function* eventsIn(messages: Messages): AsyncGenerator<SentEvent> {
  for await (const message of messagesIn(messages)) {
    const sent = SentEvent.in(message);
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
      if (next === 'silence') throw new NoAnswer('it did not answer a read');
      if (next === 'end') return;
    }
  } finally {
    messages.close();
  }
}
