import { type EventBatch } from '../../kernel/event-log';
import { type Past, type Selection } from './past';
import { type Head } from './head';
import { type Patience } from './patience';
import { type Tail } from './tail';

/** How often a follower learns that the log has grown by events of other streams alone (ms). */
const ADVANCE_MS = 100;

/**
 * The rest of the past, then what comes, until the feed overflows: then the follower has to resume from the past. Raises
 * what breaks it off.
 */
export async function* follow(
  { head, tail }: { readonly head: Head; readonly tail: Tail },
  past: Past,
  { prefixes, batchSize }: Selection,
  signal: AbortSignal,
  patience: Patience,
): AsyncGenerator<EventBatch> {
  const end = await head.look();
  const feed = tail.join(end, prefixes);
  const isCaughtUp = (): boolean => feed.isDrained && feed.position >= end.head;
  let last: EventBatch | undefined;
  let advanced = -Infinity;
  try {
    const isAll = (): boolean => isCaughtUp() && feed.position === feed.from;
    for await (const batch of past.upTo(feed.from, signal, isAll)) yield (last = batch);
    while (!feed.hasOverflowed && !signal.aborted) {
      const events = feed.take(batchSize).filter(({ position }) => position > past.position);
      if (feed.isDrained) past.delivered(feed.position);
      else past.delivered(events.at(-1)?.position ?? past.position);
      const batch = { events, position: past.position, caughtUp: isCaughtUp() };
      const isNews = batch.caughtUp && !(last?.caughtUp === true && last.position === batch.position);
      const wait = last?.caughtUp === true ? advanced + ADVANCE_MS - performance.now() : 0;
      if (events.length === 0 && (!isNews || wait > 0)) {
        if (feed.isDrained) await feed.more(signal, isNews ? wait : undefined);
        continue;
      }
      advanced = performance.now();
      yield (last = batch);
    }
  } finally {
    if (feed.isHeard) patience.renew();
    feed.close();
  }
}
