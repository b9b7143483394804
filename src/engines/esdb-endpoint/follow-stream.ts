import { NO_STREAM } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { type Followed, LIVE } from './all-subscription';
import { metastreamOf, storedName } from './names';
import { BATCH, readStream } from './read-events';
import { streamDeleted } from './refusal';
import { toShown, TOMBSTONE } from './stored-event';
import { lastOf } from './stream-state';

/**
 * The events of a stream from a revision on, then those to come, until the stream is ended for ever: its tombstone is
 * the last event. Raises `Refusal` then.
 */
export async function* followStream(
  log: EventLog,
  stream: string,
  from: number | undefined,
  signal: AbortSignal,
): AsyncGenerator<Followed> {
  const head = await log.head();
  let next = from ?? ((await lastOf(log, stream))?.revision ?? NO_STREAM) + 1;
  const history = await readStream(log, stream, { from: next, backwards: false, count: Infinity });
  for await (const events of history?.events ?? []) {
    yield { events };
    next = Number(events.at(-1)?.revision ?? next - 1) + 1;
  }
  let live = false;
  const own = storedName(stream);
  const about = storedName(metastreamOf(stream));
  const tombstone = storedName(TOMBSTONE);
  const prefixes = [own, about];
  for await (const batch of log.subscribe({ after: head, prefixes, batchSize: BATCH, signal })) {
    const fresh = batch.events.filter(({ stream: name, revision }) => name === own && revision >= next);
    // More than fits the queue of a live subscriber: it falls behind and catches up again.
    if (fresh.length > LIVE) live = false;
    yield { events: fresh.map(toShown), caughtUp: batch.caughtUp && !live };
    live ||= batch.caughtUp;
    const end = batch.events.find((event) => event.stream === about && event.type === tombstone);
    if (end !== undefined) {
      yield { events: [toShown(end)] };
      throw streamDeleted(stream);
    }
  }
}
